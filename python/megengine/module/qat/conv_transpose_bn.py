# SPDX-License-Identifier: Apache-2.0
"""A transposed convolution and batch normalisation in quantisation-aware training."""

from ... import functional as F
from ...tensor import Tensor
from .. import conv_transpose_bn as Float
from .folding import FoldingModule


class _ConvTransposeBnActivation2d(Float._ConvTransposeBnActivation2d, FoldingModule):
    _layer, _compute = "conv_transpose2d", "calc_conv_transpose2d"
    _transpose = True
    calc_conv_transpose2d_bn_qat = FoldingModule._calc_qat


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
