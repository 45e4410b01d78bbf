# SPDX-License-Identifier: Apache-2.0
"""Resources of a multiprocessor that the kernels of libmge_cuda.so use, by cuobjdump; no GPU is
needed."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# A launch that asks for nothing gets no more shared memory; ours ask for nothing.
MOST_SHARED = 48 * 1024
# The stack contains arrays that are indexed by run-time numbers, and spilled registers.
MOST_STACK = 128
# For a thread in blocks of 256; kernels with larger blocks declare that to the compiler, which
# respects it.
MOST_REGISTERS = 65536 // 256

WHAT = ("registers", "stack", "shared", "local")
USAGE = re.compile(
    r"Function (\S+):\n\s+REG:(\d+) STACK:(\d+) SHARED:(\d+) LOCAL:(\d+)", re.MULTILINE
)


def cuobjdump(build):
    """In the PATH, or beside the compiler that the build tree was made with."""
    found = shutil.which("cuobjdump")
    compiler = re.search(
        r"^CMAKE_CUDA_COMPILER:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.MULTILINE
    )
    beside = Path(compiler[1]).parent / "cuobjdump" if compiler else Path()
    return found or (str(beside) if beside.is_file() else None)


@pytest.fixture(scope="module")
def kernels():
    build = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release"))
    library = build / "lib/libmge_cuda.so"
    if not library.exists():
        pytest.skip("libmge_cuda.so is not built")
    tool = cuobjdump(build)
    if not tool:
        pytest.skip("there is no cuobjdump (scripts/install_cuda has it)")
    text = subprocess.run(
        [tool, "--dump-resource-usage", str(library)], capture_output=True, text=True, check=True
    ).stdout
    found = {
        (name, number): dict(zip(WHAT, map(int, amounts), strict=True))
        for number, (name, *amounts) in enumerate(USAGE.findall(text))
    }
    assert len(found) > 1000, "the listing was not understood"
    return found


def largest(kernels, what):
    (name, _), usage = max(kernels.items(), key=lambda kernel: kernel[1][what])
    return usage[what], name


def test_shared_memory_needs_no_permission(kernels):
    bytes_, name = largest(kernels, "shared")
    assert bytes_ <= MOST_SHARED, name


def test_kernels_spill_nothing(kernels):
    bytes_, name = largest(kernels, "stack")
    assert bytes_ <= MOST_STACK, name
    bytes_, name = largest(kernels, "local")
    assert bytes_ == 0, name


def test_a_block_finds_its_registers(kernels):
    registers, name = largest(kernels, "registers")
    assert registers < MOST_REGISTERS, name
