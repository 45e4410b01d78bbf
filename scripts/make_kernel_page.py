#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write a catalogue of the kernels: each header of libmge/kernel/ with its first comment.

    scripts/make_kernel_page.py [FILE]       (standard output without FILE)

The comments are the only source. A header without one is reported on standard error, exit code 1.
"""

import argparse
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SUFFIXES = {".h", ".cuh"}
TABLE = "| header | contents |\n|---|---|"
TITLES = {
    "libmge/kernel": "Choosing and measuring algorithms",
    "libmge/kernel/cpu": "CPU",
    "libmge/kernel/cuda": "GPU",
    "libmge/kernel/scalar": "Scalar meaning",
}


def headers(root):
    """The headers below libmge/kernel/, folder by folder."""
    found = (p for p in (root / "libmge/kernel").rglob("*") if p.suffix in SUFFIXES)
    return sorted(found, key=lambda path: (path.parent, path.name))


def description(text):
    """The first comment of a header as one line; empty if it has none."""
    block = []
    for line in text.splitlines():
        if line.startswith("// SPDX"):
            continue
        if line.startswith("//"):
            block.append(line[2:].strip())
        elif block:
            break
    paragraph = " ".join(block).partition("  ")[0]  # an empty comment line ends it
    return re.sub(r"\s+", " ", paragraph).replace("|", "\\|")


def page(root):
    """Returns the page and the headers that have no description."""
    lines = [
        "# Kernels",
        "",
        "Written by `scripts/make_kernel_page.py` from the headers' comments.",
    ]
    missing, folder = [], None
    for path in headers(root):
        name = path.relative_to(root)
        if name.parent.as_posix() != folder:
            folder = name.parent.as_posix()
            lines += ["", f"## {TITLES.get(folder, folder)}", "", TABLE]
        text = description(path.read_text())
        if not text:
            missing.append(name.as_posix())
        lines.append(f"| `{name.name}` | {text} |")
    return "\n".join(lines) + "\n", missing


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file", type=Path, nargs="?")
    options = parser.parse_args()
    text, missing = page(ROOT)
    if options.file:
        options.file.parent.mkdir(parents=True, exist_ok=True)
        options.file.write_text(text)
    else:
        sys.stdout.write(text)
    for name in missing:
        print(f"{name}: no comment says what the header contains", file=sys.stderr)
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
