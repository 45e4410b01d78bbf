#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check the lists that people keep by hand: CMake's sources and the operators of ops/all.h.

Every .cpp file stands in exactly one CMake list, every listed file exists, and neighbouring lines
of a list are sorted. Every operator (a struct with a `static const OpInfo info`) stands in
libmge/ops/all.h, and its header is included there. Prints each fault, the file to change first.
"""

import argparse
import re
import sys
from collections import Counter
from pathlib import Path

SOURCE_FOLDERS = ("apps", "benchmarks", "examples", "libmge", "python", "tests")
# Projects of their own, built by a test.
OWN_PROJECTS = ("tests/packaging/consumer",)
# Commands that name sources which another command lists.
NOT_LISTS = ("set_property", "set_source_files_properties")
COMMENT = re.compile(r"#[^\n]*")
SOURCE = re.compile(r"^[\w./-]+\.(?:cpp|cu)$")
STRUCT = re.compile(r"^struct (\w+)(.*?)(?=^struct |\Z)", re.MULTILINE | re.DOTALL)


def cmake_files(root):
    yield from (f for f in [root / "CMakeLists.txt"] if f.exists())
    for folder in (*SOURCE_FOLDERS, "cmake"):
        for file in sorted((root / folder).rglob("*")):
            if file.name == "CMakeLists.txt" or file.suffix == ".cmake":
                if not file.relative_to(root).as_posix().startswith(OWN_PROJECTS):
                    yield file


def commands(text):
    """The argument lists, as words, of the commands of a CMake file that may list sources."""
    text = COMMENT.sub("", text)
    for name, arguments in re.findall(r"^\s*(\w+)\s*\(([^()]*)\)", text, re.MULTILINE):
        if name not in NOT_LISTS:
            yield arguments.split()


def runs_of_sources(words):
    """Neighbouring source files of one argument list."""
    run = []
    for word in [*words, ""]:
        if SOURCE.match(word):
            run.append(word)
        elif run:
            yield run
            run = []


def check_sources(root):
    """Faults of the CMake source lists."""
    faults, listed = [], Counter()
    for file in cmake_files(root):
        name = file.relative_to(root).as_posix()
        for run in (r for words in commands(file.read_text()) for r in runs_of_sources(words)):
            for first, second in zip(run, run[1:], strict=False):
                if first > second:
                    faults.append(f"{name}: {second} stands after {first}: sort the list")
            for source in run:
                path = (file.parent / source).resolve()
                if not path.exists():
                    faults.append(f"{name}: {source} does not exist")
                listed[path] += 1
    for folder in SOURCE_FOLDERS:
        for path in sorted((root / folder).rglob("*.cpp")):
            name = path.relative_to(root).as_posix()
            if name.startswith(OWN_PROJECTS):
                continue
            if listed[path.resolve()] != 1:
                faults.append(f"{name}: stands in {listed[path.resolve()]} CMake lists, expected 1")
    return faults


def operators_of(text):
    """Names of the operators that a header defines."""
    return [name for name, body in STRUCT.findall(text) if "static const OpInfo info" in body]


def check_operators(root):
    """Faults of libmge/ops/all.h."""
    all_header = root / "libmge/ops/all.h"
    if not all_header.exists():
        return []
    text = re.sub(r"//[^\n]*", "", all_header.read_text())
    words = Counter(re.findall(r"\w+", re.sub(r"^#[^\n]*", "", text, flags=re.MULTILINE)))
    faults = []
    for header in sorted((root / "libmge/ops").rglob("*.h")):
        defined = operators_of(header.read_text())
        name = header.relative_to(root).as_posix()
        faults += [
            f"libmge/ops/all.h: {op} of {name} stands there {words[op]} times, expected 1"
            for op in defined
            if words[op] != 1
        ]
        if defined and f'#include "{name}"' not in text:
            faults.append(f"libmge/ops/all.h: does not include {name}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", type=Path, nargs="?", default=Path(__file__).resolve().parents[1])
    root = parser.parse_args().root.resolve()
    faults = check_sources(root) + check_operators(root)
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
