# SPDX-License-Identifier: Apache-2.0
"""Writes a page for each JSON schema of docs/schemas: its fields as a table, then its text."""

import json
import re
from pathlib import Path

ABBREVIATED = 8


class Schema:
    """The fields of one schema; a definition that several fields share is expanded at the first."""

    def __init__(self, path: Path):
        self.path, self.text = path, path.read_text()
        self.content = json.loads(self.text)
        # By field: type, whether it is required, meaning.
        self.rows: dict[str, list[str]] = {}
        self.expanded: set[str] = set()

    def page(self) -> str:
        self.walk(self.content, "")
        self.join_bare()
        name = self.path.name.removesuffix(".schema.json")
        rows = (f"| `{field}` | {' | '.join(cells)} |" for field, cells in self.rows.items())
        parts = [
            f"# {name}",
            sentence(self.content.get("title", "")),
            sentence(self.content.get("description", "")),
            "\n".join(["| field | type | always | meaning |", "|---|---|---|---|", *rows]),
            f"## {self.path.name}\n\n```json\n{self.text.rstrip()}\n```",
        ]
        return "\n\n".join(part for part in parts if part) + "\n"

    def resolved(self, node: dict) -> tuple[dict, str]:
        """The node with its definition, and the name of a definition that was shown before."""
        reference = node.get("$ref", "")
        if not reference.startswith("#/$defs/"):
            return node, ""
        name = reference.removeprefix("#/$defs/")
        merged = {**self.content["$defs"][name], **node}
        if name in self.expanded and "properties" in merged:
            return {key: merged[key] for key in ("type", "description") if key in merged}, name
        self.expanded.add(name)
        return merged, ""

    def walk(self, node: dict, prefix: str, sure: bool = True) -> None:
        """Adds the fields of an object; in one of several alternatives none is sure to be there."""
        required = node.get("required", ()) if sure else ()
        for name, child in node.get("properties", {}).items():
            self.add(f"{prefix}{name}", child, name in required)
        for name in required:
            self.row(f"{prefix}{name}", "", True, "")
        for key in ("allOf", "anyOf", "oneOf"):
            for part in node.get(key, ()):
                self.walk(self.resolved(part)[0], prefix, key == "allOf")
        if isinstance(items := node.get("items"), dict):
            self.walk(self.resolved(items)[0], f"{prefix.removesuffix('.')}[].")
        if isinstance(rest := node.get("additionalProperties"), dict):
            self.walk(self.resolved(rest)[0], f"{prefix}NAME.")

    def join_bare(self) -> None:
        """Puts fields of which only the names are known into the row of their object."""
        bare: dict[str, list[str]] = {}
        for field in [f for f, (kind, _, doc) in self.rows.items() if not kind and not doc]:
            parent, _, name = field.rpartition(".")
            parent = parent.removesuffix("[]")
            if parent in self.rows and not any(f.startswith(f"{field}.") for f in self.rows):
                bare.setdefault(parent, []).append(f"`{name}`")
                del self.rows[field]
        for parent, names in bare.items():
            cells = self.rows[parent]
            cells[2] = f"{cells[2]} Fields: {', '.join(names)}.".strip()

    def row(self, field: str, kind: str, needed: bool, doc: str) -> None:
        cells = self.rows.setdefault(field, ["", "", ""])
        for i, cell in enumerate((kind, "yes" if needed else "", doc)):
            cells[i] = cells[i] or cell

    def add(self, field: str, child: dict, needed: bool) -> None:
        child, shown = self.resolved(child)
        kind = f"{kind_of(child)} `{shown}`".strip() if shown else kind_of(child)
        self.row(field, kind, needed, sentence(child.get("description", "")))
        self.walk(child, f"{field}.")


def kind_of(node: dict) -> str:
    if "const" in node:
        return f"`{json.dumps(node['const'])}`"
    if "enum" in node:
        values = [f"`{value}`" for value in node["enum"]]
        return ", ".join(values[:ABBREVIATED] + ["…"] * (len(values) > ABBREVIATED))
    kind = node.get("type", "")
    return " or ".join(kind) if isinstance(kind, list) else kind


def sentence(text: str) -> str:
    """Text for a cell: no markup, and a full stop at its end."""
    text = re.sub(r"([|<*_\[\]])", r"\\\1", " ".join(text.split()))
    return text if not text or text.endswith((".", "`")) else f"{text}."


def schema_page(path: Path) -> str:
    return Schema(path).page()
