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
    Example:
        >>> AdaptiveMaxPool2d(2)(F.arange(16).reshape(1, 1, 4, 4))
        Tensor([[[[ 5.  7.]
           [13. 15.]]]], device=xpux:0)
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
    Example:
        >>> AdaptiveAvgPool2d(2)(F.arange(16).reshape(1, 1, 4, 4))
        Tensor([[[[ 2.5  4.5]
           [10.5 12.5]]]], device=xpux:0)
    """

    def __init__(self, oshp: Pair | Tensor, **kwargs):
        super().__init__(**kwargs)
        self.oshp = oshp

    def forward(self, inp: Tensor) -> Tensor:
        return F.adaptive_avg_pool2d(inp, self.oshp)
