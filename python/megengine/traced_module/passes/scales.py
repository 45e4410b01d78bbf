# SPDX-License-Identifier: Apache-2.0
"""Factors go backwards, as far as weights that can take them in.

A factor after a convolution can be folded into the weights. It commutes with sums (whose constants
are scaled, too), other products, and ReLU if it is positive. The path is checked to its end first;
the graph changes only if the whole path allows it.
"""

from collections.abc import Callable, Sequence

from ... import functional as F
from ...functional import elemwise
from ...functional.convolution import conv2d
from ...functional.tensor import concat
from ...module import (
    AdaptiveAvgPool2d,
    AdaptiveMaxPool2d,
    AvgPool2d,
    Conv2d,
    ConvRelu2d,
    ConvTranspose2d,
    ConvTransposeRelu2d,
    Identity,
    LeakyReLU,
    Linear,
    LinearRelu,
    MaxPool2d,
    ReLU,
)
from ...tensor import Parameter, Tensor
from ..expr import Expr, is_call_function, is_call_tensor_method
from ..graph import InternalGraph
from ..node import ModuleNode, Node, TensorNode
from .conv_bn import add_constant, constant_weights, set_constant
from .rewriting import (
    bypass,
    calls_plain,
    constant_of,
    is_floating,
    is_only_for,
    is_read_from_owner,
    module_of_its_own,
)

Change = Callable[[], None]
_WEIGHTED = (Conv2d, ConvTranspose2d, Linear)
_WITH_RELU = (ConvRelu2d, ConvTransposeRelu2d, LinearRelu)
# Calls that every factor passes, and calls that only a positive factor passes.
_LINEAR_MODULES = (AdaptiveAvgPool2d, AvgPool2d, Identity)
_POSITIVE_MODULES = (AdaptiveMaxPool2d, LeakyReLU, MaxPool2d, ReLU)
_LINEAR_FUNCTIONS = (
    F.adaptive_avg_pool2d,
    F.avg_pool2d,
    F.expand_dims,
    F.flatten,
    F.reshape,
    F.squeeze,
    F.transpose,
)
_POSITIVE_FUNCTIONS = (
    F.adaptive_max_pool2d,
    F.leaky_relu,
    F.max,
    F.max_pool2d,
    F.min,
    F.relu,
)
_LINEAR_METHODS = ("__getitem__", "flatten", "reshape", "transpose")
_POSITIVE_METHODS = ("max", "min")


def fold_scales(graph: InternalGraph) -> None:
    """f(x) * s => f'(x), where f is linear up to functions that let s through."""
    for expr in list(graph._exprs)[::-1]:
        if not is_call_tensor_method(expr, "__mul__") or not is_floating(expr.inputs[0]):
            continue
        scale = _factor_of(expr)
        if scale is None:
            continue
        changes = _way(graph, expr.inputs[0], expr, scale)
        if changes is not None:
            for change in changes:
                change()
            bypass(graph, expr.outputs[0], expr.inputs[0])


def _factor_of(product: Expr) -> float | None:
    """The number that an expression multiplies with, perhaps a Tensor of one element."""
    node = product.inputs[0]
    factor = constant_of(product.args[1], node)
    if not isinstance(factor, Tensor):
        return factor
    is_number = factor._tuple_shape == () or (factor._tuple_shape == (1,) and node._shape)
    return factor.item() if is_number else None


def _way(graph: InternalGraph, node: Node, user: Expr, scale: float) -> list[Change] | None:
    """The expressions that scale a node by a factor; None if that is impossible."""
    if not isinstance(node, TensorNode) or not is_only_for(graph, node, user):
        return None
    expr = node.expr
    if calls_plain(expr, _WEIGHTED) or (scale > 0 and calls_plain(expr, _WITH_RELU)):
        return _scale_module(graph, expr, scale)
    if is_call_function(expr, conv2d):
        return _scale_function(graph, expr, scale)
    if _lets_through(expr, scale > 0):
        is_module = isinstance(expr.inputs[0], ModuleNode)
        return _way(graph, expr.inputs[1] if is_module else expr.args[0], expr, scale)
    if is_call_tensor_method(expr, "__mul__"):
        return _scale_product(expr, scale)
    if is_call_tensor_method(expr, "__add__") or is_call_function(expr, elemwise.add):
        return _scale_sum(graph, expr, scale)
    if is_call_function(expr, concat):
        return _ways(graph, expr.args[0], expr, scale)
    return None


def _ways(
    graph: InternalGraph, nodes: Sequence[Node], user: Expr, scale: float
) -> list[Change] | None:
    changes: list[Change] = []
    for node in nodes:
        found = _way(graph, node, user, scale)
        if found is None:
            return None
        changes += found
    return changes


def _lets_through(expr: Expr, is_positive: bool) -> bool:
    """Whether f(x * s) is f(x) * s, for s of that sign."""
    modules = _LINEAR_MODULES + _POSITIVE_MODULES * is_positive
    functions = _LINEAR_FUNCTIONS + _POSITIVE_FUNCTIONS * is_positive
    methods = _LINEAR_METHODS + _POSITIVE_METHODS * is_positive
    is_call = calls_plain(expr, modules) or is_call_function(expr, functions)
    return is_call or is_call_tensor_method(expr, methods)


def _scale_module(graph: InternalGraph, call: Expr, scale: float) -> list[Change] | None:
    if not is_read_from_owner(call):
        return None

    def change() -> None:
        module = module_of_its_own(graph, call)
        module.weight = Parameter(module.weight * scale)
        if module.bias is not None:
            module.bias = Parameter(module.bias * scale)

    return [change]


def _scale_function(graph: InternalGraph, call: Expr, scale: float) -> list[Change] | None:
    if constant_weights(call) is None:
        return None

    def change() -> None:
        for name, value in zip(("weight", "bias"), constant_weights(call), strict=True):
            if value is not None:
                set_constant(graph, call, name, value * scale)

    return [change]


def _scale_product(expr: Expr, scale: float) -> list[Change] | None:
    factor = _factor_of(expr)
    if factor is None:
        return None
    return [lambda: expr.set_args_kwargs(expr.inputs[0], factor * scale)]


def _scale_sum(graph: InternalGraph, expr: Expr, scale: float) -> list[Change] | None:
    first, second = expr.args[:2]
    value = constant_of(second, first) if isinstance(first, TensorNode) else None
    changes = _ways(graph, [first] if value is not None else [first, second], expr, scale)
    if changes is None:
        return None
    if isinstance(value, Tensor):
        changes.append(
            lambda: expr.set_args_kwargs(first, add_constant(graph, expr, value * scale))
        )
    elif value is not None:
        changes.append(lambda: expr.set_args_kwargs(first, value * scale))
    return changes
