# SPDX-License-Identifier: Apache-2.0
"""A module and the normalisation behind it, quantised as the one module that they become."""

from collections.abc import Callable

from ...tensor import Tensor
from ..folding import fold_factor, fold_weight_bias
from ..module import Module
from .module import QATModule


def folded(part: Module, bn: Module, transpose: bool = False) -> tuple[Tensor, Tensor]:
    """Weight and bias of a module that does the normalisation's work, too.

    Args:
        part: the layer before the normalisation.
        bn: the normalisation.
        transpose: the module is a transposed convolution.
    Returns:
        Weight, and bias in the shape of the module's.
    """
    weight, bias = fold_weight_bias(
        part.weight,
        part.bias,
        bn.weight,
        bn.bias,
        bn.running_mean,
        bn.running_var,
        bn.eps,
        transpose,
    )
    return weight, bias.reshape(-1) if part.weight.ndim == 2 else bias


def folded_qat(
    qat: QATModule,
    part: Module,
    bn: Module,
    inp: Tensor,
    compute: Callable,
    transpose: bool = False,
) -> Tensor:
    """Result of the layer and its normalisation with quantised weights.

    While the weight's quantiser is off, this is the layer and its normalisation as they are, to
    the bit. Otherwise it is the folded module in evaluation mode. In training mode the statistics
    are those of the batch; the weight is folded with the running ones and quantised, and their
    effect is undone in the result.

    Args:
        qat: the module that quantises.
        part: the layer before the normalisation.
        bn: the normalisation.
        inp: input of the layer.
        compute: computes ``part`` with another weight and bias.
        transpose: the module is a transposed convolution.
    Returns:
        The result before it is quantised.
    """
    weight, bias = folded(part, bn, transpose)
    weight = qat.apply_quant_weight(weight)
    quantiser = qat.weight_fake_quant
    if quantiser is None or not quantiser.enabled:
        return bn(compute(inp, part.weight, part.bias))
    if not qat.training:
        return compute(inp, weight, qat.apply_quant_bias(bias, inp, weight))
    # conv(x, w * factor) / factor
    factor = fold_factor(bn.weight, bn.running_var, bn.eps)
    out = compute(inp, weight, None)
    out = out / (factor if out.ndim == 4 else factor.reshape(1, -1))
    return bn(out if part.bias is None else out + part.bias)
