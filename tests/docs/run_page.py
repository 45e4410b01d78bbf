# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of a page in order, in the current folder.

    run_page.py PAGE

Python blocks of a page share one namespace. Bash blocks run with `set -euo pipefail`. C and C++
blocks need a name: `<!-- file: NAME -->` on the line above writes a block to that file, Python
blocks and others too. `<!-- skip: REASON -->` keeps a block from running. Blocks of other
languages (text, console, json, toml) are not run.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>file|skip): (?P<value>[^\n]+?) -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
RUN = ("python", "bash", "c", "cpp")


@dataclass
class Block:
    language: str
    code: str
    line: int
    file: str | None = None
    skip: str | None = None


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page that a reader would run or save."""
    found = []
    for match in BLOCK.finditer(text):
        indent = match["indent"]
        code = re.sub(f"^{indent}", "", match["code"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start("code"))
        block = Block(match["language"], code, line + 1)
        if match["mark"]:
            setattr(block, match["mark"], match["value"])
        if block.language in RUN or block.file:
            found.append(block)
    return found


def run(page: Path) -> None:
    names: dict[str, object] = {"__name__": "page"}
    for block in blocks_of(page.read_text()):
        place = f"{page.name}:{block.line}"
        if block.skip:
            continue
        if block.file:
            Path(block.file).write_text(block.code)
        elif block.language == "python":
            # Lines of an error are those of the page.
            source = "\n" * (block.line - 1) + block.code
            exec(compile(source, str(page), "exec"), names)
        elif block.language == "bash":
            script = "set -euo pipefail\n" + block.code
            done = subprocess.run(["bash", "-c", script], stdin=subprocess.DEVNULL)
            if done.returncode:
                sys.exit(f"{place}: the block ended with exit code {done.returncode}")
        else:
            sys.exit(f"{place}: a block in {block.language} needs a name: <!-- file: NAME -->")


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve())
