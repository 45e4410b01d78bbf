# SPDX-License-Identifier: Apache-2.0
"""Graphs by hand, under the names that MegEngine's extension module has for them."""

from collections.abc import Sequence

from ..core._wrap import as_device
from ..operators.opdef import OpDef, apply
from ..tensor import Tensor
from ..utils.network_node import OpenGraph as ComputingGraph
from ..utils.network_node import OpNode as OperatorNode  # noqa: F401
from ..utils.network_node import VarNode
from .comp_graph_tools import replace_oprs as _replace_oprs  # noqa: F401
from .comp_graph_tools import replace_vars as _replace_vars  # noqa: F401
from .comp_graph_tools import set_priority_to_id as _set_priority_to_id  # noqa: F401
from .graph_dumping import optimize_for_inference  # noqa: F401
from .megbrain_graph import (  # noqa: F401
    VirtualDepNode,
    dump_graph,
    input_callback,
    load_graph,
    output_callback,
)


def make_h2d(graph: ComputingGraph, device, dtype, shape=None, name: str | None = None) -> VarNode:
    """Make a further input of a graph.

    Without a shape it is of rank 1, or gets the shape of the variable that it replaces.

    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> make_h2d(Graph(), "xpux", "float32", (2, 3), "x").shape
        (2, 3)
    """
    return graph.new_input(name, dtype, shape, device)


def make_const(
    graph: ComputingGraph, data, device=None, dtype=None, name: str | None = None
) -> VarNode:
    """A further constant of a graph.

    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> make_const(Graph(), [1.0, 2.0], "xpux", "float32").numpy().tolist()
        [1.0, 2.0]
    """
    place = None if device is None else as_device(device)
    value = Tensor(data, dtype=dtype, device=place)
    return graph.variable(graph.add_constant(value, name or ""))


def make_shared(graph: ComputingGraph, data: Tensor) -> VarNode:
    """A further constant of a graph, with the value of a Tensor.

    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> make_shared(Graph(), Tensor([1.0, 2.0])).shape
        (2,)
    """
    return make_const(graph, data)


def virtual_dep(variables: Sequence[Tensor], device: str = "") -> "OperatorNode":
    """The operator that gives the first variable when the others are computed.

    Args:
        variables: of one graph.
        device: not used: the variable stays where it is.
    """
    return VirtualDepNode(variables, device).outputs[0].owner


def invoke_op(op: OpDef, variables: Sequence[Tensor], graph=None) -> tuple[Tensor, ...]:
    """``core2.apply``, with the variables in a list."""
    return apply(op, *variables)
