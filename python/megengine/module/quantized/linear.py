# SPDX-License-Identifier: Apache-2.0
"""Quantised linear maps."""

from ... import functional as F
from ...tensor import Tensor
from ..qat import QATModule
from .module import QuantizedModule, converted


@converted("M.Linear(3, 2)", "(1, 3)")
class Linear(QuantizedModule):
    """``module.Linear`` in integers; ``from_qat_module`` sets the weight.

    Args:
        dtype: of the result.
    """

    def __init__(self, dtype=None, **kwargs):
        super().__init__(**kwargs)
        self.weight = None
        self.bias = None
        self.output_dtype = dtype

    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "Linear":
        """The quantised form of ``module.qat.Linear``."""
        return cls._with_weight(qat_module, qat_module, qat_module.weight, qat_module.bias)

    def calc_linear_quantized(self, inp: Tensor, nonlinear_mode: str = "identity") -> Tensor:
        """The map and an activation: ``"identity"`` or ``"relu"``.

        Raises:
            RuntimeError: there is no weight.
        """
        if self.weight is None:
            raise RuntimeError("[Linear] it has no weight: from_qat_module gives it one")
        sums = F.linear(inp, self.weight, self._bias_steps(inp))
        return self._from_sums(sums, nonlinear_mode)

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_linear_quantized(inp)


@converted("M.LinearRelu(3, 2)", "(1, 3)")
class LinearRelu(Linear):
    """``module.LinearRelu`` in integers."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_linear_quantized(inp, "relu")
