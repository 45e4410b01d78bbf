# SPDX-License-Identifier: Apache-2.0
"""A transposed convolution and batch normalisation in quantisation-aware training."""

from ... import functional as F
from ...tensor import Tensor
from .. import conv_transpose_bn as Float
from ..module import Module
from .folding import folded, folded_qat
from .module import QATModule, channel_axes


class _ConvTransposeBnActivation2d(Float._ConvTransposeBnActivation2d, QATModule):
    def _prepare(self, observer: Module) -> None:
        weight = self.conv_transpose2d.weight
        observer.for_weight(weight, channel_axes(weight, transpose=True))

    def fold_weight_bias(self, bn_mean: Tensor, bn_var: Tensor) -> tuple[Tensor, Tensor]:
        """The parameters of a convolution that does the normalisation's work, too.

        Args:
            bn_mean: means of the channels.
            bn_var: their variances.
        Returns:
            The weight, on its steps, and the bias.
        """
        weight, bias = folded(
            self.conv_transpose2d, self.bn, transpose=True, statistics=(bn_mean, bn_var)
        )
        return self.apply_quant_weight(weight), bias

    def calc_conv_transpose2d_bn_qat(self, inp: Tensor, approx: bool = True) -> Tensor:
        """The two with weight and bias on their steps.

        Args:
            inp: input of the layer.
            approx: in training mode, fold the weight with the running statistics, not with those
                of the batch.
        """
        part = self.conv_transpose2d
        compute = part.calc_conv_transpose2d
        return folded_qat(self, part, self.bn, inp, compute, transpose=True, approx=approx)


class ConvTransposeBn2d(_ConvTransposeBnActivation2d):
    """``module.ConvTransposeBn2d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> net = QAT.ConvTransposeBn2d.from_float_module(M.ConvTransposeBn2d(3, 4, 1))
        >>> net(F.ones((1, 3, 2, 2))).shape
        (1, 4, 2, 2)
        >>> weight, bias = net.fold_weight_bias(net.bn.running_mean, net.bn.running_var)
        >>> weight.shape, bias.shape
        ((3, 4, 1, 1), (1, 4, 1, 1))
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(self.calc_conv_transpose2d_bn_qat(inp))


class ConvTransposeBnRelu2d(_ConvTransposeBnActivation2d):
    """``module.ConvTransposeBnRelu2d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> net = QAT.ConvTransposeBnRelu2d.from_float_module(M.ConvTransposeBnRelu2d(3, 4, 1))
        >>> net(F.ones((1, 3, 2, 2))).shape
        (1, 4, 2, 2)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(F.relu(self.calc_conv_transpose2d_bn_qat(inp)))
