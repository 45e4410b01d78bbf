# SPDX-License-Identifier: Apache-2.0
"""Writes what MGE's contestant reads: NAME.mge, and NAME.x.f32 and NAME.y.f32 from NAME.case.npz.

Runs in the project's environment, after export_peers.py. The weights are the seeded ones that the
peers' models have, too.
"""

import argparse
import subprocess
import sys
from pathlib import Path

import numpy as np

DUMP = Path(__file__).resolve().parents[2] / "examples/models/dump.py"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    for name in options.names:
        with np.load(options.out / f"{name}.case.npz") as case:
            case["x"].astype(np.float32).tofile(options.out / f"{name}.x.f32")
            case["y"].astype(np.float32).tofile(options.out / f"{name}.y.f32")
    missing = [name for name in options.names if not (options.out / f"{name}.mge").exists()]
    if missing:
        subprocess.run([sys.executable, DUMP, *missing, "--out", options.out], check=True)


if __name__ == "__main__":
    main()
