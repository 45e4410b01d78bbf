# SPDX-License-Identifier: Apache-2.0
"""Checks the links of a built site: each file and each anchor that a page names exists."""

from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit


class Page(HTMLParser):
    def __init__(self, text: str):
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value and tag != "link":
                self.links.add(value)


def broken_links(site: Path) -> list[str]:
    pages = {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}
    faults = []
    for path, page in pages.items():
        if path.name == "404.html":  # its links start at the root of the server
            continue
        for link in sorted(page.links):
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_file():
                faults.append(f"{path.relative_to(site)}: no file {link}")
            elif (
                parts.fragment
                and target in pages
                and not anchor_exists(pages[target], parts.fragment)
            ):
                faults.append(f"{path.relative_to(site)}: no anchor {link}")
    return faults


def anchor_exists(page: Page, fragment: str) -> bool:
    # "__…" are states of the theme, made by its script.
    return unquote(fragment) in page.anchors or fragment.startswith("__")
