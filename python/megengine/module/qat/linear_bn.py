# SPDX-License-Identifier: Apache-2.0
"""A linear map and batch normalisation in quantisation-aware training."""

from ... import functional as F
from ...tensor import Parameter, Tensor
from .. import linear_bn as Float
from ..module import Module
from .folding import folded, folded_qat
from .module import QATModule, channel_axes


class _LinearBnActivation1d(Float._LinearBnActivation1d, QATModule):
    def _prepare(self, observer: Module) -> None:
        weight = self.linear.weight
        observer.for_weight(weight, channel_axes(weight))

    @classmethod
    def from_float_module(cls, float_module: Module) -> QATModule:
        """Make the module; its own unused ``bias`` starts at 0 as in MegEngine."""
        made = super().from_float_module(float_module)
        if made.bias is not None:
            made.bias = Parameter(F.zeros_like(made.bias))
        return made

    def fold_weight_bias(self, bn_mean: Tensor, bn_var: Tensor) -> tuple[Tensor, Tensor]:
        """The parameters of a layer that does the normalisation's work, too.

        Args:
            bn_mean: means of the channels.
            bn_var: their variances.
        Returns:
            The weight, on its steps, and the bias.
        """
        weight, bias = folded(self.linear, self.bn, statistics=(bn_mean, bn_var))
        return self.apply_quant_weight(weight), bias

    def calc_linear_bn_qat(self, inp: Tensor, approx: bool = True) -> Tensor:
        """The two with weight and bias on their steps.

        Args:
            inp: input of the layer.
            approx: in training mode, fold the weight with the running statistics, not with those
                of the batch.
        """
        part = self.linear
        return folded_qat(self, part, self.bn, inp, part.calc_linear, approx=approx)


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
