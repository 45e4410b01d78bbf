#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts which of ONNX's own cases are read, and why others are refused.

    PYTHONPATH=build/release/python python scripts/count_onnx_cases.py [--list] [--write FOLDER]

Prints how many of each kind are read, and a table of reasons, the most frequent first; with --list
the name and the message of each refused case too. --write keeps the models, which
build/release/bin/mge_fuzz_onnx --corpus FOLDER starts from. tests/python/test_onnx_import.py checks
the results.
"""

import argparse
import importlib
import re
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path

from megengine import _mge

# Patterns of messages and the reason to count; the first match wins.
KINDS = [
    (r"no tensor|Sequence|Optional", "sequences and optionals"),
    (r"STRING|String|Regex", "text"),
    (r"FLOAT8|FLOAT4|INT4|INT2", "8-bit floats, numbers of 4 and 2 bits"),
    (r"DOUBLE|UINT64|UINT32", "float64, uint32, uint64"),
    (r"ai\.onnx\.preview", "training, operators that are a preview"),
    (r"ai\.onnx\.ml", "ai.onnx.ml"),
]


def reason(message: str) -> str:
    for pattern, words in KINDS:
        if re.search(pattern, message):
            return words
    node = re.search(r"node '[^']*' \(([\w.]+), opset \d+\): ([^;]*)", message)
    return f"`{node[1]}`: {node[2]}" if node else message[:100]


def cases():
    """(kind, name, model) of each: those of one operator are made, the others are files."""
    suite = importlib.import_module("onnx.backend.test.case.node")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for case in suite.collect_testcases(None):
            yield "node", case.name, case.model.SerializeToString()
    folder = Path(suite.__file__).parents[2] / "data"
    for path in sorted(folder.glob("*/*/model.onnx")) + sorted(folder.glob("light/*.onnx")):
        kind, *name = path.relative_to(folder).parts
        yield kind, name[0].removesuffix(".onnx"), path.read_bytes()


def refusal(model: bytes, path: Path) -> str:
    """Empty for a case that is read."""
    path.write_bytes(model)
    try:
        _mge.load(str(path))
    except RuntimeError as error:
        return re.split("(?:is|are) not supported: ", str(error))[-1]
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--list", action="store_true", help="print each refused case")
    parser.add_argument("--write", metavar="FOLDER", type=Path, help="keep the models")
    options = parser.parse_args()
    counts, read, totals = Counter(), Counter(), Counter()
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, model in cases():
            path = (options.write or Path(folder)) / f"{kind}-{name}.onnx"
            message = refusal(model, path)
            totals[kind] += 1
            read[kind] += not message
            if message:
                counts[reason(message)] += 1
            if message and options.list:
                print(f"{name}: {message}")
    for kind, total in totals.items():
        print(f"{kind}: {total} cases, {read[kind]} are read")
    for words, count in counts.most_common():
        print(f"| {count} | {words} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
