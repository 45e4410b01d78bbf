# SPDX-License-Identifier: Apache-2.0
"""A convolution and batch normalisation, to be quantised as one."""

from .. import functional as F
from ..core.operands import Pair
from ..tensor import Tensor
from .batchnorm import BatchNorm2d
from .conv import Conv2d
from .module import Module


class _ConvBnActivation2d(Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        conv_mode: str = "cross_correlation",
        compute_mode: str = "default",
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        track_running_stats: bool = True,
        padding_mode: str = "zeros",
        **kwargs,
    ):
        super().__init__(**kwargs)
        window = (kernel_size, stride, padding, dilation)
        modes = (conv_mode, compute_mode, padding_mode)
        self.conv = Conv2d(in_channels, out_channels, *window, groups, bias, *modes)
        self.bn = BatchNorm2d(out_channels, eps, momentum, affine, track_running_stats)


class ConvBn2d(_ConvBnActivation2d):
    """``Conv2d`` and ``BatchNorm2d``, with the arguments of both.

    Example:
        >>> ConvBn2d(3, 8, 3, padding=1)(F.ones((1, 3, 4, 4))).shape
        (1, 8, 4, 4)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.bn(self.conv(inp))


class ConvBnRelu2d(_ConvBnActivation2d):
    """``Conv2d``, ``BatchNorm2d`` and ReLU, with the arguments of the first two.

    Example:
        >>> ConvBnRelu2d(3, 8, 3, padding=1)(F.ones((1, 3, 4, 4))).shape
        (1, 8, 4, 4)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv(inp)))
