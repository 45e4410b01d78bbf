# SPDX-License-Identifier: Apache-2.0
"""Replaces values that are known in advance by constants."""

from ...functional import nn
from ...operators import GetVarShape
from ...tensor import Tensor
from ..expr import (
    IN_PLACE,
    Apply,
    CallFunction,
    CallMethod,
    Constant,
    GetAttr,
    is_changed_in_place,
)
from ..functions import home_of
from ..graph import InternalGraph
from ..hooks import paused
from ..node import ModuleNode, TensorNode
from .rewriting import put_constant


def freeze_attributes(graph: InternalGraph) -> None:
    """Parameters and buffers that are read become constants, unless something changes them."""
    for expr in list(graph._exprs):
        if not isinstance(expr, GetAttr) or not isinstance(expr.outputs[0], TensorNode):
            continue
        (node,) = expr.outputs
        if not is_changed_in_place(node):
            put_constant(graph, expr, Tensor(expr.module_of()))


def freeze_shapes(graph: InternalGraph) -> None:
    """Replace shapes by those of the recording."""
    for expr in list(graph._exprs):
        if isinstance(expr, Apply) and isinstance(expr.opdef, GetVarShape):
            shape = expr.inputs[0]._shape
            if shape:
                put_constant(graph, expr, Tensor(list(shape), dtype="int32"))


def _is_foldable(expr) -> bool:
    if not isinstance(expr, (Apply, CallFunction, CallMethod)) or not expr.inputs:
        return False
    if any(isinstance(node, ModuleNode) for node in expr.inputs) or len(expr.outputs) != 1:
        return False
    if isinstance(expr, CallMethod) and expr.method in IN_PLACE:
        return False
    if isinstance(expr, CallFunction):
        home, _ = home_of(expr.func)
        # Random functions, and those of other packages, may have different results each time.
        if expr.func is nn.dropout or not home.startswith("megengine.functional"):
            return False
    return all(isinstance(node.expr, Constant) for node in expr.inputs)


def fold_constants(graph: InternalGraph) -> None:
    """Compute values that depend only on constants."""
    for expr in list(graph._exprs):
        if not _is_foldable(expr):
            continue
        changed = [user for node in expr.inputs for user in node.users]
        if any(isinstance(user, CallMethod) and user.method in IN_PLACE for user in changed):
            continue
        with paused():
            (value,) = expr.interpret(*[node.expr.value for node in expr.inputs])
        put_constant(graph, expr, value)
