# SPDX-License-Identifier: Apache-2.0
"""The ``params`` of an operator of a graph: a mapping that writes to the graph, or text."""

import json
from collections.abc import Iterator, Mapping, MutableMapping

# MegEngine has a parameter for each axis where there is one pair here: ``stride_h``, ``stride_w``.
_PAIRS = {"stride": "stride", "pad": "padding", "dilate": "dilation", "window": "kernel"}


def megengine_words(kind: str, known: Mapping) -> dict:
    """The parameters of an operator as MegEngine calls them, where it has a word for them.

    Args:
        kind: the operator's type in MegEngine's graphs.
        known: its parameters by our names.
    """
    found = {
        f"{word}_{axis}": known[own][at]
        for word, own in _PAIRS.items()
        if own in known
        for at, axis in enumerate("hw")
    }
    if kind in ("ConvolutionForward", "ConvolutionBackwardData"):
        found |= {"mode": "CROSS_CORRELATION", "format": "NCHW", "compute_mode": "DEFAULT"}
        found["sparse"] = "DENSE" if known["groups"] == 1 else "GROUP"
    if kind == "PoolingForward":
        average = "AVERAGE" if known.get("count_include_pad") else "AVERAGE_COUNT_EXCLUDE_PADDING"
        found |= {"mode": average if "count_include_pad" in known else "MAX", "format": "NCHW"}
    if kind in ("MatrixMul", "BatchedMatrixMul"):
        found |= {"transposeA": known["transpose_a"], "transposeB": known["transpose_b"]}
        found |= {"format": "DEFAULT", "compute_mode": "DEFAULT"}
    if kind == "BatchNormForward":
        found |= {"fwd_mode": "TRAINING" if known["training"] else "INFERENCE"}
    if kind == "ArgsortForward":
        found |= {"order": "DESCENDING" if known["descending"] else "ASCENDING"}
    if kind == "Dimshuffle":
        found |= {"ndim": len(known["pattern"])}
    if kind == "Reduce" and len(known["axes"]) == 1:
        found |= {"axis": known["axes"][0], "data_type": "DEFAULT"}
    return found


def params_as_text(node) -> str:
    """The parameters of an operator as JSON, by MegEngine's names and by ours."""
    known = OperatorParams(node)._known()
    shown = known | megengine_words(node.graph_type, known)
    return json.dumps(shown, default=str)


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
        """The parameter for a name, and the index into it; None: the whole parameter."""
        known = self._known()
        pair, _, axis = name.rpartition("_")
        if name in known:
            return name, None
        if axis in ("h", "w") and _PAIRS.get(pair) in known:
            return _PAIRS[pair], "hw".index(axis)
        raise KeyError(f"{self._node!r} has no parameter {name!r}; it has {list(known)}")

    def __getitem__(self, name: str):
        known = self._known()
        if name not in known:
            words = megengine_words(self._node.graph_type, known)
            if name in words:
                return words[name]
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
