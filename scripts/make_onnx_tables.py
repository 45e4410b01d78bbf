#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the tables of operators in docs/formats/onnx.md from those of reader and writer.

    PYTHONPATH=build/release/python python scripts/make_onnx_tables.py [--check]

With --check nothing is written; the exit code is 1 if the page is not what it should be.
"""

import argparse
import re
import sys
from pathlib import Path

from megengine import _mge

PAGE = Path(__file__).resolve().parents[1] / "docs/formats/onnx.md"
READ = re.compile(r"(\| read \| from \| to \|\n\|---\|---\|---\|\n)(\|[^\n]*\n)*")
TABLE = re.compile(r"(\| operator \| becomes \|\n\|---\|---\|\n)(\|[^\n]*\n)*")


def updated(page: str) -> str:
    """The page with the tables as the code has them."""
    read = "".join(f"| `{name}` | {first} | {last} |\n" for name, first, last in _mge.onnx_rows())
    rows = "".join(
        f"| `{name}` | {', '.join(f'`{node}`' for node in nodes.split(', '))} |\n"
        for name, nodes in _mge.onnx_counterparts()
    )
    if not TABLE.search(page) or not READ.search(page):
        raise ValueError(f"{PAGE} lacks a table of operators")
    page = READ.sub(lambda found: found[1] + read, page)
    return TABLE.sub(lambda found: found[1] + rows, page)


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
