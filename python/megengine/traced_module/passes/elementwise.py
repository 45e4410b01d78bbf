# SPDX-License-Identifier: Apache-2.0
"""Sums and products with constants."""

from ...functional import elemwise
from ...tensor import Tensor
from ..expr import Expr, is_call_function, is_call_tensor_method
from ..graph import InternalGraph
from .rewriting import (
    constant_of,
    insert_method,
    is_floating,
    is_only_for,
    put_method,
    with_constant,
)


def _is_zero(value) -> bool:
    return not isinstance(value, Tensor) and value == 0


def normalise_elementwise(graph: InternalGraph) -> None:
    """Normalise to additions and multiplications with the number second, including subtraction
    and division."""
    for expr in list(graph._exprs):
        is_negation = is_call_tensor_method(expr, "__neg__") or is_call_function(expr, elemwise.neg)
        if is_negation and is_floating(expr.inputs[0]):
            put_method(graph, expr, "__mul__", expr.inputs[0], -1)
            continue
        found = with_constant(expr)
        if found is None:
            continue
        name, node, argument, value = found
        if name in ("add", "radd"):
            put_method(graph, expr, "__add__", node, argument)
        elif name in ("mul", "rmul"):
            put_method(graph, expr, "__mul__", node, argument)
        elif isinstance(value, Tensor):
            continue  # its negative or inverse would be a constant more
        elif name == "sub":
            put_method(graph, expr, "__add__", node, -value)
        elif name == "rsub":
            # c - x => x * -1 + c
            negative = insert_method(graph, expr, "__mul__", node, -1)
            put_method(graph, expr, "__add__", negative, argument)
        elif name == "truediv" and not _is_zero(value):
            put_method(graph, expr, "__mul__", node, 1 / value)


def _is(expr: Expr, method: str):
    """(node, constant) of an expression that adds or multiplies by a constant."""
    if not is_call_tensor_method(expr, method) or not is_floating(expr.inputs[0]):
        return None
    value = constant_of(expr.args[1], expr.inputs[0])
    return None if value is None else (expr.inputs[0], value)


def fuse_chains(graph: InternalGraph) -> None:
    """x + a + b => x + (a + b), x * a * b => x * (a * b), for numbers."""
    for expr in list(graph._exprs):
        for method, joined in (("__add__", lambda a, b: a + b), ("__mul__", lambda a, b: a * b)):
            outer = _is(expr, method)
            if outer is None:
                continue
            node, second = outer
            inner = _is(node.expr, method)
            if inner is None or not is_only_for(graph, node, expr):
                continue
            source, first = inner
            if not isinstance(first, Tensor) and not isinstance(second, Tensor):
                put_method(graph, expr, method, source, joined(first, second))
                graph._drop(node.expr)
