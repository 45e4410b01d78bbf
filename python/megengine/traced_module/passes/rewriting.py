# SPDX-License-Identifier: Apache-2.0
"""Common part of the passes: inspection and replacement of expressions."""

from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from itertools import count

import numpy as np

from ...core.tensor.dtype import is_bfloat16, is_quantize
from ...functional import elemwise
from ...logger import get_logger
from ...module import Module
from ...tensor import Tensor
from ..expr import (
    CallMethod,
    Constant,
    Expr,
    GetAttr,
    is_call_function,
    is_call_module,
    is_call_tensor_method,
)
from ..graph import InternalGraph
from ..graph_member import GraphOwner
from ..node import ModuleNode, Node, TensorNode
from ..pytree import flatten_tree
from ..utils import get_subattr

_logger = get_logger(__name__)


def graphs_of(module) -> Iterator[InternalGraph]:
    """The graphs of a traced module and of those in it."""
    for part in module.modules():
        if isinstance(part, GraphOwner):
            yield from part.argdef_graph_map.values()


def uses_of_modules(graph: InternalGraph) -> Counter:
    """Number of expressions in the whole module that call a Module or read its Tensors, by the
    Module's id."""
    found: Counter = Counter()
    for each in graphs_of(graph._whole._owner()):
        for expr in each._exprs:
            if isinstance(expr, CallMethod) and isinstance(expr.inputs[0], ModuleNode):
                found[id(expr.inputs[0].owner)] += 1
            elif isinstance(expr, GetAttr) and isinstance(expr.outputs[0], TensorNode):
                path = expr.name.rpartition(".")[0]
                owner = expr.inputs[0].owner
                found[id(get_subattr(owner, path) if path else owner)] += 1
    return found


def is_floating(node: Node) -> bool:
    """Whether a node represents a floating Tensor."""
    if not isinstance(node, TensorNode) or node._dtype is None:
        return False
    return is_bfloat16(node._dtype) or np.dtype(node._dtype).kind == "f"


def is_only_for(graph: InternalGraph, node: Node, user: Expr) -> bool:
    """Whether the only use of a node is one operand of an expression."""
    marked = (*graph._outputs, *graph._watch_point, *graph._end_point)
    return node.users == [user] and node not in marked


def replace_expr(graph: InternalGraph, old: Expr, new: Expr) -> None:
    """Put an expression in the place of one, and let it give that one's nodes."""
    at = graph._exprs.index(old)
    for node in old.inputs:
        if old in node.users:
            node.users.remove(old)
    for node in new.inputs:
        if new not in node.users:
            node.users.append(new)
    new.outputs, new._graph, new._id = old.outputs, graph, old._id
    for node in new.outputs:
        node.expr = new
    graph._exprs[at] = new


def put_constant(graph: InternalGraph, expr: Expr, value: Tensor) -> None:
    """Let an expression of one result be a constant."""
    replace_expr(graph, expr, Constant(value))


def put_method(graph: InternalGraph, expr: Expr, method: str, node: Node, constant) -> None:
    """Let an expression be the call of a method with one argument."""
    new = CallMethod(node, method)
    new.out_def = expr.out_def
    new._set_call(*flatten_tree(((node, constant), {})))
    replace_expr(graph, expr, new)


def insert_method(graph: InternalGraph, before: Expr, method: str, node: Node, constant) -> Node:
    """A new expression of the same shape as its node; the node that it gives."""
    new = CallMethod(node, method)
    new._set_call(*flatten_tree(((node, constant), {})))
    new.out_def = before.out_def
    result = TensorNode(new)
    result._shape, result._dtype, result._device = node._shape, node._dtype, node._device
    new.outputs = [result]
    graph._insert(new, graph._exprs.index(before))
    return result


def bypass(graph: InternalGraph, node: Node, source: Node) -> None:
    """Let all that reads a node read another one, which comes before it."""
    graph.replace_node({node: source})


