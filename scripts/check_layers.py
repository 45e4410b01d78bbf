#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check every #include against the layering tables of ARCHITECTURE.md.

The first table of the section "Layering" gives each folder of libmge/ its layer: a file may include
its own folder and folders of lower layers, and two folders of one layer do not know each other. The
second table lists files that must not include certain headers at all.
Prints each fault as file:line.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
SUFFIXES = {".h", ".cpp", ".cu", ".inc"}
UMBRELLAS = ("libmge/mge.h", "libmge/own_operators.h")


@dataclass(frozen=True)
class Ban:
    """Files that match `files` and none of `exceptions` include nothing that matches `headers`."""

    files: str
    exceptions: tuple[str, ...]
    headers: tuple[str, ...]

    def covers(self, path):
        return fnmatch(path, self.files) and not any(fnmatch(path, e) for e in self.exceptions)

    def forbids(self, header):
        return any(fnmatch(header, pattern) for pattern in self.headers)


def tables_of_section(text, title):
    """The tables under the heading that contains `title`: lists of rows, rows lists of cells."""
    section = re.search(
        rf"^## [^\n]*{title}[^\n]*\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL
    )
    if not section:
        raise ValueError(f"no section '{title}'")
    blocks = re.findall(r"(?:^\|[^\n]*\n)+", section[1], re.MULTILINE)
    return [
        [
            [cell.strip() for cell in line.strip().strip("|").split("|")]
            for line in block.splitlines()
        ]
        for block in blocks
    ]


def names(cell):
    return tuple(re.findall(r"[\w./*<>-]+", cell.replace("`", " ")))


def read_tables(architecture):
    """Returns ({folder: layer}, [Ban])."""
    tables = tables_of_section(architecture, "Layering")
    if len(tables) < 2:
        raise ValueError(f"the section 'Layering' has {len(tables)} tables, expected 2")
    layers = {name: int(row[0]) for row in tables[0][2:] for name in names(row[1])}
    bans = [Ban(names(row[0])[0], names(row[1]), names(row[2])) for row in tables[1][2:]]
    return layers, bans


def folder_of(path):
    """The folder a file or header belongs to in the layering table; None for foreign headers."""
    parts = path.split("/")
    if parts[0] == "libmge" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in ("apps", "python") and len(parts) > 1 else None


def fault_of(path, header, layers, bans):
    """Why `path` may not include `header`, or None."""
    own, other = folder_of(path), folder_of(header)
    if header in UMBRELLAS and own not in ("apps", "python"):
        return "an umbrella header is for users of the library"
    for ban in bans:
        if ban.covers(path) and ban.forbids(header):
            return f"'{ban.files}' may not include it"
    if own is None or other is None or own == other:
        return None
    for folder in (own, other):
        if folder not in layers:
            return f"folder '{folder}' is not in the layering table"
    if layers[other] >= layers[own]:
        return f"'{own}' is layer {layers[own]}, '{other}' is layer {layers[other]}"
    return None


def check(root):
    """Returns a list of faults, each one line."""
    layers, bans = read_tables((root / "ARCHITECTURE.md").read_text())
    faults = []
    files = [p for top in ("libmge", "apps", "python") for p in sorted((root / top).rglob("*"))]
    for file in files:
        if file.suffix not in SUFFIXES:
            continue
        path = file.relative_to(root).as_posix()
        if path in UMBRELLAS:
            continue
        text = file.read_text()
        for include in INCLUDE.finditer(text):
            fault = fault_of(path, include[1], layers, bans)
            if fault:
                line = text.count("\n", 0, include.start(1)) + 1
                faults.append(f"{path}:{line}: includes {include[1]}: {fault}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parents[1])
    faults = check(parser.parse_args().root)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
