# SPDX-License-Identifier: Apache-2.0
"""Joining in quantisation-aware training."""

from collections.abc import Sequence

from ...tensor import Tensor
from .. import concat as Float
from .module import QATModule


class Concat(Float.Concat, QATModule):
    """``module.Concat`` with its result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> join = QAT.Concat.from_float_module(M.Concat())
        >>> join([F.ones(1), F.zeros(1)])
        Tensor([1. 0.], device=xpux:0)
    """

    def forward(self, inps: Sequence[Tensor], axis: int = 0) -> Tensor:
        return self.apply_quant_activation(super().forward(inps, axis))
