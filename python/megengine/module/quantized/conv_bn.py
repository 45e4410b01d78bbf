# SPDX-License-Identifier: Apache-2.0
"""Quantised convolutions with a normalisation folded into them."""

from ...tensor import Tensor
from ..qat import QATModule
from ..qat.folding import folded
from .conv import Conv2d
from .module import converted


class _ConvBnActivation2d(Conv2d):
    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "Conv2d":
        """The quantised form of the class of the same name in ``module.qat``."""
        part = qat_module.conv
        return cls._with_weight(qat_module, part, *folded(part, qat_module.bn))


@converted("M.ConvBn2d(3, 4, 1)", "(1, 3, 4, 4)")
class ConvBn2d(_ConvBnActivation2d):
    """``module.ConvBn2d`` in integers; arguments as of ``Conv2d``."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_quantized(inp)


@converted("M.ConvBnRelu2d(3, 4, 1)", "(1, 3, 4, 4)")
class ConvBnRelu2d(_ConvBnActivation2d):
    """``module.ConvBnRelu2d`` in integers; arguments as of ``Conv2d``."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_quantized(inp, "relu")
