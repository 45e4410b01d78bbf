#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Re-run the sessions shown on the pages of docs/tools and write what the commands print now.

    scripts/make_tool_pages.py                     rewrite the pages
    scripts/make_tool_pages.py --check PAGE...     fail when a page is stale, showing how

A page has one session, its parts in order, all run by one folder that is empty at the start:

    <!-- run: COMMAND -->        runs a command that readers do not see (making a model)
    <!-- varies: REGEX -->       what matches is not compared, besides VARYING below
    ```console                   each line from "$ " on is run by bash; what follows is its output,
    $ mge-dump info net.mge      stdout and stderr together. "..." alone on a line stands for any
    ...                          number of lines: an output is shown in part
    ```                          A last line "(exit 7)" is the exit code; without it it has to be 0

The tools come from $MGE_BUILD_DIR (build/release), Python and the package from .venv. $EXAMPLES is
the folder of the example models. Where a command prints the name of this machine's processor, pages
show CPU.
"""

import argparse
import difflib
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

# The name of the processor on the pages, whatever the machine's is: no pattern matches them all.
CPU = "AMD EPYC"

# Output that differs between runs and machines: times and what follows from them,
# memory of the process, instruction sets, versions.
VARYING = [
    r"\d+(\.\d+)?(e[+-]\d+)? ?(ns|us|µs|ms|s)\b",
    r"(min|mean|median|max|percentile\(\d+%\)|cv|p\d+) = \d+(\.\d+)?",
    r"\d+(\.\d+)? (samples/s|runs/s|FLOP/s|[KMGT]?FLOPS|GiB/s|GFLOP/s|[GT]OP/s)"
    r"( \(on a busy machine; it may be higher\))?",
    r"process peak \d+(\.\d+)? \w+",
    r"\b(sse4|avx2|avx_vnni|avx512|avx512_vnni|avx512_bf16|amx)\b",
    r"\b\d+ threads?\b",
    r"\d+\.\d+\.\d+",
]

PARTS = re.compile(
    r"^<!-- run: (?P<hidden>.*?) -->$|^<!-- varies: (?P<varies>.*?) -->$|"
    r"^```console\n(?P<shown>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
EXIT = re.compile(r"\(exit (\d+)\)")


class Stale(Exception):
    pass


def name_of_cpu(path="/proc/cpuinfo"):
    """As the library reads it."""
    try:
        text = Path(path).read_text()
    except OSError:
        text = ""
    found = re.search(r"^model name.*?: (.*)$", text, re.MULTILINE)
    return found[1] if found else "unknown CPU"


class Session:
    """One folder and environment for all commands of a page."""

    def __init__(self, folder, build):
        self.folder = folder
        self.cpu = name_of_cpu()
        packages = [os.environ.get("PYTHONPATH", "")]
        if list((build / "python/megengine").glob("_mge*.so")):
            packages.insert(0, str(build / "python"))
        self.environment = {
            **os.environ,
            "PATH": f"{build / 'bin'}:{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONPATH": ":".join(packages),
            "EXAMPLES": str(ROOT / "examples/models"),
            "XDG_CACHE_HOME": str(folder / ".cache"),
            "COLUMNS": "100",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
        }

    def run(self, command):
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=300,
        )
        return shown_on_pages(done.stdout, self.cpu), done.returncode


def shown_on_pages(output, cpu):
    return output.replace(cpu, CPU) if cpu else output


def split_commands(block):
    """The commands of a block with the lines shown below each."""
    steps = []
    for line in block.splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps and steps[-1][0].endswith("\\"):
            steps[-1] = (f"{steps[-1][0]}\n{line}", [])
        elif not steps:
            raise Stale(f"a console block starts with {line!r}, not with a command")
        else:
            steps[-1][1].append(line)
    return steps


def masked(line, varying):
    for pattern in varying:
        line = re.sub(pattern, "#", line)
    # Columns move with the width of what varies.
    return re.sub(r" +", " ", line).rstrip()


def matches(shown, printed, varying):
    """True when the lines shown on the page are what was printed, up to what varies."""
    shown = [line if line == "..." else masked(line, varying) for line in shown]
    printed = [masked(line, varying) for line in printed]
    pattern = "".join(
        r"(?:[^\n]*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in shown
    )
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in printed)) is not None


def run_block(block, session, varying):
    """Runs the commands of a block; returns its text as it should be."""
    result = []
    for command, shown in split_commands(block):
        output, code = session.run(command)
        printed = output.rstrip("\n").splitlines()
        expected = 0
        if shown and (ending := EXIT.fullmatch(shown[-1])):
            expected = int(ending[1])
        if code:
            printed.append(f"(exit {code})")
        if code != expected:
            raise Stale(f"`{command}` ended with {code}, the page says {expected}:\n{output}")
        keep = matches(shown, printed, varying)
        result += [f"$ {command}", *(shown if keep else printed)]
    return "\n".join(result) + "\n"


def renewed(page, build):
    """The text of a page with all outputs as they are now."""
    text = page.read_text()
    varying = list(VARYING)
    pieces, end = [], 0
    with tempfile.TemporaryDirectory(prefix="mge_page_") as folder:
        session = Session(Path(folder), build)
        for part in PARTS.finditer(text):
            pieces.append(text[end : part.start()])
            end = part.end()
            if part["varies"]:
                varying.append(part["varies"])
            elif part["hidden"]:
                output, code = session.run(part["hidden"])
                if code:
                    raise Stale(f"`{part['hidden']}` ended with {code}:\n{output}")
            if part["shown"] is None:
                pieces.append(part[0])
            else:
                pieces.append(f"```console\n{run_block(part['shown'], session, varying)}```")
    return "".join(pieces) + text[end:]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing, fail on stale pages")
    parser.add_argument("page", type=Path, nargs="*", help="default: all of docs/tools")
    arguments = parser.parse_args()
    build = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release")).resolve()
    failed = False
    for page in arguments.page or sorted((ROOT / "docs/tools").glob("*.md")):
        try:
            old, new = page.read_text(), renewed(page, build)
        except Stale as error:
            print(f"{page}: {error}", file=sys.stderr)
            failed = True
            continue
        if old == new:
            continue
        if not arguments.check:
            page.write_text(new)
            print(f"{page}: renewed")
            continue
        failed = True
        diff = difflib.unified_diff(old.splitlines(), new.splitlines(), "page", "now", lineterm="")
        print(f"{page} is stale; scripts/make_tool_pages.py renews it:", *diff, sep="\n")
    return failed


if __name__ == "__main__":
    sys.exit(main())
