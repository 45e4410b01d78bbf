# SPDX-License-Identifier: Apache-2.0
"""Values into a graph and out of it, by hand, under the names that MegEngine has for that."""

from collections import OrderedDict, namedtuple

import numpy as np

from ...tensor import Tensor
from ...utils.compiled_graph import Compiled
from ...utils.network_node import OpenGraph, VarNode

CompGraphLoadResult = namedtuple(
    "CompGraphLoadResult", ["graph", "output_vars_dict", "output_vars_list", "metadata"]
)


def load_graph(fpath) -> CompGraphLoadResult:
    """Read a model file of any kind.

    Args:
        fpath: path, or a binary file object.
    Returns:
        The graph, its outputs by name and in their order, and what the file says of itself as it is
        stored.
    """
    graph = OpenGraph.load(fpath)
    outputs = [graph.variable(number) for number in graph.outputs]
    by_name = OrderedDict((var.name, var) for var in outputs)
    return CompGraphLoadResult(graph, by_name, outputs, graph.metadata)


def at_least_vector(value, dtype=None) -> Tensor:
    """A Tensor of this dtype, unless it is one; MegEngine's graphs have no rank zero."""
    tensor = value if isinstance(value, Tensor) else Tensor(np.asarray(value, dtype))
    return tensor if tensor.ndim else tensor.reshape(1)


class InputNode:
    """An input of a graph that gets values by hand.

    Args:
        var: the input.
    """

    def __init__(self, var: VarNode) -> None:
        self.var = var
        self.outputs = [var]
        self.graph = var.graph

    @property
    def name(self) -> str:
        """That of the variable."""
        return self.var.name

    def set_value(self, value) -> None:
        """What the input is in the next run: a Tensor, or an array."""
        self.graph.feeds[self.name] = at_least_vector(value, self.var.dtype)
        self.graph.results.clear()


class OutputNode:
    """A variable whose value can be asked for.

    Args:
        var: of a graph.
    """

    def __init__(self, var: VarNode) -> None:
        self.var = var
        self.outputs = [var]
        self.graph = var.graph

    @property
    def name(self) -> str:
        """That of the variable."""
        return self.var.name

    def get_value(self) -> Tensor:
        """The value of the last run, or of one now.

        Raises:
            RuntimeError: an input has no value.
        """
        if self.var.id not in self.graph.results:
            Compiled(self.outputs).execute()
        return self.graph.results[self.var.id]
