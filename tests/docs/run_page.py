# SPDX-License-Identifier: Apache-2.0
"""Runs the code blocks of a page in order, in the current folder.

    run_page.py PAGE

Python blocks of a page share one namespace. Bash blocks run with `set -euo pipefail`. C and C++
blocks need a name: `<!-- file: NAME -->` on the line above writes a block to that file, Python
blocks and others too. `<!-- skip: REASON -->` keeps a block from running. `<!-- exits: 0 or 3 -->`
names the exit codes that a bash block may end with, where that depends on the machine. `<!-- output
-->` above a text block compares it with what the block before printed; "..." alone on a line stands
for any number of lines. Blocks of other languages (console, json, toml) are not run.
"""

import contextlib
import io
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

BLOCK = re.compile(
    r"(?:^ *<!-- (?P<mark>file|skip|exits|output)(?:: (?P<value>[^\n]+?))? -->\n+)?"
    r"^(?P<indent> *)```(?P<language>\w+)[^\n]*\n(?P<code>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)
RUN = ("python", "bash", "c", "cpp")


@dataclass
class Block:
    language: str
    code: str
    line: int
    mark: str | None = None
    value: str | None = None


def blocks_of(text: str) -> list[Block]:
    """The blocks of a page that a reader would run or save."""
    found = []
    for match in BLOCK.finditer(text):
        indent = match["indent"]
        code = re.sub(f"^{indent}", "", match["code"], flags=re.MULTILINE)
        line = text.count("\n", 0, match.start("code"))
        block = Block(match["language"], code, line + 1, match["mark"], match["value"])
        if block.language in RUN or block.mark:
            found.append(block)
    return found


def run_python(block: Block, page: Path, names: dict[str, object]) -> str:
    # Lines of an error are those of the page.
    source = "\n" * (block.line - 1) + block.code
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(compile(source, str(page), "exec"), names)
    return out.getvalue()


def run_bash(block: Block, page: Path) -> str:
    command = ["bash", "-c", "set -euo pipefail\n" + block.code]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    allowed = str(block.value).split(" or ") if block.mark == "exits" else ["0"]
    if str(done.returncode) not in allowed:
        sys.stderr.write(done.stdout)
        sys.exit(f"{page.name}:{block.line}: the block ended with exit code {done.returncode}")
    return done.stdout


def check_output(block: Block, page: Path, printed: str) -> None:
    pattern = re.escape(block.code.strip()).replace(r"\.\.\.", r"(?:.*\n)*?.*")
    if not re.fullmatch(pattern, printed.strip()):
        sys.exit(f"{page.name}:{block.line}: the page shows another output than:\n{printed}")


def run(page: Path) -> None:
    names: dict[str, object] = {"__name__": "page"}
    printed = ""
    for block in blocks_of(page.read_text()):
        if block.mark == "skip":
            continue
        if block.mark == "file":
            Path(str(block.value)).write_text(block.code)
        elif block.mark == "output":
            check_output(block, page, printed)
        elif block.language == "python":
            printed = run_python(block, page, names)
        elif block.language == "bash":
            printed = run_bash(block, page)
        else:
            sys.exit(
                f"{page.name}:{block.line}: a block in {block.language} needs a name:"
                " <!-- file: NAME -->"
            )


if __name__ == "__main__":
    run(Path(sys.argv[1]).resolve())
