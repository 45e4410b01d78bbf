# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation goes into the convolution before it."""

from ...functional.convolution import conv2d
from ...module import BatchNorm2d, Conv2d, ConvTranspose2d, Module
from ...tensor import Tensor
from ...utils.bn_fusion import fold_weight_bias, fuse_conv_bn_relu_module
from ..expr import Constant, Expr, GetAttr, is_call_function, is_call_module
from ..graph import InternalGraph
from ..node import TensorNode
from .rewriting import bypass, is_only_for, set_attribute, uses_of_modules


def fuse_conv_bn(graph: InternalGraph) -> None:
    """bn(conv(x)) => conv'(x), where the statistics are fixed and nothing else reads conv(x)."""
    for expr in list(graph._exprs):
        if not is_call_module(expr, BatchNorm2d):
            continue
        norm, (_, source) = expr.inputs[0].owner, expr.inputs
        is_fixed = not norm.training and norm.running_mean is not None
        if type(norm) is not BatchNorm2d or not is_fixed or not is_only_for(graph, source, expr):
            continue
        if _fold(graph, source.expr, norm):
            bypass(graph, expr.outputs[0], source)


def _fold(graph: InternalGraph, call: Expr, norm: Module) -> bool:
    if is_call_module(call, (Conv2d, ConvTranspose2d)):
        return _fold_into_module(graph, call, norm)
    return is_call_function(call, conv2d) and _fold_into_function(graph, call, norm)


def _fold_into_module(graph: InternalGraph, call: Expr, norm: Module) -> bool:
    read, module = call.inputs[0].expr, call.inputs[0].owner
    if type(module) not in (Conv2d, ConvTranspose2d) or not isinstance(read, GetAttr):
        return False
    if module.training or uses_of_modules(graph)[id(module)] != 1:
        return False
    fused = fuse_conv_bn_relu_module(module, norm, None)
    fused._name, fused._short_name = module._name, module._short_name
    set_attribute(read.inputs[0].owner, read.name, fused)
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
    folded, shift = fold_weight_bias(
        weight.value,
        None if bias is None else bias.value,
        norm.weight,
        norm.bias,
        norm.running_mean,
        norm.running_var,
        norm.eps,
    )
    weight.value, shift = Tensor(folded), Tensor(shift.reshape(1, -1, 1, 1))
    if bias is None:
        call.set_arg("bias", add_constant(graph, call, shift))
    else:
        bias.value = shift
    return True
