# SPDX-License-Identifier: Apache-2.0
"""A convolution and batch normalisation in quantisation-aware training."""

from ... import functional as F
from ...tensor import Tensor
from .. import conv_bn as Float
from .folding import FoldingModule


class _ConvBnActivation2d(Float._ConvBnActivation2d, FoldingModule):
    _layer, _compute = "conv", "calc_conv"
    calc_conv_bn_qat = FoldingModule._calc_qat


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
