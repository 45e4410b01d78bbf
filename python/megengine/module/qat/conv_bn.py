# SPDX-License-Identifier: Apache-2.0
"""A convolution and batch normalisation in quantisation-aware training."""

from ... import functional as F
from ...tensor import Tensor
from .. import conv_bn as Float
from ..module import Module
from .folding import folded, folded_qat
from .module import QATModule, channel_axes


class _ConvBnActivation2d(Float._ConvBnActivation2d, QATModule):
    def _prepare(self, observer: Module) -> None:
        weight = self.conv.weight
        observer.for_weight(weight, channel_axes(weight))

    def fold_weight_bias(self, bn_mean: Tensor, bn_var: Tensor) -> tuple[Tensor, Tensor]:
        """The parameters of a convolution that does the normalisation's work, too.

        Args:
            bn_mean: means of the channels.
            bn_var: their variances.
        Returns:
            The weight, on its steps, and the bias.
        """
        weight, bias = folded(self.conv, self.bn, statistics=(bn_mean, bn_var))
        return self.apply_quant_weight(weight), bias

    def calc_conv_bn_qat(self, inp: Tensor, approx: bool = True) -> Tensor:
        """The two with weight and bias on their steps.

        Args:
            inp: input of the layer.
            approx: in training mode, fold the weight with the running statistics, not with those
                of the batch.
        """
        return folded_qat(self, self.conv, self.bn, inp, self.conv.calc_conv, approx=approx)


class ConvBn2d(_ConvBnActivation2d):
    """``module.ConvBn2d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> net = QAT.ConvBn2d.from_float_module(M.ConvBn2d(3, 4, 1))
        >>> net(F.ones((1, 3, 2, 2))).shape
        (1, 4, 2, 2)
        >>> weight, bias = net.fold_weight_bias(net.bn.running_mean, net.bn.running_var)
        >>> weight.shape, bias.shape
        ((4, 3, 1, 1), (1, 4, 1, 1))
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(self.calc_conv_bn_qat(inp))


class ConvBnRelu2d(_ConvBnActivation2d):
    """``module.ConvBnRelu2d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> net = QAT.ConvBnRelu2d.from_float_module(M.ConvBnRelu2d(3, 4, 1))
        >>> net(F.ones((1, 3, 2, 2))).shape
        (1, 4, 2, 2)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(F.relu(self.calc_conv_bn_qat(inp)))
