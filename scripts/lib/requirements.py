# SPDX-License-Identifier: Apache-2.0
"""Print the Python packages that building and a dependency group need, one requirement per line.

    requirements.py GROUP

pyproject.toml lists them: those of the build backend, of the package, of the groups.
"""

import sys
from pathlib import Path

try:
    import tomllib
except ImportError:  # Python 3.10, for which scripts/make_wheels builds
    from pip._vendor import tomli as tomllib


def of_group(groups, name):
    for entry in groups[name]:
        if isinstance(entry, dict):
            yield from of_group(groups, entry["include-group"])
        else:
            yield entry


def requirements(pyproject, group):
    with open(pyproject, "rb") as file:
        table = tomllib.load(file)
    return [
        *table["build-system"]["requires"],
        *table["project"]["dependencies"],
        *of_group(table["dependency-groups"], group),
    ]


if __name__ == "__main__":
    root = Path(__file__).resolve().parents[2]
    sys.stdout.write("\n".join(requirements(root / "pyproject.toml", sys.argv[1])) + "\n")
