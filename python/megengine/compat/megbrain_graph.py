# SPDX-License-Identifier: Apache-2.0
"""Values into a graph and out of it, by hand, under the names that MegEngine has for that."""

from collections import OrderedDict, namedtuple
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..operators.opdef import OpDef, apply
from ..tensor import Tensor
from ..utils.compiled_graph import Compiled, at_least_vector
from ..utils.network_node import OpenGraph, OpNode, VarNode
from ..utils.operator_params import params_as_text
from .common import TensorAttr
from .graph_dumping import (  # noqa: F401
    CompGraphDumpResult,
    deserialize_infer_option,
    dump_graph,
    optimize_for_inference,
)
from .graph_options import GraphOptions

CompGraphLoadResult = namedtuple(
    "CompGraphLoadResult", ["graph", "output_vars_dict", "output_vars_list", "metadata"]
)


class Graph(OpenGraph):
    """A graph that is built by hand, compiled and run.

    ``execute`` requests a run, which happens when the inputs have values and a result is read;
    ``wait`` ends it.

    Example:
        >>> graph = Graph()
        >>> x = InputNode(device="xpux", dtype="float32", graph=graph)
        >>> y = OutputNode(x.outputs[0] * 2)
        >>> run = graph.compile(y.outputs[0])
        >>> run.execute()
        >>> x.set_value(Tensor([1.0, 2.0]))
        >>> y.get_value()
        Tensor([2. 4.], device=xpux:0)
        >>> run.wait()
    """

    Options = GraphOptions

    def __init__(
        self, data: str | bytes | None = None, label: str = "", key: bytes | None = None
    ) -> None:
        super().__init__(data, label, key)
        self._options = GraphOptions()
        self._to_do: list[VarNode] = []
        self._sources: list[tuple[VarNode, Callable]] = []
        self._sinks: dict[int, Callable] = {}

    @property
    def options(self) -> GraphOptions:
        """The options of its compilation, each of which can be assigned."""
        return self._options

    def compile_options(self) -> dict[str, Any]:
        """The compile options that ``options`` describe."""
        return self._options._values

    def type_of(self, operator: OpNode) -> str:
        """``OpNode.graph_type``."""
        return operator.graph_type

    def make_const(self, data, dtype=None, device=None, name: str | None = None) -> VarNode:
        """A constant; see ``Network.make_const``."""
        value = Tensor(data, dtype=dtype, device=device)
        found = self.variable(self.number_of(value))
        if name is not None:
            found.name = name
        return found

    def make_h2d(self, *, dtype, device, shape=None, name: str | None = None) -> VarNode:
        """Make an input; see ``OpenGraph.new_input``."""
        return self.new_input(name, dtype, shape, device)

    make_input = make_h2d

    def compile(self, *outputs: Tensor) -> "Graph":
        """Set the variables to compute.

        Args:
            outputs: variables of this graph.
        Returns:
            The graph.
        """
        self._to_do = list(outputs)
        return self

    def execute(self) -> None:
        """Request a run with the values that are set since the last one or later."""
        if self.results:
            self.feeds.clear()
        self.results.clear()

    def wait(self) -> None:
        """End a run.

        Raises:
            RuntimeError: an input has no value, or an operator has failed.
        """
        if any(var.id not in self.results for var in self._to_do):
            _run(self, self._to_do)
        for number, sink in self._sinks.items():
            if number in self.results:
                sink(self.results[number])

    def __call__(self) -> None:
        self.execute()
        self.wait()


class LoadedGraph(Graph):
    """A graph that ``load_graph`` gave."""

    compile = OpenGraph.compile  # MegEngine has a separate function for manual graphs

    def params_of(self, operator: OpNode) -> str:
        """The parameters of an operator as JSON text."""
        return params_as_text(operator)


def load_graph(fpath) -> CompGraphLoadResult:
    """Read a model file of any kind.

    Args:
        fpath: path, or a binary file object.
    Returns:
        The graph, its outputs by name and in order, and the metadata of the file.
    """
    graph = LoadedGraph.load(fpath)
    outputs = [graph.variable(number) for number in graph.outputs]
    by_name = OrderedDict((var.name, var) for var in outputs)
    return CompGraphLoadResult(graph, by_name, outputs, graph.metadata)


