# SPDX-License-Identifier: Apache-2.0
"""Quantised linear maps with a normalisation folded into them."""

from ...tensor import Tensor
from ..qat import QATModule
from ..qat.folding import folded
from .linear import Linear
from .module import converted


class _LinearBnActivation1d(Linear):
    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "Linear":
        """The quantised form of the class of the same name in ``module.qat``."""
        part = qat_module.linear
        return cls._with_weight(qat_module, part, *folded(part, qat_module.bn))


@converted("M.LinearBn1d(3, 2)", "(2, 3)")
class LinearBn1d(_LinearBnActivation1d):
    """``module.LinearBn1d`` in integers."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_linear_quantized(inp)


@converted("M.LinearBnRelu1d(3, 2)", "(2, 3)")
class LinearBnRelu1d(_LinearBnActivation1d):
    """``module.LinearBnRelu1d`` in integers."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_linear_quantized(inp, "relu")
