# SPDX-License-Identifier: Apache-2.0
"""A module and the normalisation behind it, quantised as the one module that they become."""

from ... import functional as F
from ...tensor import Tensor
from ..folding import fold_factor, fold_weight_bias
from ..module import Module
from .module import QATModule, channel_axes


def folded(
    part: Module,
    bn: Module,
    transpose: bool = False,
    statistics: tuple[Tensor, Tensor] | None = None,
) -> tuple[Tensor, Tensor]:
    """Weight and bias of a module that does the normalisation's work, too.

    Args:
        part: the layer before the normalisation.
        bn: the normalisation.
        transpose: the module is a transposed convolution.
        statistics: means and variances of the channels; None: the running ones.
    Returns:
        Weight, and bias in the shape of the module's.
    """
    mean, variance = statistics or (bn.running_mean, bn.running_var)
    weight, bias = fold_weight_bias(
        part.weight, part.bias, bn.weight, bn.bias, mean, variance, bn.eps, transpose
    )
    return weight, bias.reshape(-1) if part.weight.ndim == 2 else bias


class FoldingModule(QATModule):
    """Base of a layer and the normalisation behind it, ``bn``."""

    _layer: str  # names of the layer, and of its method that takes another weight and bias
    _compute: str
    _transpose = False

    def _prepare(self, observer: Module) -> None:
        weight = getattr(self, self._layer).weight
        observer.for_weight(weight, channel_axes(weight, transpose=self._transpose))

    def fold_weight_bias(self, bn_mean: Tensor, bn_var: Tensor) -> tuple[Tensor, Tensor]:
        """The parameters of a layer that does the normalisation's work, too.

        Args:
            bn_mean: means of the channels.
            bn_var: their variances.
        Returns:
            The weight, on its steps, and the bias.
        """
        return self._folded((bn_mean, bn_var))

    def _folded(self, statistics: tuple[Tensor, Tensor] | None) -> tuple[Tensor, Tensor]:
        part = getattr(self, self._layer)
        weight, bias = folded(part, self.bn, self._transpose, statistics)
        return self.apply_quant_weight(weight), bias

    def _calc_qat(self, inp: Tensor, approx: bool = True) -> Tensor:
        """The two with weight and bias on their steps.

        While the weight's quantiser is off, this is the layer and its normalisation as they are, to
        the bit. Otherwise it is the folded module in evaluation mode. In training mode the
        statistics are those of the batch; the weight is folded with the running ones and quantised,
        and their effect is undone in the result. Without ``approx`` the weight is folded with those
        of the batch, which needs the layer twice.

        Args:
            inp: input of the layer.
            approx: in training mode, fold the weight with the running statistics, not with those
                of the batch.
        """
        part, bn = getattr(self, self._layer), self.bn
        compute = getattr(part, self._compute)
        is_exact = self.training and not approx
        statistics = _learned(bn, compute(inp, part.weight, part.bias)) if is_exact else None
        weight, bias = self._folded(statistics)
        quantiser = self.weight_fake_quant
        if not is_exact and (quantiser is None or not quantiser.enabled):
            return bn(compute(inp, part.weight, part.bias))
        if is_exact or not self.training:
            return compute(inp, weight, self.apply_quant_bias(bias, inp, weight))
        # conv(x, w * factor) / factor
        factor = fold_factor(bn.weight, bn.running_var, bn.eps)
        out = compute(inp, weight, None)
        out = out / (factor if out.ndim == 4 else factor.reshape(1, -1))
        return bn(out if part.bias is None else out + part.bias)


def _learned(bn: Module, out: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and variance of each channel, which the running statistics of ``bn`` also learn."""
    bn(out)
    axes = [axis for axis in range(out.ndim) if axis != 1]
    shape = bn.running_mean.shape
    return F.mean(out, axes).reshape(shape), F.var(out, axes).reshape(shape)
