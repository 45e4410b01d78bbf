# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation goes into the convolution before it."""

from typing import NamedTuple

from ...functional.convolution import conv2d
from ...functional.nn import batch_norm
from ...module import BatchNorm2d, Conv2d, ConvTranspose2d
from ...tensor import Parameter, Tensor
from ...utils.bn_fusion import fold_weight_bias
from ..expr import Constant, Expr, is_call_function
from ..graph import InternalGraph
from ..node import Node, TensorNode
from .rewriting import (
    bypass,
    calls_plain,
    is_only_for,
    is_read_from_owner,
    module_of_its_own,
)


class _Norm(NamedTuple):
    """A normalisation by fixed statistics; each Tensor has one element per channel."""

    source: Node
    mean: Tensor
    variance: Tensor
    weight: Tensor | None
    bias: Tensor | None
    eps: float

    def folded(self, weight: Tensor, bias: Tensor | None, transpose: bool = False):
        """The weight and bias of the convolution before it that do its work, too."""
        tensors = (self.weight, self.bias, self.mean, self.variance)
        tensors = [None if t is None else t.reshape(1, -1, 1, 1) for t in tensors]
        return fold_weight_bias(weight, bias, *tensors, self.eps, transpose)


def fuse_conv_bn(graph: InternalGraph) -> None:
    """bn(conv(x)) => conv'(x), if the statistics are fixed and nothing else reads conv(x)."""
    for expr in list(graph._exprs)[::-1]:
        norm = _norm_of(expr)
        if norm is None or not is_only_for(graph, norm.source, expr):
            continue
        if _fold(graph, norm.source.expr, norm):
            bypass(graph, expr.outputs[0], norm.source)


def _norm_of(expr: Expr) -> _Norm | None:
    """The normalisation that an expression calls, if its statistics are fixed."""
    if calls_plain(expr, (BatchNorm2d,)):
        norm, source = expr.inputs[0].owner, expr.inputs[1]
        if norm.training or norm.running_mean is None:
            return None
        statistics = norm.running_mean, norm.running_var
        return _Norm(source, *statistics, norm.weight, norm.bias, norm.eps)
    if not is_call_function(expr, batch_norm):
        return None
    arguments = expr.named_args
    names = ("running_mean", "running_var", "weight", "bias")
    values = [_value_of(arguments.get(name)) for name in names]
    has_all = all(
        value is not None or arguments.get(name) is None
        for name, value in zip(names, values, strict=True)
    )
    if arguments.get("training") or values[0] is None or values[1] is None or not has_all:
        return None
    source = arguments["inp"]
    is_node = isinstance(source, TensorNode)
    return _Norm(source, *values, arguments.get("eps", 1e-5)) if is_node else None


def _value_of(node) -> Tensor | None:
    """The Tensor of a constant."""
    is_constant = isinstance(node, TensorNode) and isinstance(node.expr, Constant)
    return node.expr.value if is_constant else None


def _fold(graph: InternalGraph, call: Expr, norm: _Norm) -> bool:
    if calls_plain(call, (Conv2d, ConvTranspose2d)):
        return _fold_into_module(graph, call, norm)
    return is_call_function(call, conv2d) and _fold_into_function(graph, call, norm)


def _fold_into_module(graph: InternalGraph, call: Expr, norm: _Norm) -> bool:
    if call.inputs[0].owner.training or not is_read_from_owner(call):
        return False
    module = module_of_its_own(graph, call)
    weight, bias = norm.folded(module.weight, module.bias, isinstance(module, ConvTranspose2d))
    module.weight, module.bias = Parameter(weight), Parameter(bias)
    return True


def _fold_into_function(graph: InternalGraph, call: Expr, norm: _Norm) -> bool:
    found = constant_weights(call)
    if found is None:
        return False
    weight, bias = norm.folded(*found)
    set_constant(graph, call, "weight", Tensor(weight))
    set_constant(graph, call, "bias", Tensor(bias))
    return True


def constant_weights(call: Expr) -> tuple[Tensor, Tensor | None] | None:
    """The weight and bias of a call of ``conv2d`` if they are constants."""
    weight, bias = (call.named_args.get(name) for name in ("weight", "bias"))
    values = _value_of(weight), _value_of(bias)
    is_constant = values[0] is not None and (bias is None or values[1] is not None)
    return values if is_constant else None


def set_constant(graph: InternalGraph, call: Expr, name: str, value: Tensor) -> None:
    """Give a call a constant argument; other readers of the old value are not affected."""
    node = call.named_args.get(name)
    if node is not None and node.users == [call]:
        node.expr.value = value
    else:
        call.set_arg(name, add_constant(graph, call, value))


def add_constant(graph: InternalGraph, before: Expr, value: Tensor) -> TensorNode:
    """A new constant before an expression."""
    constant = Constant(value)
    graph._insert(constant, graph._exprs.index(before))
    return constant.outputs[0]
