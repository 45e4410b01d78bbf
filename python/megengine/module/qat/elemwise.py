# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions in quantisation-aware training."""

from ...tensor import Tensor
from .. import elemwise as Float
from .module import QATModule


class Elemwise(Float.Elemwise, QATModule):
    """``module.Elemwise`` with its result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> add = QAT.Elemwise.from_float_module(M.Elemwise("add"))
        >>> add(F.ones(2), F.ones(2))
        Tensor([2. 2.], device=xpux:0)
    """

    with_weight = False

    def forward(self, *inps: Tensor) -> Tensor:
        return self.apply_quant_activation(super().forward(*inps))
