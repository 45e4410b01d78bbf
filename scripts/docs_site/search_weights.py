# SPDX-License-Identifier: Apache-2.0
"""Weighs the pages for the search: answers come before the reference, and that before sources."""

from pathlib import Path

# The first that the path of a page begins with counts.
WEIGHTS = {
    "how-to/": 4,
    "tutorials/": 3,
    "faq.md": 3,
    "error-codes.md": 5,
    "troubleshooting.md": 3,
    "reference/operators/": 0.3,
    "reference/python/": 0.3,
    "reference/": 0.2,
    "schemas/": 0.5,
    "benchmarks/": 0.3,
    "contributing/": 0.3,
    "source/": 0.2,
}


def weight_of(page: str) -> float:
    return next((weight for start, weight in WEIGHTS.items() if page.startswith(start)), 1)


def weigh_pages(pages: Path) -> None:
    """Writes the weight of each page into its head, where the search of the site reads it."""
    for path in pages.rglob("*.md"):
        weight = weight_of(path.relative_to(pages).as_posix())
        if weight != 1:
            path.write_text(f"---\nsearch:\n  boost: {weight}\n---\n\n{path.read_text()}")
