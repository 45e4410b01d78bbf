# SPDX-License-Identifier: Apache-2.0
"""A transposed convolution and batch normalisation, to be quantised as one."""

from .. import functional as F
from ..core.operands import Pair
from ..tensor import Tensor
from .batchnorm import BatchNorm2d
from .conv import ConvTranspose2d
from .module import Module


class _ConvTransposeBnActivation2d(Module):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        output_padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        bias: bool = True,
        conv_mode: str = "cross_correlation",
        compute_mode: str = "default",
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        track_running_stats: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        window = (kernel_size, stride, padding, output_padding, dilation)
        self.conv_transpose2d = ConvTranspose2d(
            in_channels, out_channels, *window, groups, bias, conv_mode, compute_mode
        )
        self.bn = BatchNorm2d(out_channels, eps, momentum, affine, track_running_stats)


class ConvTransposeBn2d(_ConvTransposeBnActivation2d):
    """``ConvTranspose2d`` and ``BatchNorm2d``, with the arguments of both.

    Example:
        >>> ConvTransposeBn2d(3, 8, 2, stride=2)(F.ones((1, 3, 4, 4))).shape
        (1, 8, 8, 8)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.bn(self.conv_transpose2d(inp))


class ConvTransposeBnRelu2d(_ConvTransposeBnActivation2d):
    """``ConvTranspose2d``, ``BatchNorm2d`` and ReLU, with the arguments of the first two.

    Example:
        >>> ConvTransposeBnRelu2d(3, 8, 2, stride=2)(F.ones((1, 3, 4, 4))).shape
        (1, 8, 8, 8)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return F.relu(self.bn(self.conv_transpose2d(inp)))
