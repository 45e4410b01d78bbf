# SPDX-License-Identifier: Apache-2.0
"""Functions that walk over the variables of a graph, find some and replace some."""

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence

from ..tensor import Tensor
from .network_node import ImmutableTensor, OpNode, Reshape, VarNode


def get_dep_vars(var, var_type: str | Sequence[str] | None = None) -> list[VarNode]:
    """The variables that others need, and they themselves.

    Args:
        var: a VarNode, or a list of VarNodes of one graph.
        var_type: types of the operators that compute them, such as ``"Host2DeviceCopy"``; None:
            all.
    Returns:
        The variables in breadth-first order from ``var``, the inputs of each operator in order.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_const([1.0, 2.0], name="x")
        >>> y = F.exp(x)
        >>> [var.name for var in get_dep_vars(y)]
        ['exp#1', 'x']
    """
    wanted = [var] if isinstance(var, VarNode) else list(var)
    types = {var_type} if isinstance(var_type, str) else var_type
    found = dict.fromkeys(wanted)
    waiting = deque(found)
    while waiting:
        for needed in get_owner_opr_inputs(waiting.popleft()):
            if needed not in found:
                found[needed] = None
                waiting.append(needed)
    return [out for out in found if types is None or get_owner_opr_type(out) in types]


def get_owner_opr_inputs(var: Tensor) -> list[VarNode]:
    """The inputs of the operator that computes a variable.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_const([1.0, 2.0], name="x")
        >>> y = F.exp(x)
        >>> [var.name for var in get_owner_opr_inputs(y)]
        ['x']
    """
    return var.owner.inputs


def get_owner_opr_type(var: Tensor) -> str:
    """The type of the operator that computes a variable, such as ``"Elemwise"``.

    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_const([1.0, 2.0], name="x")
        >>> y = F.exp(x)
        >>> get_owner_opr_type(y)
        'Elemwise'
    """
    return var.owner.type


def get_opr_type(opr: OpNode) -> str:
    """The type of an operator in MegEngine's graphs, such as ``"ConvolutionForward"``.

    Raises:
        AssertionError: ``opr`` is not an operator.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> import numpy as np
        >>> x = net.make_const(np.ones((1, 1, 2, 2)), name="x")
        >>> y = F.conv2d(x, x)
        >>> get_opr_type(y.owner), y.owner.type
        ('ConvolutionForward', 'Convolution')
    """
    if not isinstance(opr, OpNode):
        raise AssertionError(f"[get_opr_type] expected an OpNode, got {type(opr).__name__}")
    return opr.graph_type


def graph_traversal(outputs: Sequence[Tensor]):
    """The relations needed to traverse the graph that variables depend on.

    Args:
        outputs: VarNodes of one graph.
    Returns:
        Six dicts with ids as keys: operators; their inputs; readers of each input, as (id, position
            of the input); operators that read each operator; by number of inputs, the ids of
            operators that wait for that many; the number of inputs that each operator waits for.
    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> graph = Graph()
        >>> x = graph.make_h2d(dtype="float32", device="xpux", name="x")
        >>> oprs, variables, *_ = graph_traversal([F.exp(x * 2)])
        >>> len(oprs), len(variables)
        (4, 3)
    """
    oprs, variables = {}, {}
    var2oprs, opr2receivers = defaultdict(list), defaultdict(list)
    indegree2opr, opr2indegree = defaultdict(set), {}
    for opr in get_oprs_seq(outputs, prune_immtensor=False):
        oprs[opr.id] = opr
        opr2indegree[opr.id] = len(opr.inputs)
        indegree2opr[len(opr.inputs)].add(opr.id)
        for position, var in enumerate(opr.inputs):
            variables[var.id] = var
            var2oprs[var.id].append((opr.id, position))
            opr2receivers[var.owner.id].append(opr.id)
    return oprs, variables, var2oprs, opr2receivers, indegree2opr, opr2indegree


