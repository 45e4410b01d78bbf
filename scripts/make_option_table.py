#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/compile-options.md from the library's list of options.

    PYTHONPATH=build/release/python python scripts/make_option_table.py [--check]

With --check nothing is written; the exit code is 1 if the page is not up to date.
"""

import argparse
import re
import sys
from pathlib import Path

from megengine import _mge

PAGE = Path(__file__).resolve().parents[1] / "docs/compile-options.md"
TABLE = re.compile(r"(\| field \|[^\n]*\n\|[-|]+\n)(\|[^\n]*\n)*")


def table_row(field, default="", flag="", doc=""):
    return f"| `{field}` | {default} | {flag and f'`{flag}`'} | {doc} |\n"


def default_of(option):
    if option["value"] in ("", []):
        return "empty"
    has_unit = option["unit"] and option["default"] != "unset"
    return option["default"] + (f" {option['unit']}" if has_unit else "")


def updated(page):
    """The page, with the table as the code has it."""
    rows = [
        table_row(option["field"], default_of(option), option["flag"], option["doc"])
        for option in _mge.list_options()
    ]
    rows += [table_row(field, doc=doc) for field, doc in _mge.list_cpp_options()]
    return TABLE.sub(lambda found: found[1] + "".join(rows), page, count=1)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    page = PAGE.read_text()
    if not is_check:
        PAGE.write_text(updated(page))
    return is_check and page != updated(page)


if __name__ == "__main__":
    sys.exit(main())
