#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check every #include, and every mention of an operator, against the tables of ARCHITECTURE.md.

The first table of the section "Layering" gives each folder of libmge/ its layer: a file may include
its own folder and folders of lower layers, and two folders of one layer do not know each other. The
second table lists files that must not include certain headers at all. The third says who may not
compare the names of operators, nor write them: what is known about an operator, it says itself.
Prints each fault as file:line.
"""

import argparse
import re
import sys
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', re.MULTILINE)
COMMENT = re.compile(r"//[^\n]*")
OPERATOR = re.compile(r'static constexpr auto name = "(\w+)";')
LITERAL = re.compile(r'"(\w+)"')
# An expression that is an operator's name, and texts that one could be compared with.
NAME = r"(?:\b(?:op|info)_?(?:\(\))?(?:\.|->)name|\b(?:p|part|problem)_?(?:\(\))?(?:\.|->)op)"
TEXT = r'(?:"|(?:\w+::)*\w+::name\b)'
COMPARISON = re.compile(
    rf"{NAME}\s*[!=]=\s*{TEXT}"
    rf'|(?:"|::name)\s*[!=]=\s*(?:\w+(?:\.|->))*{NAME}'
    rf"|{NAME}\.(?:starts_with|ends_with|contains|r?find|compare|substr)\("
    rf"|\bfind_op\(\s*{TEXT}"
)
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


@dataclass(frozen=True)
class Silence:
    """Files that match `files` and none of `exceptions` do not do `what` with operators' names."""

    files: str
    exceptions: tuple[str, ...]
    what: str

    def covers(self, path):
        return fnmatch(path, self.files) and not any(fnmatch(path, e) for e in self.exceptions)


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
    """Returns ({folder: layer}, [Ban], [Silence])."""
    tables = tables_of_section(architecture, "Layering")
    if len(tables) < 3:
        raise ValueError(f"the section 'Layering' has {len(tables)} tables, expected 3")
    layers = {name: int(row[0]) for row in tables[0][2:] for name in names(row[1])}
    bans = [Ban(names(row[0])[0], names(row[1]), names(row[2])) for row in tables[1][2:]]
    silences = [Silence(names(row[0])[0], names(row[1]), row[2]) for row in tables[2][2:]]
    if unknown := {s.what for s in silences} - {"compare", "write"}:
        raise ValueError(f"the third table says {sorted(unknown)}, not compare or write")
    return layers, bans, silences


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


def operators(root):
    """The names of all operators."""
    return {
        name
        for header in (root / "libmge/ops").rglob("*.h")
        for name in OPERATOR.findall(header.read_text())
    }


def mentions(path, text, known, silences):
    """Yields (position, fault) where `path` does what it may not do with names of operators."""
    forbidden = {silence.what for silence in silences if silence.covers(path)}
    if not forbidden:
        return
    text = COMMENT.sub(lambda comment: " " * len(comment[0]), text)
    for found in COMPARISON.finditer(text):
        yield found.start(), f"'{' '.join(found[0].split())}' compares the name of an operator"
    if "write" in forbidden:
        for found in LITERAL.finditer(text):
            if found[1] in known:
                yield found.start(), f"'{found[1]}' is the name of an operator"


def check(root):
    """Returns a list of faults, each one line."""
    layers, bans, silences = read_tables((root / "ARCHITECTURE.md").read_text())
    known = operators(root)
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
        for position, fault in mentions(path, text, known, silences):
            line = text.count("\n", 0, position) + 1
            faults.append(f"{path}:{line}: {fault}; facts are said by the operator (op/facts.h)")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parents[1])
    faults = check(parser.parse_args().root)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
