# SPDX-License-Identifier: Apache-2.0
"""A torchvision network made ready for use: exported, tuned, profiled, encrypted, served by Lite.

Writes to the output folder net.onnx, its measured algorithms (cache.sqlite), a profile
(profile.json), a key and the encrypted net.sealed, which Lite then loads. The export needs torch,
torchvision and onnx; --model takes any other ONNX file with one input.
"""

import argparse
import json
import shutil
import subprocess
from pathlib import Path

import numpy as np

from megenginelite import LiteGlobal, LiteNetwork

CIPHER = "aes-256-gcm"


def export(name, path):
    """A network of torchvision with random weights, for any number of images."""
    import torch
    import torchvision

    torch.onnx.export(
        torchvision.models.get_model(name).eval(),
        (torch.zeros(1, 3, 224, 224),),
        path,
        input_names=["image"],
        output_names=["score"],
        dynamic_axes={"image": {0: "batch"}, "score": {0: "batch"}},
        dynamo=False,
    )


class Tools:
    """The programs of a build or an installation, called with --json."""

    def __init__(self, folder: str | None, out: Path):
        self.folder, self.report = folder, out / "report.json"

    def __call__(self, name, *arguments):
        program = shutil.which(name, path=self.folder)
        if program is None:
            raise SystemExit(f"{name} is not in {self.folder or 'the PATH'}")
        command = [program, *map(str, arguments), "--json", str(self.report), "--quiet"]
        subprocess.run(command, check=True)
        return json.loads(self.report.read_text())["result"]


def latency(tools, model, *flags):
    """The median of a run in milliseconds."""
    return tools("load_and_run", model, "--iter", 20, *flags)["latency_ms"]["p50"]


def serve(sealed, key, cache, batches):
    """The results of Lite for the batches, of any sizes, with one network."""
    LiteGlobal.update_decryption_key(CIPHER, list(key))
    LiteGlobal.set_persistent_cache(cache)
    network = LiteNetwork()
    network.load(sealed)
    for images in batches:
        network.get_io_tensor(network.get_input_name(0)).set_data_by_copy(images)
        network.forward()
        network.wait()
        yield network.get_io_tensor(network.get_output_name(0)).to_numpy()


def main():
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("."), help="folder of the written files")
    parser.add_argument("--name", default="mobilenet_v2", help="network of torchvision.models")
    parser.add_argument("--model", type=Path, help="an ONNX file of a network of images instead")
    parser.add_argument("--size", type=int, default=224, help="height and width of an image")
    parser.add_argument("--tools", help="folder of the tools; default: the PATH")
    options = parser.parse_args()
    out, model = options.out, options.model
    if model is None:
        model = out / "net.onnx"
        export(options.name, model)
    tools = Tools(options.tools, out)
    cache, profile = out / "cache.sqlite", out / "profile.json"

    before = latency(tools, model)
    tuning = ["--fast-run", "--fast-run-algo-policy", cache]
    tuned = latency(tools, model, *tuning, "--profile", profile)
    print(f"median of a run: {before:.2f} ms, {tuned:.2f} with measured algorithms")
    slowest = tools("mge-profile", "show", profile, "--top", 3)["device"]
    print("slowest nodes:", ", ".join(row["name"] for row in slowest))

    key, sealed = out / "net.key", out / "net.sealed"
    tools("mge-crypt", "keygen", key, "--force")
    tools("mge-crypt", "encrypt", model, sealed, "--key-file", key)

    rng = np.random.default_rng(1)
    batches = [rng.normal(size=(n, 3, options.size, options.size)) for n in (1, 4)]
    batches = [images.astype(np.float32) for images in batches]
    secret = bytes.fromhex(key.read_text())
    for images, scores in zip(batches, serve(sealed, secret, cache, batches), strict=True):
        np.save(out / f"images{len(images)}.npy", images)
        np.save(out / f"scores{len(images)}.npy", scores)
        print(f"{len(images)} images: classes {scores.argmax(1).tolist()}")


if __name__ == "__main__":
    main()
