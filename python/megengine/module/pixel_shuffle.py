# SPDX-License-Identifier: Apache-2.0
"""Channels turned into pixels, as a module."""

from .. import functional as F
from ..tensor import Tensor
from .module import Module


class PixelShuffle(Module):
    """``functional.pixel_shuffle``.

    Args:
        upscale_factor: how many times larger the image gets.
    Example:
        >>> PixelShuffle(2)(F.arange(4).reshape(1, 4, 1, 1))
        Tensor([[[[0. 1.]
           [2. 3.]]]], device=xpux:0)
    """

    def __init__(self, upscale_factor: int, **kwargs):
        super().__init__(**kwargs)
        self.upscale_factor = upscale_factor

    def forward(self, x: Tensor) -> Tensor:
        return F.pixel_shuffle(x, self.upscale_factor)
