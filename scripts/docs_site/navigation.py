# SPDX-License-Identifier: Apache-2.0
"""Puts the pages that scripts/docs writes into the navigation of mkdocs.yml."""

import re
from pathlib import Path


def with_pages(config: str, folder: str, pages: list[str]) -> str:
    """The text of a configuration in which the line of folder/index.md lists the pages below it."""
    line = re.search(rf"^( *)- ([^:\n]+): {re.escape(folder)}/index\.md$", config, re.MULTILINE)
    if not line:
        raise ValueError(f"mkdocs.yml has no line for {folder}/index.md")
    indent = f"{line[1]}    "
    rows = [
        f"{folder}/index.md",
        *(f"{name.removesuffix('.md')}: {folder}/{name}" for name in pages),
    ]
    text = "\n".join([f"{line[1]}- {line[2]}:", *(f"{indent}- {row}" for row in rows)])
    return config[: line.start()] + text + config[line.end() :]


def write_config(root: Path, out: Path, written: dict[str, list[str]]) -> None:
    """Writes the configuration of the site with all pages, for a file in another folder."""
    config = (root / "mkdocs.yml").read_text()
    for folder, pages in written.items():
        config = with_pages(config, folder, pages)
    for key in ("docs_dir", "site_dir"):
        config = re.sub(rf"^{key}: ", f"{key}: {root}/", config, flags=re.MULTILINE)
    out.write_text(config)
