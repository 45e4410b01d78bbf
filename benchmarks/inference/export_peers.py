# SPDX-License-Identifier: Apache-2.0
"""Writes what the contestants read: NAME.onnx, NAME.ncnn.*, NAME.case.npz (input, f64 reference).

Runs in the peers' environment. A model that is there already is left alone.
"""

import argparse
import subprocess
import sys
import tempfile
import warnings
from pathlib import Path

import numpy as np
import torch
import torch_models
from seeded_weights import seeded_input


def export_case(net, name, folder):
    """The input, and the answer in f64 so that no engine is judged by another one's rounding."""
    x = seeded_input(name, (1, *torch_models.MODELS[name][1]))
    with torch.inference_mode():
        y = net.double()(torch.from_numpy(x).double()).numpy()
    net.float()
    np.savez(folder / f"{name}.case.npz", x=x, y=y)
    return torch.from_numpy(x)


def export_onnx(net, x, path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(
            net,
            (x,),
            str(path),
            dynamo=False,
            opset_version=17,
            input_names=["x"],
            output_names=["y"],
        )


def export_ncnn(net, x, folder, name):
    """Through pnnx, which reads a traced module; weights stay f32."""
    torch.backends.mha.set_fastpath_enabled(False)
    with tempfile.TemporaryDirectory() as scratch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        traced = Path(scratch) / "traced.pt"
        torch.jit.trace(net, x, check_trace=False).save(str(traced))
        shape = ",".join(map(str, x.shape))
        command = [Path(sys.executable).parent / "pnnx", traced, f"inputshape=[{shape}]", "fp16=0"]
        for kind in ("ncnn.param", "ncnn.bin"):
            command.append(f"{kind.replace('.', '')}={folder / name}.{kind}")
        subprocess.run(command, cwd=scratch, check=True, capture_output=True, timeout=300)


def export(name, folder):
    if (folder / f"{name}.ncnn.bin").exists():
        return
    print(f"exporting {name}", file=sys.stderr, flush=True)
    net = torch_models.build(name)
    x = export_case(net, name, folder)
    export_onnx(net, x, folder / f"{name}.onnx")
    export_ncnn(net, x, folder, name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+", choices=torch_models.MODELS)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    arguments.out = arguments.out.resolve()  # pnnx runs elsewhere
    arguments.out.mkdir(parents=True, exist_ok=True)
    for name in arguments.names:
        export(name, arguments.out)


if __name__ == "__main__":
    main()
