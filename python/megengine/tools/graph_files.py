# SPDX-License-Identifier: Apache-2.0
"""Graphs and plans of memory as JSON: of ``get_profile`` and ``--get-static-mem-info``."""

import json
from collections.abc import Callable
from typing import Any

from ..files.opening import open_input


def read_json(path, what: str, make: Callable[[dict], Any]):
    """Build an object from a JSON file.

    Args:
        path: path of the file.
        what: the expected content, for the message.
        make: called with the content.
    Raises:
        ValueError: it has another content.
        OSError: it cannot be read.
    """
    with open_input(path) as file:
        try:
            return make(json.load(file))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            reason = f"{type(error).__name__}: {error}"
            raise ValueError(f"{str(path)!r} does not hold {what} ({reason})") from None


def _shape_text(var: dict) -> str:
    plan = var.get("mem_plan")
    return f"{{{','.join(map(str, plan['layout']['shape']))}}}" if plan else "<?>"


def linked_graph(data: dict) -> dict:
    """A graph with lookup tables of its operators and variables by number.

    Args:
        data: ``operator`` and ``var`` by their numbers as texts.
    Returns:
        The same dict; each variable has its ``shape`` as a text, and ``owner_opr`` where an
        operator computes it.
    """
    for kind in ("operator", "var"):
        data[kind] = {int(number): node for number, node in data[kind].items()}
    for number, node in data["operator"].items():
        for ports in ("input", "output"):
            node[ports] = [int(port) for port in node[ports]]
        for port in node["output"]:
            data["var"][port]["owner_opr"] = number
    for var in data["var"].values():
        var["shape"] = _shape_text(var)
    return data
