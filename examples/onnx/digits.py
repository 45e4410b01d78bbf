# SPDX-License-Identifier: Apache-2.0
"""Train a network on handwritten digits and hand it to another engine as an ONNX file.

Writes digits.onnx to the output folder, has ONNX Runtime classify the held-out images, in batches
of another size than the one it was written with, and reads the file again.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
import onnxruntime

from megengine import Tensor, onnx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "quickstart"))
from train import DigitNet, load_data, train  # noqa: E402


def scores_of_onnx_runtime(path, images):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return np.asarray(session.run(["score"], {"image": images})[0])


def main():
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--out", type=Path, default=Path("."), help="folder for digits.onnx")
    parser.add_argument("--epochs", type=int, default=10, help="how often every image is seen")
    options = parser.parse_args()
    train_images, train_labels, images, labels = load_data()
    net = DigitNet()
    train(net, train_images, train_labels, options.epochs, batch_size=64)
    path = options.out / "digits.onnx"
    onnx.export(net, path, images[:1], input_names=["image"], output_names=["score"])
    theirs = scores_of_onnx_runtime(path, images)
    print(
        f"ONNX Runtime: {(theirs.argmax(1) == labels).mean():.1%} of {len(labels)} images are right"
    )
    ours = onnx.load(path)(Tensor(images)).numpy()
    print(f"read again: largest difference {np.abs(ours - theirs).max():.1e}")


if __name__ == "__main__":
    main()
