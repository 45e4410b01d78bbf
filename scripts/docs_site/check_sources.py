#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the sources of the documentation: where links lead, and that the navigation is complete.

    scripts/docs_site/check_sources.py

Each link leads to a file and a heading, and mkdocs.yml names every page. This needs neither mkdocs
nor a build. Links to pages that only scripts/docs makes (docs/reference) are passed over.
"""

import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

LINK = re.compile(r"\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target>[^)\s]+)[^)]*\)")
HEADING = re.compile(r"^#{1,6} +(.*?)(?: +\{#([\w-]+)\})?$")
FENCE = re.compile(r"^ *(```+|~~~+)")
GENERATED = "docs/reference"


def lines_outside_of_code(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and lines of a page without fenced blocks."""
    fence = ""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if mark := FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        elif not fence:
            yield number, line


def slug(heading: str) -> str:
    """The anchor that GitHub and the site give a heading."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "")
    return re.sub(r"[^\w\- ]", "", text.lower()).strip().replace(" ", "-")


@cache
def anchors(page: Path) -> frozenset[str]:
    found: list[str] = []
    for _, line in lines_outside_of_code(page):
        if match := HEADING.match(line):
            name = match[2] or slug(match[1])
            found.append(name if name not in found else f"{name}_{found.count(name)}")
    return frozenset(found)


def faults_of_page(root: Path, page: Path) -> Iterator[str]:
    for number, line in lines_outside_of_code(page):
        for match in LINK.finditer(re.sub(r"(`+).*?\1", "", line)):
            target, _, anchor = match["target"].partition("#")
            if "://" in target or target.startswith("mailto:"):
                continue
            path = (page.parent / target).resolve() if target else page
            where = f"{page.relative_to(root)}:{number}"
            if not path.exists() and path.is_relative_to(root / GENERATED):
                continue
            if not path.exists():
                yield f"{where}: no file {target}"
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                yield f"{where}: no heading {match['target']}"


def faults(root: Path) -> list[str]:
    root = root.resolve()
    pages = sorted((root / "docs").rglob("*.md"))
    nav = (root / "mkdocs.yml").read_text()
    found = [
        fault
        for page in [*sorted(root.glob("*.md")), *pages]
        for fault in faults_of_page(root, page)
    ]
    for page in pages:
        name = page.relative_to(root / "docs").as_posix()
        if not re.search(rf"[ :]{re.escape(name)}$", nav, re.MULTILINE):
            found.append(f"docs/{name}: not in the nav of mkdocs.yml")
    return found


def main() -> int:
    found = faults(Path(__file__).resolve().parents[2])
    print("\n".join(found), end="\n" if found else "")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
