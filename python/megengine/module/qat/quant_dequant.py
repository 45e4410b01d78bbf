# SPDX-License-Identifier: Apache-2.0
"""Where the quantised part begins and ends, in quantisation-aware training."""

from ...tensor import Tensor
from .. import quant_dequant as Float
from .module import QATModule


class QuantStub(Float.QuantStub, QATModule):
    """``module.QuantStub`` that quantises its input in floats."""

    with_weight = False

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(inp)


class DequantStub(Float.DequantStub, QATModule):
    """``module.DequantStub``: it returns its input."""

    with_weight = False
    with_act = False
