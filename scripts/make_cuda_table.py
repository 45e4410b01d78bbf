#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write the table of docs/cuda.md: the algorithms that have run on a GPU, by operator and dtype.

    MGE_CUDA_RAN=FILE mge_cuda_emulated_test       leaves in FILE what it has seen right
    scripts/make_cuda_table.py FILE...             rewrites the table from all of them
    scripts/make_cuda_table.py --check FILE...     fails when the page says something else

CTest has the test leave its files in the build folder (tests/cuda/ran_*.tsv), and checks the page.
"""

import argparse
import difflib
import re
import sys
from collections import defaultdict
from pathlib import Path

PAGE = Path(__file__).resolve().parents[1] / "docs/cuda.md"
HEAD = "| operators | dtypes that each algorithm has computed |\n|---|---|\n"

# Names of sets that many operators share.
SETS = {
    "floats": {"float32", "float16", "bfloat16"},
    "integers": {"uint8", "int8", "uint16", "int16", "int32", "int64"},
}


def named(dtypes):
    """``floats, int32``: sets by their names, then what is left."""
    names = []
    for name, members in SETS.items():
        if members <= dtypes:
            names.append(name)
            dtypes = dtypes - members
    return ", ".join(names + sorted(dtypes))


def read(files):
    """Returns {operator: {algorithm: dtypes}}."""
    ran = defaultdict(lambda: defaultdict(set))
    for file in files:
        for line in Path(file).read_text().splitlines():
            operator, algorithm, dtype = line.split("\t")
            ran[operator][algorithm].add(dtype)
    return ran


def table(ran):
    """Operators with equal cells share a row."""
    rows = defaultdict(list)
    for operator, algorithms in sorted(ran.items()):
        by_dtypes = defaultdict(list)
        for algorithm, dtypes in sorted(algorithms.items()):
            by_dtypes[named(dtypes)].append(f"`{algorithm}`")
        cell = "; ".join(f"{', '.join(who)}: {what}" for what, who in by_dtypes.items())
        rows[cell].append(f"`{operator}`")
    return HEAD + "".join(f"| {', '.join(who)} | {what} |\n" for what, who in rows.items())


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    before = PAGE.read_text()
    pattern = re.escape(HEAD) + r"(\|.*\n)*"
    if not re.search(pattern, before):
        sys.exit(f"{PAGE} has no table that begins with\n{HEAD}")
    after = re.sub(pattern, lambda _: table(read(arguments.files)), before)
    if not arguments.check:
        PAGE.write_text(after)
    elif before != after:
        sys.stdout.writelines(
            difflib.unified_diff(
                before.splitlines(True), after.splitlines(True), "docs/cuda.md", "what ran"
            )
        )
        sys.exit("docs/cuda.md is stale: scripts/make_cuda_table.py FILE... writes the table anew")


if __name__ == "__main__":
    main()
