#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the table of docs/compile-options.md, and the descriptions of these options in
docs/tools/load_and_run.md, from the library's list of options.

    PYTHONPATH=build/release/python python scripts/make_option_table.py [--check]

With --check nothing is written; the exit code is 1 if a page is not up to date.
"""

import argparse
import re
import sys
from pathlib import Path

from megengine import _mge

DOCS = Path(__file__).resolve().parents[1] / "docs"
TABLE = re.compile(r"(\| field \|[^\n]*\n\|[-|]+\n)(\|[^\n]*\n)*")
FLAG = re.compile(r"^(\| `(--[a-z0-9-]+)[^`|]*` \| )[^|]*( \|)", re.MULTILINE)


def table_row(field, default="", flag="", doc=""):
    return f"| `{field}` | {default} | {flag and f'`{flag}`'} | {doc} |\n"


def default_of(option):
    if option["value"] in ("", []):
        return "empty"
    has_unit = option["unit"] and option["default"] != "unset"
    return option["default"] + (f" {option['unit']}" if has_unit else "")


def default_note(option):
    """The default of a number or text; switches have none to mention."""
    default = default_of(option)
    return "" if default in ("true", "false", "unset", "empty") else f" (default: {default})"


def option_page(page):
    """The page of all options, with the table as the code has it."""
    rows = [
        table_row(option["field"], default_of(option), option["flag"], option["doc"])
        for option in _mge.list_options()
    ]
    rows += [table_row(field, doc=doc) for field, doc in _mge.list_cpp_options()]
    return TABLE.sub(lambda found: found[1] + "".join(rows), page, count=1)


def tool_page(page):
    """The page of load_and_run, whose flags for options have the descriptions of the code."""
    docs = {
        option["flag"]: option["doc"] + default_note(option)
        for option in _mge.list_options()
        if option["flag"] and not option["has_own_flag"]
    }

    def described(found):
        doc = docs.get(found[2])
        return found[1] + doc + found[3] if doc else found[0]

    return FLAG.sub(described, page)


PAGES = {DOCS / "compile-options.md": option_page, DOCS / "tools/load_and_run.md": tool_page}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing")
    is_check = parser.parse_args().check
    stale = [
        path for path, updated in PAGES.items() if path.read_text() != updated(path.read_text())
    ]
    for path in stale:
        if not is_check:
            path.write_text(PAGES[path](path.read_text()))
    return is_check and bool(stale)


if __name__ == "__main__":
    sys.exit(main())
