# SPDX-License-Identifier: Apache-2.0
"""Compares the results of a traced module with those of the Module."""

import contextlib
from collections.abc import Callable, Iterator

import numpy as np

from ..module import Module
from ..random.rng import kept_streams
from ..tensor import Tensor
from .filters import all_nodes
from .node import TensorNode
from .pytree import flatten_tree
from .tm_config import checks

_RTOL, _ATOL = 1e-4, 1e-5  # operators are the same, but sums may be done in another order


def _copies(value):
    leaves, structure = flatten_tree(value)
    leaves = [type(leaf)(leaf) if isinstance(leaf, Tensor) else leaf for leaf in leaves]
    return structure.unflatten(structure.fill(leaves))


def _numbers(tensor: Tensor) -> np.ndarray:
    return (tensor if tensor._is_complex else tensor.astype("float32")).numpy()


def _compare(got, want, what: str) -> None:
    want_values, want_def = flatten_tree(want)
    got_values, got_def = flatten_tree(got)
    assert got_def == want_def, f"[trace_module] {what} gives {got_def}, not {want_def}"
    for k, (one, other) in enumerate(zip(got_values, want_values, strict=True)):
        np.testing.assert_allclose(
            _numbers(one),
            _numbers(other),
            rtol=_RTOL,
            atol=_ATOL,
            err_msg=f"[trace_module] {what} gives another value {k} than the recording;"
            " traced_module.disable_default_checker() disables this check",
        )


@contextlib.contextmanager
def watching(module: Module, args: tuple, kwargs: dict) -> Iterator[Callable]:
    """A context in which a Module runs; it returns a function that compares a traced module with
    that run.

    For the comparison, buffers and random number streams have their state before the run, and
    afterwards that after the run.
    """
    if not checks.results and not checks.expressions:
        yield lambda traced, expected, recorded: None
        return
    buffers = list(module.tensors())
    before = [Tensor(tensor) for tensor in buffers]
    streams = kept_streams()
    given = _copies((args, kwargs))

    def check(traced: Module, expected, recorded: dict) -> None:
        after = [Tensor(tensor) for tensor in buffers]
        later_streams = kept_streams()
        streams()
        try:
            for tensor, value in zip(buffers, before, strict=True):
                tensor._reset(value)
            graphs = {node._graph for node in recorded}
            for graph in graphs:
                graph._watch_point = [n for n in all_nodes(graph, False) if n in recorded]
            got = traced(*given[0], **given[1])
            for graph in graphs:
                for node, (value, *_) in graph._rst.items():
                    if isinstance(node, TensorNode):
                        _compare(value, recorded[node], f"{node.expr!r} of {graph.name}")
                graph._watch_point, graph._rst = [], {}
            if checks.results:
                _compare(got, expected, type(module).__name__)
        finally:
            later_streams()
            for tensor, value in zip(buffers, after, strict=True):
                tensor._reset(value)

    yield check
