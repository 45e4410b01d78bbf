# SPDX-License-Identifier: Apache-2.0
"""Copies docs/ into a folder that mkdocs reads, with every file that its pages link to.

A link from a page to a file outside docs/ works on GitHub, but not on a site. The file becomes
a page below source/, and the link is rewritten. Markdown files are copied; JSON schemas become
tables of their fields; other text files become code blocks.
"""

import os
import re
import shutil
from collections import deque
from pathlib import Path, PurePosixPath

from docs_site.schema_pages import schema_page

LINK = re.compile(r"(?P<head>!?\[(?:[^\[\]]|\[[^\]]*\])*\]\()(?P<target>[^)\s#]+)(?P<tail>[^)]*\))")
FENCE = re.compile(r"^(```|~~~)")
LANGUAGES = {
    ".py": "python",
    ".cpp": "cpp",
    ".h": "cpp",
    ".cu": "cpp",
    ".c": "c",
    ".toml": "toml",
    ".yml": "yaml",
    ".cmake": "cmake",
}


def is_schema(path: Path) -> bool:
    return path.name.endswith(".schema.json")


class Stage:
    """Pages of one site: `root` is the repository, `out` the folder for mkdocs."""

    def __init__(self, root: Path, out: Path):
        self.root, self.out = root, out
        self.waiting: deque[Path] = deque()
        self.seen: set[Path] = set()

    def run(self) -> None:
        shutil.rmtree(self.out, ignore_errors=True)
        for path in [*self.root.glob("*.md"), *sorted((self.root / "docs").rglob("*"))]:
            if path.is_file():
                self.add(path)
        while self.waiting:
            self.write(self.waiting.popleft())

    def add(self, path: Path) -> None:
        if path not in self.seen:
            self.seen.add(path)
            self.waiting.append(path)

    def place(self, path: Path) -> PurePosixPath:
        """The path of a file of the repository on the site."""
        inner = PurePosixPath(path.relative_to(self.root).as_posix())
        if inner.parts[0] == "docs":
            inner = inner.relative_to("docs")
            return inner.with_suffix(".md") if is_schema(path) else inner
        # An index.md of the site would hide a README.md beside it.
        return "source" / (inner if inner.suffix == ".md" else inner.with_name(inner.name + ".md"))

    def write(self, path: Path) -> None:
        target = self.out / self.place(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".md":
            target.write_text(self.relinked(path))
        elif is_schema(path):
            target.write_text(schema_page(path))
        elif path.is_relative_to(self.root / "docs"):
            shutil.copyfile(path, target)
        else:
            target.write_text(self.code_page(path))

    def code_page(self, path: Path) -> str:
        name = path.relative_to(self.root).as_posix()
        if path.is_dir():
            files = "\n".join(f"- `{file.name}`" for file in sorted(path.iterdir()))
            return f"# {name}\n\nFiles of this folder:\n\n{files}\n"
        language = LANGUAGES.get(path.suffix, "text")
        return f"# {name}\n\n````{language}\n{path.read_text().rstrip()}\n````\n"

    def relinked(self, page: Path) -> str:
        lines, fence = [], ""
        for line in page.read_text().splitlines():
            mark = FENCE.match(line)
            if mark and not fence:
                fence = mark[1]
            elif fence and line.rstrip() == fence:
                fence = ""
            elif not fence:
                line = LINK.sub(lambda match: self.relink(page, match), line)
            lines.append(line)
        return "\n".join(lines) + "\n"

    def relink(self, page: Path, match: re.Match[str]) -> str:
        target = match["target"]
        if "://" in target or target.startswith("mailto:"):
            return match[0]
        path = (page.parent / target).resolve()
        if path.is_dir() and (path / "README.md").is_file():
            path = path / "README.md"
        if not path.is_relative_to(self.root) or not path.exists():
            return match[0]  # mkdocs reports it
        self.add(path)
        place = os.path.relpath(self.place(path), self.place(page).parent)
        return f"{match['head']}{place}{match['tail']}"
