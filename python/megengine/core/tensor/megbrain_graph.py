# SPDX-License-Identifier: Apache-2.0
"""Values into a graph and out of it, by hand, under the names that MegEngine has for that."""

from collections import OrderedDict, namedtuple
from collections.abc import Sequence

import numpy as np

from ...tensor import Tensor
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


def model_of(outputs: Sequence[VarNode]):
    """What runs variables of one graph: a ``_mge.Model``, whose outputs have no names."""
    graph = outputs[0].graph
    names = [f"result {i}" for i in range(len(outputs))]
    return graph.to_model([var.id for var in outputs], names, graph.metadata, {})


class Compiled:
    """Variables of one graph, ready to run on what the graph's inputs were set to.

    Args:
        outputs: VarNodes of one graph.
    """

    def __init__(self, outputs: Sequence[VarNode]) -> None:
        self._outputs = list(outputs)
        self._model = model_of(self._outputs)

    def execute(self) -> "Compiled":
        """Compute the variables; ``OutputNode.get_value`` gives them.

        Raises:
            RuntimeError: an input has no value.
        """
        graph = self._outputs[0].graph
        unset = [name for name in self._model.input_names if name not in graph.feeds]
        if unset:
            raise RuntimeError(f"the inputs {unset} have no values: set_value gives them some")
        results = self._model.run([graph.feeds[name] for name in self._model.input_names])
        for var, value in zip(self._outputs, results, strict=True):
            graph.results[var.id] = value
        return self

    def wait(self) -> "Compiled":
        """A run has ended when ``execute`` returns."""
        return self


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
