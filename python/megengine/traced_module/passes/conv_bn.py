# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation goes into the convolution before it."""

from ...functional.convolution import conv2d
from ...module import BatchNorm2d, Conv2d, ConvTranspose2d, Module
from ...tensor import Parameter, Tensor
from ...utils.bn_fusion import fold_weight_bias
from ..expr import Constant, Expr, is_call_function
from ..graph import InternalGraph
from ..node import TensorNode
from .rewriting import (
    bypass,
    calls_plain,
    is_only_for,
    is_read_from_owner,
    module_of_its_own,
)


def fuse_conv_bn(graph: InternalGraph) -> None:
    """bn(conv(x)) => conv'(x), where the statistics are fixed and nothing else reads conv(x)."""
    for expr in list(graph._exprs)[::-1]:
        if not calls_plain(expr, (BatchNorm2d,)):
            continue
        norm, source = expr.inputs[0].owner, expr.inputs[1]
        is_fixed = not norm.training and norm.running_mean is not None
        if is_fixed and is_only_for(graph, source, expr) and _fold(graph, source.expr, norm):
            bypass(graph, expr.outputs[0], source)


def _fold(graph: InternalGraph, call: Expr, norm: Module) -> bool:
    if calls_plain(call, (Conv2d, ConvTranspose2d)):
        return _fold_into_module(graph, call, norm)
    return is_call_function(call, conv2d) and _fold_into_function(graph, call, norm)


def _folded(weight: Tensor, bias: Tensor | None, norm: Module, transpose: bool = False):
    return fold_weight_bias(
        weight,
        bias,
        norm.weight,
        norm.bias,
        norm.running_mean,
        norm.running_var,
        norm.eps,
        transpose,
    )


def _fold_into_module(graph: InternalGraph, call: Expr, norm: Module) -> bool:
    if call.inputs[0].owner.training or not is_read_from_owner(call):
        return False
    module = module_of_its_own(graph, call)
    is_transposed = isinstance(module, ConvTranspose2d)
    weight, bias = _folded(module.weight, module.bias, norm, is_transposed)
    module.weight, module.bias = Parameter(weight), Parameter(bias)
    return True


def own_constants(call: Expr) -> tuple[Constant, Constant | None] | None:
    """The weight and bias of a call of ``conv2d`` that are constants which only it reads."""
    weight, bias = (call.named_args.get(name) for name in ("weight", "bias"))
    for node in (weight, bias):
        if node is not None and not (
            isinstance(node, TensorNode)
            and isinstance(node.expr, Constant)
            and node.users == [call]
        ):
            return None
    return weight.expr, None if bias is None else bias.expr


def add_constant(graph: InternalGraph, before: Expr, value: Tensor) -> TensorNode:
    """A new constant before an expression."""
    constant = Constant(value)
    graph._insert(constant, graph._exprs.index(before))
    return constant.outputs[0]


def _fold_into_function(graph: InternalGraph, call: Expr, norm: Module) -> bool:
    found = own_constants(call)
    if found is None:
        return False
    weight, bias = found
    folded, shift = _folded(weight.value, None if bias is None else bias.value, norm)
    weight.value, shift = Tensor(folded), Tensor(shift.reshape(1, -1, 1, 1))
    if bias is None:
        call.set_arg("bias", add_constant(graph, call, shift))
    else:
        bias.value = shift
    return True
