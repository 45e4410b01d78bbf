# SPDX-License-Identifier: Apache-2.0
"""Joining as a module."""

from collections.abc import Sequence

from .. import functional as F
from ..tensor import Tensor
from .module import Module


class Concat(Module):
    """``functional.concat``, to be quantised.

    Example:
        >>> Concat()([Tensor([1.0]), Tensor([2.0])])
        Tensor([1. 2.], device=xpux:0)
    """

    def forward(self, inps: Sequence[Tensor], axis: int = 0) -> Tensor:
        return F.concat(inps, axis)
