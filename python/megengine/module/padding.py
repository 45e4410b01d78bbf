# SPDX-License-Identifier: Apache-2.0
"""Borders as a module."""

from collections.abc import Sequence

from .. import functional as F
from ..tensor import Tensor
from .module import Module


class Pad(Module):
    """``functional.nn.pad``.

    Args:
        pad_width: for each axis how many elements to add before and after.
        mode: ``"constant"``, ``"reflect"`` or ``"replicate"``.
        constant_val: value of a constant border.
    Example:
        >>> Pad(((1, 0), (0, 2)))(F.ones((1, 2)))
        Tensor([[0. 0. 0. 0.]
         [1. 1. 0. 0.]], device=xpux:0)
    """

    def __init__(
        self, pad_width: Sequence[Sequence[int]], mode: str = "constant", constant_val: float = 0.0
    ):
        super().__init__()
        self.pad_width = pad_width
        self.mode = mode
        self.pad_val = constant_val

    def forward(self, src: Tensor) -> Tensor:
        return F.nn.pad(src, self.pad_width, self.mode, self.pad_val)
