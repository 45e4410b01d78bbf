#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of operators in docs/formats/onnx.md from the exporter's own table.

    PYTHONPATH=build/release/python python scripts/make_onnx_tables.py [--check]

With --check nothing is written; the exit code is 1 if the page is not what it should be.
"""

import argparse
import re
import sys
from pathlib import Path

from megengine import _mge

PAGE = Path(__file__).resolve().parents[1] / "docs/formats/onnx.md"
TABLE = re.compile(r"(\| operator \| becomes \|\n\|---\|---\|\n)(\|[^\n]*\n)*")


def updated(page: str) -> str:
    """The page with the table as the code has it."""
    rows = "".join(
        f"| `{name}` | {', '.join(f'`{node}`' for node in nodes.split(', '))} |\n"
        for name, nodes in _mge.onnx_counterparts()
    )
    if not TABLE.search(page):
        raise ValueError(f"{PAGE} has no table of operators")
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
