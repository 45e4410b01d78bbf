# SPDX-License-Identifier: Apache-2.0
"""Try the wheel mge-engine-cuda13: run quickstart's model on a GPU, or read what is missing.

cuda_wheel_program.py FOLDER      digits.mge, images.npy and predictions.npy are there
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

import megengine as mge
from megenginelite import LiteConfig, LiteDeviceType, LiteNetwork

package = Path(importlib.util.find_spec("megengine").origin).parent
assert (package / "lib/libmge_cuda.so").exists()
folder = Path(sys.argv[1])
if mge.is_cuda_available():
    network = LiteNetwork(config=LiteConfig(device_type=LiteDeviceType.LITE_CUDA))
    network.load(str(folder / "digits.mge"))
    network.get_io_tensor("image").set_data_by_copy(np.load(folder / "images.npy"))
    network.forward()
    network.wait()
    outputs = network.get_io_tensor("probability").to_numpy()
    difference = np.abs(outputs - np.load(folder / "predictions.npy")).max()
    assert difference < 1e-4, difference
    print(f"quickstart's model agrees to {difference:.0e} on a GPU")
else:
    try:
        mge.Tensor([1.0], device="gpu0")
    except RuntimeError as error:
        assert "no CUDA backend" not in str(error), error
        print(f"quickstart's model was not run: {error}")
    else:
        raise AssertionError("there is no GPU, and a tensor is on it")
