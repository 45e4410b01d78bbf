# SPDX-License-Identifier: Apache-2.0
"""``Graph.options``: the options of a compilation, by the names that MegEngine's graphs have."""

from typing import Any

from .. import _mge
from ..jit.options import LIST

_ROWS = {row["path"]: row for row in LIST}
_GROUPS = {path[: at + 1] for path in _ROWS for at, char in enumerate(path) if char == "."}
# MegEngine's numbers for automatic, off and on.
_THREE_WAYS = {0: None, 1: False, 2: True}


class GraphOptions:
    """Options of a compilation as attributes; assigning one that does not exist is an error.

    Each option is checked when it is assigned, and takes effect at the next run of the graph.
    docs/compile-options.md describes each.

    Example:
        >>> options = GraphOptions()
        >>> options.graph_opt_level, options.seq_opt.enable_mem_reuse_alloc
        (2, True)
        >>> options.graph_opt_level = 0
        >>> options
        GraphOptions(graph_opt_level=0)
    """

    def __init__(self, prefix: str = "", values: dict[str, Any] | None = None) -> None:
        object.__setattr__(self, "_prefix", prefix)  # "seq_opt." in a group
        object.__setattr__(self, "_values", {} if values is None else values)  # by option's name

    def _row(self, name: str) -> dict[str, Any]:
        path = self._prefix + name
        if path not in _ROWS:
            raise AttributeError(
                f"[Graph.options] there is no option {path!r}; there are {', '.join(dir(self))}"
            )
        return _ROWS[path]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # also _prefix, while it is copied
            raise AttributeError(f"'GraphOptions' object has no attribute {name!r}")
        if f"{self._prefix}{name}." in _GROUPS:
            return GraphOptions(f"{self._prefix}{name}.", self._values)
        row = self._row(name)
        return self._values.get(row["name"], row["value"])

    def __setattr__(self, name: str, value: Any) -> None:
        row = self._row(name)
        if type(value) is int and "jit_config." in self._prefix:
            value = _THREE_WAYS.get(value, value)
        elif type(value) is int and isinstance(row["value"], bool):
            value = {0: False, 1: True}.get(value, value)
        changed = self._values | {row["name"]: value}
        try:
            _mge.check_options(changed)
        except (RuntimeError, TypeError, ValueError) as error:
            path = self._prefix + name
            raise type(error)(f"[Graph.options] {path} = {value!r}: {error}") from None
        self._values[row["name"]] = value

    def __dir__(self) -> list[str]:
        paths = (path[len(self._prefix) :] for path in _ROWS if path.startswith(self._prefix))
        return sorted({path.partition(".")[0] for path in paths})

    def __repr__(self) -> str:
        paths = {row["name"]: path for path, row in _ROWS.items()}
        shown = (f"{paths[name]}={value!r}" for name, value in self._values.items())
        return f"GraphOptions({', '.join(shown)})"
