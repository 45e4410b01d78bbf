# SPDX-License-Identifier: Apache-2.0
"""Tests of the Python package once more, on the GPU that the tests of CUDA emulate."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
FILES = (
    "amp",
    "autodiff",
    "complex",
    "control",
    "module",
    "optimizer_cases",
    "quantised_tensors",
    "quantization_stories",
    "random",
    "tensor",
    "trace",
    "traced_training",
    "updates",
)
# They name the CPU, or move a part of what they compute with there.
OF_THE_CPU = (
    "complex.py::test_numbers",
    "complex.py::test_refused",
    "module.py::test_modules_move_to_another_device",
    "tensor.py::test_bfloat16_survives_pickling",
    "tensor.py::test_devices",
)


def test_the_package_works_on_a_gpu():
    folder = Path(os.environ.get("MGE_BUILD_DIR", ""))
    if not (folder / "lib/libmge_cuda_emulated.so").exists():
        pytest.skip("the emulated GPU is not built")
    arguments = [str(HERE / f"test_{name}.py") for name in FILES]
    plugin = ["-p", "gpu_as_default", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "--tb=short", *plugin, *arguments]
        + [f"--deselect=tests/python/test_{name}" for name in OF_THE_CPU],
        cwd=HERE.parents[1],
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), *sys.path])},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-8000:]
