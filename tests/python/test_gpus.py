# SPDX-License-Identifier: Apache-2.0
"""GPUs are asked for by name: a process that names none opens nothing of CUDA."""

import subprocess
import sys

import pytest

import megengine as mge

OPENED = """
import os
import megengine as mge, megengine.functional as F
y = F.exp(mge.Tensor([1.0, 2.0])).numpy()
names = {os.path.basename(line.split()[-1]) for line in open("/proc/self/maps")}
print([name for name in names if "cuda" in name or "nvrtc" in name])
"""


def test_nothing_of_cuda_is_opened_before_a_gpu_is_named():
    done = subprocess.run(
        [sys.executable, "-c", OPENED], capture_output=True, text=True, check=True
    )
    assert done.stdout == "[]\n"


def test_missing_gpu_error_names_the_cause():
    if mge.is_cuda_available():
        pytest.skip("there is a GPU here")
    assert mge.get_device_count("gpu") == 0
    with pytest.raises(RuntimeError, match=r"device 'gpu0' is not available: \w+"):
        mge.Tensor([1.0], device="gpu0")
    assert mge.device.what_is_xpu() == "cpu"
