# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the operators: a page per family, and one table of all."""

import re
from collections import defaultdict
from pathlib import Path

from docs_site.operator_facts import gpu_rows, megengine_names, short
from docs_site.python_pages import entry

OPERATORS = "megengine._mge.ops"
INTRO = """Every operator by family. The shape rule of an operator may refuse some of its *dtypes*;
those of GPU algorithms have run in tests. *Gradient* is `none` where it stops. Names of MegEngine
are functions of its Python package or modes of its `Elemwise`; its
[model files](../../formats/megengine.md#operators) have other names. Nodes of ONNX are what
[writing a file](../../formats/onnx.md#writing) makes, without casts and constants."""


def families_of_operators(root: Path) -> dict[str, str]:
    """The family of each operator that has a header of its own: the folder below libmge/ops."""
    found = {}
    for header in sorted((root / "libmge/ops").rglob("*.h")):
        text = header.read_text()
        for name in re.findall(r'static constexpr auto name = "(\w+)"', text):
            found[name] = header.relative_to(root / "libmge/ops").parts[0]
    return found


def page_of(family: str) -> str:
    """The page of a family; index.md is the table of all."""
    return "indexing.md" if family == "index" else f"{family}.md"


class Facts:
    """Rows of the tables of all operators, from the library, the packages and docs/data."""

    def __init__(self, root: Path):
        from megengine import _mge

        self.onnx = dict(_mge.onnx_counterparts())
        self.library = _mge.operator_facts()
        self.megengine, self.gpu = megengine_names(), gpu_rows(root)

    def rows(self, name: str) -> dict[str, str]:
        dtypes, has_gradient, algorithms = self.library[name]
        rows = {
            "dtypes, at most": short(dtypes),
            "gradient": "yes" if has_gradient else "none",
            "CPU algorithms": ", ".join(
                f"`{algorithm}`" for algorithm in dict.fromkeys(algorithms)
            ),
        }
        if name in self.gpu:
            rows["GPU algorithms"] = self.gpu[name]
        if name in self.onnx:
            rows["ONNX"] = ", ".join(f"`{node}`" for node in self.onnx[name].split(", "))
        if name in self.megengine:
            rows["MegEngine"] = ", ".join(f"`{entry}`" for entry in self.megengine[name])
        return rows


def operator_entry(name: str, rows: dict[str, str]) -> str:
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"{entry(name, f'{OPERATORS}.{name}')}\n\n| | |\n|---|---|\n{table}"


def write_operators(folder: Path, root: Path) -> list[str]:
    """Writes a page per family of operators and returns their names."""
    from megengine import _mge

    folder.mkdir(parents=True)
    of_header, facts = families_of_operators(root), Facts(root)
    families: dict[str, list[str]] = defaultdict(list)
    index = []
    for name in sorted(n for n in dir(_mge.ops) if callable(getattr(_mge.ops, n)) and n[0] != "_"):
        family = of_header.get(name, "elementwise")
        rows = facts.rows(name)
        families[family].append(operator_entry(name, rows))
        cells = (rows.get(key, "") for key in ("gradient", "ONNX", "MegEngine"))
        link = f"[`{name}`]({page_of(family)}#{OPERATORS}.{name})"
        index.append(f"| {link} | {family} | {' | '.join(cells)} |")
    for family, entries in families.items():
        intro = "All [operators](index.md); [GPUs](../../cuda.md) explains the algorithms there."
        text = "\n\n".join([f"# Operators: {family}", intro, *entries])
        (folder / page_of(family)).write_text(text + "\n")
    head = "| operator | family | gradient | ONNX | MegEngine |\n|---|---|---|---|---|"
    rows_text = "\n".join(index)
    (folder / "index.md").write_text(f"# Operators, by family\n\n{INTRO}\n\n{head}\n{rows_text}\n")
    return [page_of(family) for family in sorted(families)]
