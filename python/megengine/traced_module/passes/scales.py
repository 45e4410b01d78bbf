# SPDX-License-Identifier: Apache-2.0
"""Factors go backwards, as far as weights that can take them in.

A factor behind a convolution is the same as other weights. It passes what commutes with it: sums
(whose constants take it too), other products, and ReLU if it is positive. First the way is looked
at to its end; only if all of it can be gone something is changed.
"""

from collections.abc import Callable

from ...functional import elemwise, nn
from ...functional.convolution import conv2d
from ...module import (
    Conv2d,
    ConvRelu2d,
    ConvTranspose2d,
    ConvTransposeRelu2d,
    Identity,
    LeakyReLU,
    Linear,
    LinearRelu,
    ReLU,
)
from ...tensor import Parameter, Tensor
from ..expr import Expr, is_call_function, is_call_tensor_method
from ..graph import InternalGraph
from ..node import Node, TensorNode
from .conv_bn import add_constant, own_constants
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


def fold_scales(graph: InternalGraph) -> None:
    """f(x) * s => f'(x), where f is linear up to functions that let s through."""
    for expr in list(graph._exprs)[::-1]:
        if not is_call_tensor_method(expr, "__mul__") or not is_floating(expr.inputs[0]):
            continue
        scale = constant_of(expr.args[1], expr.inputs[0])
        if scale is None or isinstance(scale, Tensor):
            continue
        changes = _way(graph, expr.inputs[0], expr, scale)
        if changes is not None:
            for change in changes:
                change()
            bypass(graph, expr.outputs[0], expr.inputs[0])


def _way(graph: InternalGraph, node: Node, user: Expr, scale: float) -> list[Change] | None:
    """What multiplies a node by a factor; None if that cannot be."""
    if not isinstance(node, TensorNode) or not is_only_for(graph, node, user):
        return None
    expr = node.expr
    if calls_plain(expr, _WEIGHTED) or (scale > 0 and calls_plain(expr, _WITH_RELU)):
        return _scale_module(graph, expr, scale)
    if is_call_function(expr, conv2d):
        return _scale_function(expr, scale)
    is_relu = calls_plain(expr, (ReLU, LeakyReLU)) or is_call_function(
        expr, [nn.relu, nn.leaky_relu]
    )
    if is_relu and scale > 0:
        return _way(graph, expr.inputs[-1], expr, scale)
    if calls_plain(expr, (Identity,)):
        return _way(graph, expr.inputs[1], expr, scale)
    if is_call_tensor_method(expr, "__mul__"):
        return _scale_product(expr, scale)
    if is_call_tensor_method(expr, "__add__") or is_call_function(expr, elemwise.add):
        return _scale_sum(graph, expr, scale)
    return None


def _scale_module(graph: InternalGraph, call: Expr, scale: float) -> list[Change] | None:
    if not is_read_from_owner(call):
        return None

    def change() -> None:
        module = module_of_its_own(graph, call)
        module.weight = Parameter(module.weight * scale)
        if module.bias is not None:
            module.bias = Parameter(module.bias * scale)

    return [change]


def _scale_function(call: Expr, scale: float) -> list[Change] | None:
    found = own_constants(call)
    if found is None:
        return None

    def change() -> None:
        for constant in found:
            if constant is not None:
                constant.value = constant.value * scale

    return [change]


def _scale_product(expr: Expr, scale: float) -> list[Change] | None:
    factor = constant_of(expr.args[1], expr.inputs[0])
    if factor is None or isinstance(factor, Tensor):
        return None
    return [lambda: expr.set_args_kwargs(expr.inputs[0], factor * scale)]


def _scale_sum(graph: InternalGraph, expr: Expr, scale: float) -> list[Change] | None:
    first, second = expr.args[:2]
    value = constant_of(second, first) if isinstance(first, TensorNode) else None
    ways = [first] if value is not None else [first, second]
    changes: list[Change] = []
    for node in ways:
        found = _way(graph, node, expr, scale)
        if found is None:
            return None
        changes += found
    if isinstance(value, Tensor):
        changes.append(
            lambda: expr.set_args_kwargs(first, add_constant(graph, expr, value * scale))
        )
    elif value is not None:
        changes.append(lambda: expr.set_args_kwargs(first, value * scale))
    return changes
