# SPDX-License-Identifier: Apache-2.0
"""Batched matrix products in quantisation-aware training."""

from ...tensor import Tensor
from .. import batch_matmul_activation as Float
from ..module import Module
from .module import QATModule


class BatchMatMulActivation(Float.BatchMatMulActivation, QATModule):
    """``module.BatchMatMulActivation`` with weight, bias and result quantised in floats.

    ``from_float_module`` drops the activation, as in MegEngine: the new module, and its result of
    ``quantize``, have ``nonlinear_mode="identity"``.

    Example:
        >>> import megengine.module.qat as QAT
        >>> layer = M.BatchMatMulActivation(2, 3, 4)
        >>> QAT.BatchMatMulActivation.from_float_module(layer)(F.ones((2, 3, 1))).shape
        (2, 4, 1)
    """

    def _prepare(self, observer: Module) -> None:
        observer.for_weight(self.weight, (1,))

    def forward(self, inp: Tensor) -> Tensor:
        weight = self.apply_quant_weight(self.weight)
        bias = self.apply_quant_bias(self.bias, inp, weight)
        return self.apply_quant_activation(self.calc_bmm(inp, weight, bias))

    @classmethod
    def from_float_module(cls, float_module: Module) -> "BatchMatMulActivation":
        """The module of this class with the weight and bias of a float one, but no activation."""
        made = super().from_float_module(float_module)
        made.nonlinear_mode = "identity"
        return made
