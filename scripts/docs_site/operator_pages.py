# SPDX-License-Identifier: Apache-2.0
"""Writes the reference of the operators: a page per family, and one table of all."""

import re
from collections import defaultdict
from pathlib import Path

from docs_site.operator_facts import gpu_rows, megengine_names, short
from docs_site.python_pages import entry

INTRO = """Every operator by family. The shape rule of an operator may refuse some of its *dtypes*;
those of GPU algorithms have run in tests. *Gradient* is `none` where it stops. Names of MegEngine
are functions of its Python package or modes of its `Elemwise`; its
[model files](../../formats/megengine.md#operators) have other names. Nodes of ONNX are what
[writing a file](../../formats/onnx.md#writing) makes, without casts and constants."""


def sources_of_operators(root: Path) -> dict[str, tuple[str, str]]:
    """Family and text of the header of each operator that has one of its own."""
    found = {}
    for header in sorted((root / "libmge/ops").rglob("*.h")):
        text = header.read_text()
        for name in re.findall(r'static constexpr auto name = "(\w+)"', text):
            found[name] = (header.relative_to(root / "libmge/ops").parts[0], str(header))
    return found


def algorithms_of(header: str) -> list[str]:
    kernels = Path(header).with_suffix(".cpu.cpp")
    if not kernels.is_file():
        return []
    lists = re.findall(r"Algorithm \w+\[\] = \{(.*?)\n    \};", kernels.read_text(), re.DOTALL)
    return list(dict.fromkeys(re.findall(r'\{"([\w:.]+)"', "".join(lists))))


def page_of(family: str) -> str:
    """The page of a family; index.md is the table of all."""
    return "indexing.md" if family == "index" else f"{family}.md"


def facts_of(header: str) -> dict[str, str]:
    """Facts that the header states; one that defines several operators states none of one alone."""
    text = Path(header).read_text() if header else ""
    if text.count("static constexpr auto name = ") != 1:
        return {}
    facts = {}
    if names := algorithms_of(header):
        facts["CPU algorithms"] = ", ".join(f"`{name}`" for name in names)
    if "stops_gradient = true" in text:
        facts["gradient"] = "none"
    elif "gradient(" in text:
        facts["gradient"] = "yes"
    return facts


class Facts:
    """Rows of the tables of all operators, from the library, the packages and docs/data."""

    def __init__(self, root: Path):
        from megengine import _mge

        self.onnx = dict(_mge.onnx_counterparts())
        self.dtypes = dict(_mge.operator_dtypes())
        self.megengine, self.gpu = megengine_names(), gpu_rows(root)

    def rows(self, name: str, header: str) -> dict[str, str]:
        rows = {"dtypes, at most": short(self.dtypes[name]), **facts_of(header)}
        if name in self.gpu:
            rows["GPU algorithms"] = self.gpu[name]
        if name in self.onnx:
            rows["ONNX"] = ", ".join(f"`{node}`" for node in self.onnx[name].split(", "))
        if name in self.megengine:
            rows["MegEngine"] = ", ".join(f"`{entry}`" for entry in self.megengine[name])
        return rows


def operator_entry(name: str, function: object, rows: dict[str, str]) -> str:
    table = "\n".join(f"| {key} | {value} |" for key, value in rows.items())
    return f"{entry(name, function, 2)}\n\n| | |\n|---|---|\n{table}"


def write_operators(folder: Path, root: Path) -> list[str]:
    """Writes a page per family of operators and returns their names."""
    from megengine import _mge

    folder.mkdir(parents=True)
    sources, facts = sources_of_operators(root), Facts(root)
    families: dict[str, list[str]] = defaultdict(list)
    index = []
    for name in sorted(n for n in dir(_mge.ops) if callable(getattr(_mge.ops, n)) and n[0] != "_"):
        family, header = sources.get(name, ("elementwise", ""))
        rows = facts.rows(name, header)
        families[family].append(operator_entry(name, getattr(_mge.ops, name), rows))
        cells = (rows.get(key, "") for key in ("gradient", "ONNX", "MegEngine"))
        index.append(f"| [`{name}`]({page_of(family)}#{name}) | {family} | {' | '.join(cells)} |")
    for family, entries in families.items():
        intro = "All [operators](index.md); [GPUs](../../cuda.md) explains the algorithms there."
        text = "\n\n".join([f"# Operators: {family}", intro, *entries])
        (folder / page_of(family)).write_text(text + "\n")
    head = "| operator | family | gradient | ONNX | MegEngine |\n|---|---|---|---|---|"
    rows_text = "\n".join(index)
    (folder / "index.md").write_text(f"# Operators, by family\n\n{INTRO}\n\n{head}\n{rows_text}\n")
    return [page_of(family) for family in sorted(families)]