def constant_of(value, like: Node):
    """The number, or the constant Tensor with the dtype of a node; None for other values.

    An integer constant is converted where the operator would do that.
    """
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return value
    if isinstance(value, np.number):
        return value.item()
    if isinstance(value, TensorNode) and isinstance(value.expr, Constant):
        constant = value.expr.value
        is_integer = constant.dtype.kind in "iu" and not is_quantize(constant.dtype)
        if is_integer and like._dtype == np.float32:
            return constant.astype("float32")
        return constant if constant.dtype == like._dtype else None
    return None


_FUNCTIONS = {
    elemwise.add: "add",
    elemwise.sub: "sub",
    elemwise.mul: "mul",
    elemwise.div: "truediv",
}
_METHODS = {f"__{r}{name}__": r + name for r in ("", "r") for name in _FUNCTIONS.values()}


def with_constant(expr: Expr) -> tuple[str, Node, object, object] | None:
    """Classify an expression of a floating Tensor and a constant.

    Returns:
        ``add``, ``sub``, ``mul`` or ``truediv``, with an ``r`` before it if the constant is the
        first operand; the node; the constant as an argument and as a value. None for other
        expressions.
    """
    if is_call_function(expr, list(_FUNCTIONS)):
        name = _FUNCTIONS[expr.func]
    elif is_call_tensor_method(expr, list(_METHODS)):
        name = _METHODS[expr.method]
    else:
        return None
    first, second = expr.args[:2]
    for node, other, is_first in ((first, second, True), (second, first, False)):
        if isinstance(node, TensorNode) and is_floating(node):
            value = constant_of(other, node)
            if value is not None and constant_of(node, node) is None:
                return (name if is_first else _turned(name)), node, other, value
    return None


def _turned(name: str) -> str:
    return name[1:] if name.startswith("r") else "r" + name


def calls_plain(expr, classes: tuple[type, ...]) -> bool:
    """Whether an expression calls a Module that behaves as one of the classes.

    A user's derived class counts as its base if it overrides only the constructor.
    """
    if not is_call_module(expr, classes):
        return False
    kind = type(expr.inputs[0].owner)
    base = next(cls for cls in kind.__mro__ if cls in classes)
    own = kind.__mro__[: kind.__mro__.index(base)]
    overridden = {name for cls in own for name in vars(cls) if hasattr(base, name)}
    return all(_is_special(name) and name != "__call__" for name in overridden)


def _is_special(name: str) -> bool:
    return name.startswith("__") and name.endswith("__")


def is_read_from_owner(call: Expr) -> bool:
    """Whether the Module of a call is an attribute, so that ``module_of_its_own`` can copy it."""
    return isinstance(call.inputs[0].expr, GetAttr)


def module_of_its_own(graph: InternalGraph, call: Expr) -> Module:
    """Return the Module of a call to be changed; if others use it too, the call gets a copy.

    As in MegEngine, the copy of ``conv`` is the attribute ``conv_1``, or the next free number.
    """
    node, read = call.inputs[0], call.inputs[0].expr
    module, source = node.owner, read.inputs[0]
    uses = uses_of_modules(graph)[id(module)]
    if uses == 1:
        return module
    path, _, name = read.name.rpartition(".")
    parent = get_subattr(source.owner, path) if path else source.owner
    name = next(free for k in count(1) if not hasattr(parent, free := f"{name}_{k}"))
    copy = deepcopy(module)
    copy._name = copy._short_name = None
    setattr(parent, name, copy)
    own = GetAttr(source, ModuleNode, f"{path}.{name}" if path else name)
    own.outputs[0].module_type = node.module_type
    graph._insert(own, graph._exprs.index(read) + 1)
    call.replace_inputs({node: own.outputs[0]})
    _logger.warning(
        "[optimize] %s is used %d times; this call gets a copy, %s", node.qualname, uses, own.name
    )
    return copy
