# SPDX-License-Identifier: Apache-2.0
"""Names the machine that a result was measured on."""

import os
import platform
from pathlib import Path

# The features that decide which kernels an engine uses.
SHOWN_FLAGS = ("avx2", "avx_vnni", "avx512f", "avx512_vnni", "avx512_bf16", "amx_tile")


def describe_machine():
    """Return {"cpu", "isa", "cores", "kernel"}."""
    fields = {}
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = set(fields.get("flags", "").split())
    cpu = fields.get("model name", platform.machine())
    if "cpu family" in fields:
        cpu += f" (family {fields['cpu family']}, model {fields['model']})"
    return {
        "cpu": cpu,
        "isa": "+".join(flag for flag in SHOWN_FLAGS if flag in flags),
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
    }
