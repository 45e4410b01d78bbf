# SPDX-License-Identifier: Apache-2.0
"""megengine for 64-bit Arm, built here and run in qemu-user, gives the recorded results."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "scripts/arm64"
# With NEON alone, with products of bytes and arithmetic in f16, and with all that qemu knows.
PROCESSORS = ["cortex-a53", "neoverse-n1", "max"]
# Tests that read tests/data/oracle.
RECORDED = ["functional_cases", "module_cases", "optimizer_cases", "quantised_tensors"]


# It compiles the library again, which takes most of an hour on two cores.
@pytest.mark.skipif("MGE_NIGHTLY" not in os.environ, reason="compiles everything again: nightly")
@pytest.mark.parametrize("processor", PROCESSORS)
def test_recorded_calls(processor):
    subprocess.run([SCRIPT, "build", "mge_python"], check=True)
    files = [f"tests/python/test_{name}.py" for name in RECORDED]
    environment = {**os.environ, "QEMU_CPU": processor}
    subprocess.run([SCRIPT, "pytest", "-q", *files], cwd=ROOT, env=environment, check=True)
