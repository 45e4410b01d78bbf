# SPDX-License-Identifier: Apache-2.0
"""Print the Python packages that building, testing and the examples need, one requirement per line.

They stand once, in pyproject.toml: those of the build backend, of the package, of the group `dev`.
"""

import sys
import tomllib
from pathlib import Path


def requirements(pyproject):
    with open(pyproject, "rb") as file:
        table = tomllib.load(file)
    return [
        *table["build-system"]["requires"],
        *table["project"]["dependencies"],
        *table["dependency-groups"]["dev"],
    ]


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.stdout.write("\n".join(requirements(root / "pyproject.toml")) + "\n")
