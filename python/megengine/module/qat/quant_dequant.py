# SPDX-License-Identifier: Apache-2.0
"""Start and end of the quantised part in quantisation-aware training."""

from ...tensor import Tensor
from .. import quant_dequant as Float
from .module import QATModule


class QuantStub(Float.QuantStub, QATModule):
    """``module.QuantStub`` that quantises its input in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> QAT.QuantStub.from_float_module(M.QuantStub())(F.ones(2))
        Tensor([1. 1.], device=xpux:0)
    """

    with_weight = False

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(inp)


class DequantStub(Float.DequantStub, QATModule):
    """``module.DequantStub``: it returns its input.

    Example:
        >>> import megengine.module.qat as QAT
        >>> QAT.DequantStub.from_float_module(M.DequantStub())(F.ones(2))
        Tensor([1. 1.], device=xpux:0)
    """

    with_weight = False
    with_act = False
