# SPDX-License-Identifier: Apache-2.0
"""benchmarks/measure runs everything that benchmarks/README.md lists."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_every_listed_benchmark_is_measured():
    rows = [
        line.rsplit(" | ", 1)[1]
        for line in (ROOT / "benchmarks/README.md").read_text().splitlines()
        if line.startswith("| ") and not line.startswith("| folder ")
    ]
    assert len(rows) > 25
    of_a_gpu = {"benchmarks/cuda/inference.py", "benchmark_cuda_kernels"}  # benchmarks/cuda/run's
    listed = {
        name
        for row in rows
        for name in re.findall(r"benchmarks/\w+/[\w.]+|(?<=build/release/bin/)benchmark_\w+", row)
    }
    measured = (ROOT / "benchmarks/measure").read_text()
    assert [name for name in sorted(listed - of_a_gpu) if name not in measured] == []
