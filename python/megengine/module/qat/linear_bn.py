# SPDX-License-Identifier: Apache-2.0
"""A linear map and batch normalisation in quantisation-aware training."""

from ... import functional as F
from ...tensor import Parameter, Tensor
from .. import linear_bn as Float
from ..module import Module
from .folding import FoldingModule
from .module import QATModule


class _LinearBnActivation1d(Float._LinearBnActivation1d, FoldingModule):
    _layer, _compute = "linear", "calc_linear"
    calc_linear_bn_qat = FoldingModule._calc_qat

    @classmethod
    def from_float_module(cls, float_module: Module) -> QATModule:
        """Make the module; its own unused ``bias`` starts at 0 as in MegEngine."""
        made = super().from_float_module(float_module)
        if made.bias is not None:
            made.bias = Parameter(F.zeros_like(made.bias))
        return made


class LinearBn1d(_LinearBnActivation1d):
    """``module.LinearBn1d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> net = QAT.LinearBn1d.from_float_module(M.LinearBn1d(3, 2))
        >>> net(F.ones((2, 3))).shape
        (2, 2)
        >>> weight, bias = net.fold_weight_bias(net.bn.running_mean, net.bn.running_var)
        >>> weight.shape, bias.shape
        ((2, 3), (2,))
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(self.calc_linear_bn_qat(inp))


class LinearBnRelu1d(_LinearBnActivation1d):
    """``module.LinearBnRelu1d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> net = QAT.LinearBnRelu1d.from_float_module(M.LinearBnRelu1d(3, 2))
        >>> net(F.ones((2, 3))).shape
        (2, 2)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(F.relu(self.calc_linear_bn_qat(inp)))
