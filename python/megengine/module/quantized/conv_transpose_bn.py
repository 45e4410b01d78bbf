# SPDX-License-Identifier: Apache-2.0
"""Quantised transposed convolutions with a normalisation folded into them."""

from ...tensor import Tensor
from ..qat import QATModule
from ..qat.folding import folded
from .conv import ConvTranspose2d
from .module import converted


class _ConvTransposeBnActivation2d(ConvTranspose2d):
    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "ConvTranspose2d":
        """The quantised form of the class of the same name in ``module.qat``."""
        part = qat_module.conv_transpose2d
        return cls._with_weight(qat_module, part, *folded(part, qat_module.bn, transpose=True))


@converted("M.ConvTransposeBn2d(3, 4, 1)", "(1, 3, 4, 4)")
class ConvTransposeBn2d(_ConvTransposeBnActivation2d):
    """``module.ConvTransposeBn2d`` in integers; arguments as of ``ConvTranspose2d``."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_transpose2d_quantized(inp)


@converted("M.ConvTransposeBnRelu2d(3, 4, 1)", "(1, 3, 4, 4)")
class ConvTransposeBnRelu2d(_ConvTransposeBnActivation2d):
    """``module.ConvTransposeBnRelu2d`` in integers; arguments as of ``ConvTranspose2d``."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_transpose2d_quantized(inp, "relu")
