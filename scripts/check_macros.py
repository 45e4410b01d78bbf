#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that only macros of scripts/macro_allowlist are defined.

Macros bypass namespaces and tools, so each one needs a reason, which follows its name in the list:
`NAME  reason`. A listed macro that no file defines is a fault, too.
"""

import argparse
import re
import sys
from pathlib import Path

DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)", re.MULTILINE)
SUFFIXES = {".h", ".cpp", ".cu", ".cuh", ".in", ".inc"}
FOLDERS = ("apps", "benchmarks", "cmake", "examples", "libmge", "python", "tests")


def read_allowlist(text):
    """Names of the list; raises ValueError on a name without a reason."""
    allowed = set()
    for line in text.splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        name, _, reason = line.partition(" ")
        if not reason.strip():
            raise ValueError(f"scripts/macro_allowlist: '{name}' has no reason")
        allowed.add(name)
    return allowed


def check(root):
    """Returns a list of faults, each one line."""
    allowed = read_allowlist((root / "scripts/macro_allowlist").read_text())
    faults, defined = [], set()
    for file in sorted(p for folder in FOLDERS for p in (root / folder).rglob("*")):
        if file.suffix not in SUFFIXES:
            continue
        text = file.read_text()
        for define in DEFINE.finditer(text):
            defined.add(define[1])
            if define[1] not in allowed:
                line = text.count("\n", 0, define.start(1)) + 1
                path = file.relative_to(root).as_posix()
                faults.append(f"{path}:{line}: macro {define[1]} is not in scripts/macro_allowlist")
    unused = sorted(allowed - defined)
    return faults + [f"scripts/macro_allowlist: no file defines {name}" for name in unused]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parents[1])
    faults = check(parser.parse_args().root)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
