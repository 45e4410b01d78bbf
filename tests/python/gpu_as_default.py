# SPDX-License-Identifier: Apache-2.0
"""A plugin of pytest: the default device is the emulated GPU, with MGE_REAL_GPU a real one.

Tests that start processes import it there too, where the environment says so.
"""

import os
from pathlib import Path

import megengine as mge
from megengine import _mge

if "MGE_REAL_GPU" not in os.environ:
    _mge.load_operators(str(Path(os.environ["MGE_BUILD_DIR"]) / "lib/libmge_cuda_emulated.so"))
mge.set_default_device("gpu0")
os.environ["MGE_TESTS_ON_GPU"] = "1"
