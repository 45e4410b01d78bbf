#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of operators in docs/formats/onnx.md from that of the reader.

    PYTHONPATH=build/release/python python scripts/make_onnx_tables.py [--check]

With --check nothing is written; the exit code is 1 if the page is not what it should be.
"""

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

from megengine import _mge

PAGE = Path(__file__).resolve().parents[1] / "docs/formats/onnx.md"
TABLE = re.compile(r"(\| versions \| operators \|\n\|---\|---\|\n)(\|[^\n]*\n)*")
WIDTH = 30  # names in a row


def updated(page: str) -> str:
    """The page with the table as the code has it: operators of the same versions share a row."""
    rows = defaultdict(list)
    for name, first, last in _mge.onnx_rows():
        rows[first, last].append(f"`{name}`")
    text = "".join(
        f"| {first} to {last} | {', '.join(names[i : i + WIDTH])} |\n"
        for (first, last), names in sorted(rows.items())
        for i in range(0, len(names), WIDTH)
    )
    if not TABLE.search(page):
        raise ValueError(f"{PAGE} lacks the table of operators")
    return TABLE.sub(lambda found: found[1] + text, page)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    options = parser.parse_args()
    page = PAGE.read_text()
    if options.check:
        return page != updated(page)
    PAGE.write_text(updated(page))
    return 0


if __name__ == "__main__":
    sys.exit(main())