def get_oprs_seq(
    outputs: Sequence[Tensor], prune_reshape: bool = False, prune_immtensor: bool = True
) -> list[OpNode]:
    """The operators that variables need, in topological order.

    Args:
        outputs: VarNodes of one graph.
        prune_reshape: without operators that only work out the shape for a Reshape.
        prune_immtensor: without constants.
    Example:
        >>> from megengine.utils.network import Network
        >>> net = Network()
        >>> x = net.make_const([1.0, 2.0], name="x")
        >>> y = F.exp(x)
        >>> [opr.type for opr in get_oprs_seq([y], prune_reshape=False)]
        ['Elemwise']
    """
    if not outputs:
        return []
    graph = outputs[0].graph
    needed = _reached(outputs) if prune_reshape else None
    oprs = [graph.operator(number) for number in graph.order([var._number for var in outputs])]
    return [
        opr
        for opr in oprs
        if (needed is None or opr.id in needed)
        and not (prune_immtensor and isinstance(opr, ImmutableTensor))
    ]


def _reached(outputs: Iterable[Tensor]) -> set[int]:
    """Ids of the operators before variables; a Reshape only counts its first input."""
    found: set[int] = set()
    waiting = [var.owner for var in outputs]
    while waiting:
        opr = waiting.pop()
        if opr.id not in found:
            found.add(opr.id)
            read = opr.inputs[:1] if isinstance(opr, Reshape) else opr.inputs
            waiting += [var.owner for var in read]
    return found


def replace_vars(dst: Sequence[Tensor], varmap: dict[Tensor, Tensor]) -> list[VarNode]:
    """Variables computed from others than they are; the graph's own stay as they are.

    Args:
        dst: VarNodes of one graph.
        varmap: from each variable to the one in its place, of the same graph.
    Returns:
        One VarNode for each of ``dst``; those that do not depend on a replaced one are unchanged.
    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> graph = Graph()
        >>> x = graph.make_h2d(dtype="float32", device="xpux", name="x")
        >>> y = F.exp(x)
        >>> (z,) = replace_vars([y], {x: x * 2})
        >>> z.owner.inputs[0].owner.params["mode"]
        'MUL'
    """
    if not dst:
        return []
    graph = dst[0].graph
    known = {old._number: graph.number_of(new) for old, new in varmap.items()}
    graph.give_shapes({known[old._number]: old.shape for old in varmap})
    numbers, _ = graph.copy_from(graph, [var._number for var in dst], known)
    return [graph.variable(number) for number in numbers]


def replace_oprs(dst: Sequence[Tensor], oprmap: dict[OpNode, OpNode]) -> list[VarNode]:
    """``replace_vars`` for all outputs of operators.

    Args:
        dst: VarNodes of one graph.
        oprmap: from each operator to the one in its place.
    Raises:
        ValueError: two operators do not have equally many outputs.
    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> graph = Graph()
        >>> x = graph.make_h2d(dtype="float32", device="xpux", name="x")
        >>> y = x + 1
        >>> z = F.exp(y)
        >>> (w,) = replace_oprs([z], {y.owner: (x * 2).owner})
        >>> w.owner.inputs[0].owner.params["mode"]
        'MUL'
    """
    pairs = [zip(old.outputs, new.outputs, strict=True) for old, new in oprmap.items()]
    return replace_vars(dst, {old: new for pair in pairs for old, new in pair})


def find_vars_by_name(dst: Sequence[Tensor], names: Sequence[str]) -> list[VarNode]:
    """Variables that others need, by their names.

    Args:
        dst: VarNodes of one graph.
        names: exact names.
    Raises:
        AssertionError: no variable has such a name.
    Example:
        >>> from megengine.core.tensor.megbrain_graph import Graph
        >>> graph = Graph()
        >>> x = graph.make_h2d(dtype="float32", device="xpux", name="x")
        >>> find_vars_by_name([F.exp(x)], ["x"]) == [x]
        True
    """
    found = {var.name: var for var in get_dep_vars(dst)}
    missing = [name for name in names if name not in found]
    if missing:
        raise AssertionError(f"the model has no variables {missing}; it has {sorted(found)[:64]}")
    return [found[name] for name in names]
