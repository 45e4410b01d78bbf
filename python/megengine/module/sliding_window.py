# SPDX-License-Identifier: Apache-2.0
"""Windows of an image as modules."""

from .. import functional as F
from ..core.operands import Pair, pair
from ..tensor import Tensor
from .module import Module


class SlidingWindow(Module):
    """``functional.sliding_window``; arguments as there.

    Example:
        >>> SlidingWindow(2)(F.ones((1, 1, 3, 3))).shape
        (1, 1, 2, 2, 2, 2)
    """

    def __init__(
        self, kernel_size: Pair, padding: Pair = 0, stride: Pair = 1, dilation: Pair = 1, **kwargs
    ):
        super().__init__(**kwargs)
        self.kernel_size = pair(kernel_size, "SlidingWindow", "kernel_size")
        self.padding = pair(padding, "SlidingWindow", "padding")
        self.stride = pair(stride, "SlidingWindow", "stride")
        self.dilation = pair(dilation, "SlidingWindow", "dilation")

    def forward(self, inp: Tensor) -> Tensor:
        return F.sliding_window(inp, self.kernel_size, self.padding, self.stride, self.dilation)


class SlidingWindowTranspose(Module):
    """``functional.sliding_window_transpose``; arguments as there.

    Example:
        >>> SlidingWindowTranspose((3, 3), 2)(F.ones((1, 1, 2, 2, 2, 2)))
        Tensor([[[[1. 2. 1.]
           [2. 4. 2.]
           [1. 2. 1.]]]], device=xpux:0)
    """

    def __init__(
        self,
        output_size: Pair,
        kernel_size: Pair,
        padding: Pair = 0,
        stride: Pair = 1,
        dilation: Pair = 1,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.output_size = pair(output_size, "SlidingWindowTranspose", "output_size")
        self.kernel_size = pair(kernel_size, "SlidingWindowTranspose", "kernel_size")
        self.padding = pair(padding, "SlidingWindowTranspose", "padding")
        self.stride = pair(stride, "SlidingWindowTranspose", "stride")
        self.dilation = pair(dilation, "SlidingWindowTranspose", "dilation")

    def forward(self, inp: Tensor) -> Tensor:
        return F.sliding_window_transpose(
            inp, self.output_size, self.kernel_size, self.padding, self.stride, self.dilation
        )