def _run(graph: OpenGraph, variables: list[Tensor]) -> None:
    """Compute variables; each input callback is called once per run."""
    for var, source in graph._sources if isinstance(graph, Graph) else ():
        if var.name not in graph.feeds:
            graph.feeds[var.name] = at_least_vector(source(), var.dtype)
    Compiled(variables).execute()


def input_callback(callback: Callable, *, device, dtype, shape=None, graph: Graph) -> tuple:
    """Make an input whose value a function returns in each run.

    Args:
        callback: returns a Tensor.
        device: device of the input.
        dtype: dtype of the input.
        shape: shape of the input; None: a vector.
        graph: the graph that gets the input.
    Returns:
        The variable, twice (in MegEngine the second one fixes an order).
    """
    var = graph.make_h2d(dtype=dtype, device=device, shape=shape)
    graph._sources.append((var, callback))
    return var, var


def output_callback(callback: Callable, var: Tensor) -> VarNode:
    """Let a function have a variable's value after each run.

    Args:
        callback: is called with a Tensor.
        var: of a ``Graph`` that is compiled with it.
    Returns:
        The variable.
    """
    var.graph._sinks[var.id] = callback
    return var


def apply_normal_varnode(op: OpDef, *args: Tensor) -> tuple[VarNode, ...]:
    """``core2.apply``, which takes variables of graphs."""
    return apply(op, *args)


class InputNode:
    """An input of a graph that gets values by hand.

    Args:
        var: the input; None: a new one.
        device: device of a new input.
        dtype: dtype of a new input.
        shape: shape of a new input; None: a vector, or the shape of the variable that the input
            replaces (``replace_vars``).
        graph: the ``Graph`` of a new input.
    """

    def __init__(
        self, var: Tensor | None = None, *, device=None, dtype=None, shape=None, graph=None
    ) -> None:
        self.var = graph.make_h2d(dtype=dtype, device=device, shape=shape) if var is None else var
        self.outputs = [self.var]
        self.graph = self.var.graph

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self.var.name

    def set_value(self, value) -> None:
        """Set the input of the next run: a Tensor or an array."""
        self.graph.feeds[self.name] = at_least_vector(value, self.var.dtype)._plain()
        self.graph.results.clear()

    def reset(self) -> None:
        """Forget the value."""
        self.graph.feeds.pop(self.name, None)
        self.graph.results.clear()


class OutputNode:
    """A variable whose value can be read.

    Args:
        var: of a graph.
    """

    def __init__(self, var: Tensor) -> None:
        self.var = var
        self.outputs = [var]
        self.graph = var.graph

    @property
    def name(self) -> str:
        """Name of the variable."""
        return self.var.name

    def get_value(self) -> Tensor:
        """The value of the last run, or of one now.

        Raises:
            RuntimeError: an input has no value.
        """
        if self.var.id not in self.graph.results:
            _run(self.graph, self.outputs)
        found, meaning = self.graph.results[self.var.id], self.var._meaning
        return found if meaning is None else found._meant_as(meaning)

    def reset(self) -> None:
        """Forget the value of the last run."""
        self.graph.results.pop(self.var.id, None)


class ValueOutputNode(OutputNode):
    """An OutputNode whose value is an array."""

    def get_value(self) -> np.ndarray:
        """The value of the last run, or of one now."""
        return super().get_value().numpy()


class VirtualDepNode:
    """A variable that is computed after others, though it does not read them.

    Args:
        vars: the variable, and the others.
        device: not used: it stays where the first one is.
    """

    def __init__(self, vars: Sequence[Tensor], device: str = "") -> None:
        out = _mge.ops.wait_for(*vars)
        self.outputs = [out]
        self.graph = out.graph


class AttrOutputNode(OutputNode):
    """An output that reports the properties of its value, not the elements."""

    def get_value(self) -> TensorAttr:
        """Shape, dtype and device in the last run, or in one now."""
        value = super().get_value()
        return TensorAttr(value._tuple_shape, value.dtype, value.device)
