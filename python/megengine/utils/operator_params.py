# SPDX-License-Identifier: Apache-2.0
"""What an operator of a ``Network`` has as ``params``: a mapping that writes to the graph."""

from collections.abc import Iterator, MutableMapping

# MegEngine has a parameter for each axis where there is one pair here: ``stride_h``, ``stride_w``.
_PAIRS = {"stride": "stride", "pad": "padding", "dilate": "dilation", "window": "kernel"}


class OperatorParams(MutableMapping):
    """The parameters of an ``OpNode``; to assign one changes the graph."""

    def __init__(self, node) -> None:
        self._node = node

    def _known(self) -> dict:
        node = self._node
        mode = node.graph.operator_type(node._number)[1]
        found = node.graph.params(node._number) if node._has_params else {}
        return ({"mode": mode} if mode else {}) | found

    def _find(self, name: str) -> tuple[str, int | None]:
        """The parameter behind a name, and which of its numbers; None: all of it."""
        known = self._known()
        pair, _, axis = name.rpartition("_")
        if name in known:
            return name, None
        if axis in ("h", "w") and _PAIRS.get(pair) in known:
            return _PAIRS[pair], "hw".index(axis)
        raise KeyError(f"{self._node!r} has no parameter {name!r}; it has {list(known)}")

    def __getitem__(self, name: str):
        own, at = self._find(name)
        value = self._known()[own]
        return value if at is None else value[at]

    def __setitem__(self, name: str, value) -> None:
        own, at = self._find(name)
        if at is not None:
            both = self._known()[own]
            value = [*both[:at], value, *both[at + 1 :]]
        graph = self._node.graph
        graph.set_param(self._node._number, own, value)
        graph.refresh()

    def __delitem__(self, name: str) -> None:
        raise TypeError("parameters of an operator cannot be deleted")

    def __iter__(self) -> Iterator[str]:
        return iter(self._known())

    def __len__(self) -> int:
        return len(self._known())

    def __repr__(self) -> str:
        return repr(self._known())
