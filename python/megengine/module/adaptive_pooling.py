# SPDX-License-Identifier: Apache-2.0
"""Adaptive pooling as modules."""

from .. import functional as F
from ..core.operands import Pair
from ..tensor import Tensor
from .module import Module


class AdaptiveMaxPool2d(Module):
    """``functional.adaptive_max_pool2d``.

    Args:
        oshp: rows and columns of the result.
    """

    def __init__(self, oshp: Pair | Tensor, **kwargs):
        super().__init__(**kwargs)
        self.oshp = oshp

    def forward(self, inp: Tensor) -> Tensor:
        return F.adaptive_max_pool2d(inp, self.oshp)


class AdaptiveAvgPool2d(Module):
    """``functional.adaptive_avg_pool2d``.

    Args:
        oshp: rows and columns of the result.
    """

    def __init__(self, oshp: Pair | Tensor, **kwargs):
        super().__init__(**kwargs)
        self.oshp = oshp

    def forward(self, inp: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(inp, self.oshp)
