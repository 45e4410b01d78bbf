# SPDX-License-Identifier: Apache-2.0
"""Builds the site: stages pages, writes the reference, runs mkdocs, checks every link."""

import sys
from functools import cache
from pathlib import Path

import griffe
from mkdocs.__main__ import cli

from docs_site.check_site import broken_links
from docs_site.cpp_pages import write_cpp
from docs_site.navigation import write_config
from docs_site.operator_pages import write_operators
from docs_site.python_pages import write_python
from docs_site.search_weights import weigh_pages
from docs_site.stage import Stage

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "build/docs-pages"
SITE = ROOT / "build/site"
CONFIG = ROOT / "build/mkdocs.yml"


def has_source(path: str) -> bool:
    """Whether mkdocstrings finds a Python object, such as ``megengine.module.Conv2d``."""
    package, _, inner = path.partition(".")
    try:
        return sources(package)[inner] is not None
    except KeyError:
        return False


@cache
def sources(package: str) -> griffe.Object:
    return griffe.load(package)


def main() -> None:
    Stage(ROOT, PAGES).run()
    reference = PAGES / "reference"
    written = {
        "reference/python": write_python(reference / "python", has_source),
        "reference/operators": write_operators(reference / "operators", ROOT),
        "reference/cpp": write_cpp(reference / "cpp", ROOT, ROOT / "build/doxygen"),
    }
    weigh_pages(PAGES)
    write_config(ROOT, CONFIG, written)
    cli(["build", "--strict", "-f", str(CONFIG)], standalone_mode=False)
    if faults := broken_links(SITE):
        sys.exit("\n".join(faults))


if __name__ == "__main__":
    main()
