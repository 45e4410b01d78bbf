# SPDX-License-Identifier: Apache-2.0
"""Prints the likeliest classes of a picture.

    python classify.py MODEL IMAGE.npy

The model has one input of float32 images (N, C, H, W); the picture is an array (H, W, C) of uint8.
"""

import sys

import numpy as np

from megenginelite import LiteNetwork


def main() -> None:
    network = LiteNetwork()
    network.load(sys.argv[1])
    data = network.get_io_tensor(network.get_input_name(0))
    _, channels, height, width = data.layout.shapes
    picture = np.load(sys.argv[2])
    rows = np.arange(height) * picture.shape[0] // height
    columns = np.arange(width) * picture.shape[1] // width
    image = picture[rows][:, columns, :channels].transpose(2, 0, 1)[np.newaxis] / 255
    data.set_data_by_copy(np.ascontiguousarray(image, np.float32))
    network.forward()
    network.wait()
    scores = network.get_io_tensor(network.get_output_name(0)).to_numpy().ravel()
    for number in np.argsort(-scores)[:5]:
        print(f"class {number}: {scores[number]:.4g}")


if __name__ == "__main__":
    main()
