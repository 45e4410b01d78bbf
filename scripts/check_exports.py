#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Check that what installed headers declare can be linked.

Installed are the umbrella headers and all that they include. In them every function that is defined
in a source has to be marked MGE_API, or its class has to be. Rules and kernels of operators are
reached through their OpInfo instead. Prints each fault as file:line.
"""

import argparse
import re
import sys
from pathlib import Path

UMBRELLAS = ("libmge/mge.h", "libmge/own_operators.h")
INCLUDE = re.compile(r'^#include "(libmge/[^"]+)"', re.MULTILINE)
# Strings may hold braces and semicolons. Lines are kept.
IGNORED = re.compile(r'//[^\n]*|"(?:\\.|[^"\\\n])*"|^[ \t]*#(?:.*\\\n)*.*', re.MULTILINE)
# Found by argument-dependent look-up, from the tables of a backend.
KERNELS = re.compile(r"^KernelList kernels\(")
NO_FUNCTION = re.compile(
    r"^(using|typedef|template|static_assert|friend|return)\b|= (default|delete|0)$|"
    r"^[^(]*\(\*|^[^(]*\b(constexpr|inline)\b"
)
FUNCTION = re.compile(r"^[^=(]*\b\w+\(.*\)( const)?( noexcept)?( override)?$")


def installed_headers(root):
    """Paths of the headers that users get."""
    waiting, found = list(UMBRELLAS), []
    while waiting:
        header = waiting.pop()
        if header in found or not (root / header).exists():  # a generated one
            continue
        found.append(header)
        waiting += INCLUDE.findall((root / header).read_text())
    return sorted(found)


class Scope:
    """The kind of scope that a brace opens: a namespace, a class or something else (ignored)."""

    def __init__(self, head):
        self.is_namespace = bool(re.search(r"\bnamespace\b[^()]*$|^extern\s*$", head))
        self.is_class = bool(re.search(r"\b(class|struct)\b[^()]*$", head))
        self.is_open = self.is_namespace or self.is_class
        self.is_free = "MGE_API" in head or bool(re.search(r"\btemplate\b", head))


def faults_of(text, is_operator_header):
    """Yields (line, declaration) of functions that cannot be linked."""
    blank = IGNORED.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), text)
    scopes, start = [], 0
    for brace in re.finditer(r"[{};]", blank):
        statement = blank[start : brace.start()]
        line = text.count("\n", 0, brace.start()) + 1
        if brace[0] == "{":
            if "=" in statement.split("operator")[0].split("template")[0] and not re.search(
                r"\b(class|struct|namespace)\b", statement
            ):
                scopes.append(Scope("initializer"))
            else:
                scopes.append(Scope(statement.strip()))
        elif brace[0] == "}":
            if scopes:
                scopes.pop()
        elif all(scope.is_open for scope in scopes):
            declaration = " ".join(statement.split())
            declaration = re.sub(r"^((public|private|protected):|\[\[\w+\]\]) ?", "", declaration)
            in_class = any(scope.is_class for scope in scopes)
            is_free = any(scope.is_free for scope in scopes) or "MGE_API" in declaration
            is_rule = is_operator_header and in_class
            if is_free or is_rule or KERNELS.search(declaration):
                pass
            elif FUNCTION.search(declaration) and not NO_FUNCTION.search(declaration):
                yield line, declaration
        start = brace.end()


def check(root):
    """Returns a list of faults, each one line."""
    faults = []
    for header in installed_headers(root):
        text = (root / header).read_text()
        for line, declaration in faults_of(text, header.startswith("libmge/ops/")):
            faults.append(f"{header}:{line}: is installed, but not marked MGE_API: {declaration}")
    return faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("root", nargs="?", type=Path, default=Path(__file__).resolve().parents[1])
    faults = check(parser.parse_args().root)
    for fault in faults:
        print(fault)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
