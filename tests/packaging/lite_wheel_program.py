# SPDX-License-Identifier: Apache-2.0
"""Try the wheel mge-engine-lite in an environment without mge-engine: run quickstart's model.

lite_wheel_program.py FOLDER      digits.mge, images.npy and predictions.npy are there
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

from megenginelite import LiteNetwork, __version__

assert importlib.util.find_spec("megengine") is None
folder = Path(sys.argv[1])
network = LiteNetwork()
network.load(str(folder / "digits.mge"))
images = np.load(str(folder / "images.npy"))
network.get_io_tensor("image").set_data_by_copy(images)
network.forward()
network.wait()
outputs = network.get_io_tensor("probability").to_numpy()
difference = np.abs(outputs - np.load(str(folder / "predictions.npy"))).max()
assert difference < 1e-4, difference
print(f"quickstart's model agrees to {difference:.0e} in Lite {__version__}")
