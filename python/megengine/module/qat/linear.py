# SPDX-License-Identifier: Apache-2.0
"""Linear maps in quantisation-aware training."""

from ... import functional as F
from ...tensor import Tensor
from .. import linear as Float
from .module import QATModule


class Linear(Float.Linear, QATModule):
    """``module.Linear`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> net = QAT.Linear.from_float_module(M.Linear(3, 2))
        >>> net(F.ones((1, 3))).shape
        (1, 2)
    """

    def calc_linear_qat(self, inp: Tensor) -> Tensor:
        """The map with weight and bias on their steps."""
        weight = self.apply_quant_weight(self.weight)
        return self.calc_linear(inp, weight, self.apply_quant_bias(self.bias, inp, weight))

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(self.calc_linear_qat(inp))


class LinearRelu(Linear):
    """``module.LinearRelu`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> net = QAT.LinearRelu.from_float_module(M.LinearRelu(3, 2))
        >>> net(F.ones((1, 3))).shape
        (1, 2)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(F.relu(self.calc_linear_qat(inp)))
