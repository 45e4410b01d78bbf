#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Write docs/data/gpu_dtypes.tsv: the dtypes in which each algorithm has run on a GPU.

    MGE_CUDA_RAN=FILE mge_cuda_emulated_test       leaves in FILE what it has seen right
    scripts/make_cuda_table.py FILE...             rewrites the table from all of them
    scripts/make_cuda_table.py --check FILE...     fails when the table differs

CTest has the test leave its files in the build folder (tests/cuda/ran_*.tsv), and checks the table.
scripts/docs shows each operator's rows on its page.
"""

import argparse
import difflib
import sys
from collections import defaultdict
from pathlib import Path

TABLE = Path(__file__).resolve().parents[1] / "docs/data/gpu_dtypes.tsv"
HEAD = "operator\talgorithm\tdtypes\n"

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
    return HEAD + "".join(
        f"{operator}\t{algorithm}\t{named(dtypes)}\n"
        for operator, algorithms in sorted(ran.items())
        for algorithm, dtypes in sorted(algorithms.items())
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true", help="change nothing")
    parser.add_argument("files", nargs="+", metavar="FILE")
    arguments = parser.parse_args()
    before, after = TABLE.read_text(), table(read(arguments.files))
    if not arguments.check:
        TABLE.write_text(after)
    elif before != after:
        lines = before.splitlines(True), after.splitlines(True)
        sys.stdout.writelines(difflib.unified_diff(*lines, "docs/data/gpu_dtypes.tsv", "what ran"))
        sys.exit("gpu_dtypes.tsv is stale: scripts/make_cuda_table.py FILE... writes it anew")


if __name__ == "__main__":
    main()
