# SPDX-License-Identifier: Apache-2.0
"""Facts about operators for their reference, derived from the packages and from docs/data."""

import importlib
import re
from collections import defaultdict
from pathlib import Path

from docs_site.python_pages import public_names

HOMES = """
megengine.functional megengine.functional.nn megengine.functional.loss megengine.functional.vision
megengine.functional.quantized megengine.functional.distributed megengine.random
""".split()
# Dtypes that appear under one name if they are all there.
SETS = {
    "floats": ("float32", "float16", "bfloat16"),
    "integers": ("uint8", "int8", "uint16", "int16", "int32", "int64"),
    "narrow": ("float8_e4m3fn", "float8_e5m2", "float4_e2m1fn", "uint4", "int4", "uint2", "int2"),
}


def short(dtypes: list[str]) -> str:
    """A list of dtypes in which sets have their names."""
    names = []
    for name, members in SETS.items():
        if all(member in dtypes for member in members):
            names.append(name)
            dtypes = [d for d in dtypes if d not in members]
    narrow = re.compile("float[48]_|u?int[24]$")
    rest = [d for d in dtypes if not ("narrow" in names and narrow.match(d))]
    return ", ".join([*names, *rest])


def megengine_names() -> dict[str, list[str]]:
    """By operator, the functions of its name and the modes of Elemwise that compute it."""
    modes = importlib.import_module("megengine.core.ops.elemwise_modes")
    operators = importlib.import_module("megengine._mge").ops
    of_value = {id(getattr(operators, n)): n for n in dir(operators) if n[0] != "_"}
    names: dict[str, list[str]] = defaultdict(list)
    for home in HOMES:
        for name in public_names(importlib.import_module(home)):
            if hasattr(operators, name) and name not in names:
                names[name].append(f"{home.removeprefix('megengine.')}.{name}")
    for table in vars(modes).values():
        for mode, function in table.items() if isinstance(table, dict) else ():
            operator = of_value.get(id(function))
            if operator and isinstance(mode, str) and f"Elemwise {mode}" not in names[operator]:
                names[operator].append(f"Elemwise {mode}")
    return dict(names)


def table_of(root: Path, file: str) -> list[list[str]]:
    """The rows of a table of docs/data, without its head."""
    lines = (root / "docs/data" / file).read_text().splitlines()
    return [line.split("\t") for line in lines[1:]]


def gpu_rows(root: Path) -> dict[str, str]:
    """By operator, its algorithms on GPUs in order of preference, with the dtypes that ran."""
    ran = defaultdict(dict)
    for operator, algorithm, dtypes in table_of(root, "gpu_dtypes.tsv"):
        ran[operator][algorithm] = dtypes
    rows = {}
    for operator, algorithms in table_of(root, "gpu_algorithms.tsv"):
        listed = algorithms.split(", ")
        names = listed + [name for name in sorted(ran[operator]) if name not in listed]
        parts = (f"`{n}` ({ran[operator][n]})" if n in ran[operator] else f"`{n}`" for n in names)
        rows[operator] = ", ".join(parts)
    return rows
