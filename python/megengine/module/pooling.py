# SPDX-License-Identifier: Apache-2.0
"""Pooling as modules."""

from .. import functional as F
from ..core.operands import Pair
from ..tensor import Tensor
from .module import Module


class MaxPool2d(Module):
    """``functional.max_pool2d``.

    Args:
        kernel_size: size of the window, in pixels.
        stride: step of the window; None: its size.
        padding: border added on each side.
    Example:
        >>> M.MaxPool2d(2)(F.ones((1, 1, 4, 4))).shape
        (1, 1, 2, 2)
    """

    def __init__(self, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0, **kwargs):
        super().__init__(**kwargs)
        self.kernel_size = kernel_size
        self.stride = stride or kernel_size
        self.padding = padding

    def forward(self, inp: Tensor) -> Tensor:
        return F.max_pool2d(inp, self.kernel_size, self.stride, self.padding)

    def _module_info_string(self) -> str:
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool2d(Module):
    """``functional.avg_pool2d``.

    Args:
        kernel_size: size of the window, in pixels.
        stride: step of the window; None: its size.
        padding: zeros added on each side.
        mode: ``"average_count_exclude_padding"`` or ``"average"``.
    Example:
        >>> M.AvgPool2d(2)(F.ones((1, 1, 4, 4))).shape
        (1, 1, 2, 2)
    """

    def __init__(
        self,
        kernel_size: Pair,
        stride: Pair | None = None,
        padding: Pair = 0,
        mode: str = "average_count_exclude_padding",
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.kernel_size = kernel_size
        self.stride = stride or kernel_size
        self.padding = padding
        self.mode = mode

    def forward(self, inp: Tensor) -> Tensor:
        return F.avg_pool2d(inp, self.kernel_size, self.stride, self.padding, self.mode)

    def _module_info_string(self) -> str:
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding},"
            f" mode={self.mode}"
        )
