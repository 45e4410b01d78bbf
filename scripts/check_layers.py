#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check #includes, imports of Python and mentions of operators against ARCHITECTURE.md.

The first table of the section "Layering" gives each folder of libmge/ its layer: a file may include
its own folder and folders of lower layers, and two folders of one layer do not know each other. The
second table lists files that must not include certain headers at all. The third says who may not
compare the names of operators, nor write them: what is known about an operator, it says itself.

The fourth table gives each folder, or file, of the Python package its floor: a file may import its
own folder and those on lower floors. Python files must not import each other in a cycle, be it
inside of functions, and an import inside of a function has its reason in a comment beside it.
No folder of sources has more than 45 files beside its subfolders.
Prints each fault as file:line.
"""

import argparse
import ast
import re
import sys
from collections import Counter
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
IMPORTS = ast.Import | ast.ImportFrom
SUFFIXES = {".h", ".cpp", ".cu", ".inc"}
MOST_FILES = 45
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
    """Returns ({folder: layer}, [Ban], [Silence], {folder or file of Python: floor})."""
    tables = tables_of_section(architecture, "Layering")
    if len(tables) < 4:
        raise ValueError(f"the section 'Layering' has {len(tables)} tables, expected 4")
    layers = {name: int(row[0]) for row in tables[0][2:] for name in names(row[1])}
    bans = [Ban(names(row[0])[0], names(row[1]), names(row[2])) for row in tables[1][2:]]
    silences = [Silence(names(row[0])[0], names(row[1]), row[2]) for row in tables[2][2:]]
    if unknown := {s.what for s in silences} - {"compare", "write"}:
        raise ValueError(f"the third table says {sorted(unknown)}, not compare or write")
    floors = {name: int(row[0]) for row in tables[3][2:] for name in names(row[1])}
    return layers, bans, silences, floors


def folder_of(path):
    """The folder a file or header belongs to in the layering table; None for foreign headers."""
    parts = path.split("/")
    if path.startswith("libmge/ops/") and path.endswith(".onnx.cpp"):
        return "model"
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


@dataclass(frozen=True)
class PythonImport:
    """One file of the Python packages that another one imports, and where."""

    target: str
    line: int


class PythonPackages:
    """The files below python/ by their dotted names, and what each imports of the others."""

    def __init__(self, root):
        self.files = {}
        for path in sorted((root / "python").glob("megengine*/**/*.py")):
            parts = path.relative_to(root / "python").with_suffix("").parts
            self.files[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
        self.trees = {name: ast.parse(path.read_text()) for name, path in self.files.items()}
        self.imports = {name: dict.fromkeys(self._imports_of(name)) for name in self.files}

    def _imports_of(self, module):
        for node in ast.walk(self.trees[module]):
            if isinstance(node, ast.Import):
                named = [alias.name for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                home = self._home(module, node)
                named = [f"{home}.{alias.name}" for alias in node.names]
            else:
                continue
            for name in named:
                target = name if name in self.files else name.rpartition(".")[0]
                # The extension module is no file of Python.
                if target in self.files and target != module and not name.endswith("._mge"):
                    yield PythonImport(target, node.lineno)

    def _home(self, module, node):
        """The absolute name of the module that an ImportFrom names."""
        if not node.level:
            return node.module
        is_package = self.files[module].name == "__init__.py"
        parents = module.split(".") if is_package else module.split(".")[:-1]
        above = parents[: len(parents) + 1 - node.level]
        return ".".join(above + ([node.module] if node.module else []))

    def cycles(self):
        """Yields lists of files, each of which imports the next and the last the first."""
        # To import a module is to import the packages that it is in, unless they are running.
        needs = {
            module: {
                needed
                for found in self.imports[module]
                for needed in (found.target, *packages_of(found.target))
                if needed in self.files and not f"{module}.".startswith(f"{needed}.")
            }
            for module in self.files
        }
        done = set()
        for start in self.files:
            if start not in done and (cycle := cycle_from(start, needs, done)):
                yield cycle


def packages_of(module):
    """The packages that a module is in, but for the outermost one."""
    parts = module.split(".")
    return (".".join(parts[:count]) for count in range(2, len(parts)))


def cycle_from(start, needs, done):
    """The first cycle that is reached from a file, or None. Adds the files seen to `done`."""
    path, left = [start], [sorted(needs[start])]
    while path:
        if not left[-1]:
            done.add(path.pop())
            left.pop()
            continue
        following = left[-1].pop()
        if following in path:
            done.update(path)
            return path[path.index(following) :]
        if following not in done:
            path.append(following)
            left.append(sorted(needs[following]))
    return None


def unit_of(module, floors):
    """The folder or file of the table that a module belongs to; None if it has no row."""
    inside = module.partition(".")[2].replace(".", "/") or "__init__"
    rows = [row for row in floors if inside == row or inside.startswith(f"{row}/")]
    return max(rows, key=len, default=None)


def upward_imports(packages, floors):
    """Yields (file, line, fault) for imports of megengine that do not point down."""
    for module, found in packages.imports.items():
        if module.partition(".")[0] != "megengine":
            continue
        for one in found:
            if one.target.partition(".")[0] != "megengine":
                continue  # megenginelite is below all floors
            own, other = unit_of(module, floors), unit_of(one.target, floors)
            if own is None or other is None:
                lacking = module if own is None else one.target
                yield module, one.line, f"'{lacking}' is not in the table of Python's floors"
            elif own != other and floors[other] >= floors[own]:
                where = f"'{own}' is floor {floors[own]}, '{other}' is floor {floors[other]}"
                yield module, one.line, f"imports {one.target}: {where}"


def silent_imports(tree, lines):
    """Yields the lines of imports inside of functions that have no comment beside or above them."""
    functions = (n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef))
    explained = 0  # the last line of an import that has a reason; the next import shares it
    inner = {n.lineno: n for f in functions for n in ast.walk(f) if isinstance(n, IMPORTS)}
    for first, node in sorted(inner.items()):
        has_reason = "#" in lines[first - 1] or lines[first - 2].lstrip().startswith("#")
        if has_reason or explained == first - 1:
            explained = node.end_lineno
        else:
            yield first


def check_python(root, floors):
    """Returns a list of faults of the Python packages, each one line."""
    packages = PythonPackages(root)

    def place(module, line):
        return f"{packages.files[module].relative_to(root).as_posix()}:{line}"

    faults = [f"{place(m, line)}: {fault}" for m, line, fault in upward_imports(packages, floors)]
    for cycle in packages.cycles():
        names = " -> ".join([*cycle, cycle[0]])
        faults.append(f"{place(cycle[0], 1)}: imports form a cycle: {names}")
    for module, path in packages.files.items():
        for line in silent_imports(packages.trees[module], path.read_text().splitlines()):
            faults.append(f"{place(module, line)}: an import in a function says why beside it")
    return faults


def crowded_folders(root, files):
    """Returns a fault for each folder with too many sources."""
    counts = Counter(file.parent.relative_to(root).as_posix() for file in files)
    return [
        f"{folder}: {count} files, more than {MOST_FILES}; part them into subfolders"
        for folder, count in counts.items()
        if count > MOST_FILES
    ]


def check(root):
    """Returns a list of faults, each one line."""
    layers, bans, silences, floors = read_tables((root / "ARCHITECTURE.md").read_text())
    known = operators(root)
    faults = []
    files = [p for top in ("libmge", "apps", "python") for p in sorted((root / top).rglob("*"))]
    faults += crowded_folders(root, [p for p in files if p.suffix in SUFFIXES | {".py"}])
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
    return faults + check_python(root, floors)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parents[1])
    faults = check(parser.parse_args().root)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
