# SPDX-License-Identifier: Apache-2.0
"""Train a network on handwritten digits, in floats and then for integers, and dump both forms.

The float network is trained as in the quickstart; quantisation-aware training goes on from there,
with values rounded to the steps of 8-bit integers. `--net resnet` takes a residual network, and the
images four times as large. Writes to the output folder: float.mge and int8.mge, images.npy and
labels.npy (the held-out images), predictions.npy (the scores that Python computes for them in
integers).
"""

import argparse
import sys
from pathlib import Path

import numpy as np

import megengine as mge
import megengine.quantization as Q
from megengine.jit import trace

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quickstart"))
from nets import DigitNet, ResNet  # noqa: E402
from train import load_data, train  # noqa: E402

# Each network, and the factor by which images are enlarged along each side.
NETS = {"small": (DigitNet, 1), "resnet": (ResNet, 4)}


def enlarged(images, factor):
    return np.kron(images, np.ones((1, 1, factor, factor), np.float32))


def dump(net, images, path):
    """Write the network to a file; returns the scores for the images."""
    net.eval()
    scores = trace(net, symbolic=True, capture_as_const=True)
    result = scores(mge.Tensor(images)).numpy()
    scores.dump(str(path), arg_names=["image"], output_names=["score"])
    return result


def main():
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("build/quantisation"))
    parser.add_argument("--net", choices=NETS, default="small")
    parser.add_argument("--epochs", type=int, default=10, help="in floats")
    parser.add_argument("--qat-epochs", type=int, default=3, help="after them, for integers")
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--max-loss", type=float, default=0.01, help="of accuracy, in integers")
    args = parser.parse_args()

    mge.random.seed(0)
    images, labels, held_out_images, held_out_labels = load_data()
    make, factor = NETS[args.net]
    images, held_out_images = enlarged(images, factor), enlarged(held_out_images, factor)
    net = make()
    train(net, images, labels, args.epochs, args.batch_size)
    args.out.mkdir(parents=True, exist_ok=True)
    in_floats = dump(net, held_out_images, args.out / "float.mge")

    Q.quantize_qat(net, qconfig=Q.ema_fakequant_qconfig)
    train(net, images, labels, args.qat_epochs, args.batch_size)
    in_integers = dump(Q.quantize(net), held_out_images, args.out / "int8.mge")

    np.save(args.out / "images.npy", held_out_images)
    np.save(args.out / "labels.npy", held_out_labels)
    np.save(args.out / "predictions.npy", in_integers)
    accuracy = {}
    for name, scores in (("float", in_floats), ("int8", in_integers)):
        accuracy[name] = float((scores.argmax(axis=1) == held_out_labels).mean())
        size = (args.out / f"{name}.mge").stat().st_size
        print(f"{name}.mge: {accuracy[name]:.2%} of the held-out images are right, {size} bytes")
    if accuracy["int8"] < accuracy["float"] - args.max_loss:
        sys.exit(f"in integers more than {args.max_loss:.1%} of accuracy is lost")


if __name__ == "__main__":
    main()
