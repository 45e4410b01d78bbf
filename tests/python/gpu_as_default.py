# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: the default device is the GPU that the tests of CUDA emulate.

Tests that start processes import it there too, where the environment says so.
"""

import os
from pathlib import Path

import megengine as mge
from megengine import _mge

_mge.load_operators(str(Path(os.environ["MGE_BUILD_DIR"]) / "lib/libmge_cuda_emulated.so"))
mge.set_default_device("gpu0")
os.environ["MGE_TESTS_ON_GPU"] = "1"
