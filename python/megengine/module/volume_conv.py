# SPDX-License-Identifier: Apache-2.0
"""Convolutions of volumes as modules."""

from .. import functional as F
from ..core.operands import Triple, triple
from ..tensor import Tensor
from .conv_base import _ConvNd, _ConvTransposeNd


class Conv3d(_ConvNd):
    """``functional.conv3d`` with its weight.

    Args:
        in_channels: IC.
        out_channels: OC.
        kernel_size: KD, KH and KW.
        stride, padding, dilation, groups, conv_mode: as in ``functional.conv3d``.
        bias: add a learned bias.
    Raises:
        ValueError: ``groups`` does not divide the channels.
    Example:
        >>> M.Conv3d(3, 8, 3, padding=1)(F.ones((1, 3, 4, 4, 4))).shape
        (1, 8, 4, 4, 4)
    """

    _sizes = staticmethod(triple)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Triple,
        stride: Triple = 1,
        padding: Triple = 0,
        dilation: Triple = 1,
        groups: int = 1,
        bias: bool = True,
        conv_mode: str = "cross_correlation",
    ):
        window = (kernel_size, stride, padding, 0, dilation)
        super().__init__(in_channels, out_channels, *window, groups, bias)
        self.conv_mode = conv_mode

    def calc_conv(self, inp: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with another weight and bias."""
        window = (self.stride, self.padding, self.dilation, self.groups)
        return F.conv3d(inp, weight, bias, *window, self.conv_mode)

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv(inp, self.weight, self.bias)


class ConvTranspose3d(_ConvTransposeNd):
    """``functional.conv_transpose3d`` with its weight.

    Args:
        in_channels: IC.
        out_channels: OC.
        kernel_size: KD, KH and KW.
        stride, padding, output_padding, dilation, groups: as in ``functional.conv_transpose3d``.
        bias: add a learned bias.
    Raises:
        ValueError: ``groups`` does not divide the channels.
    Example:
        >>> M.ConvTranspose3d(3, 8, 2, stride=2)(F.ones((1, 3, 4, 4, 4))).shape
        (1, 8, 8, 8, 8)
    """

    _sizes = staticmethod(triple)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Triple,
        stride: Triple = 1,
        padding: Triple = 0,
        output_padding: Triple = 0,
        dilation: Triple = 1,
        groups: int = 1,
        bias: bool = True,
    ):
        output_padding = triple(output_padding, "ConvTranspose3d", "output_padding")
        window = (kernel_size, stride, padding, output_padding, dilation)
        super().__init__(in_channels, out_channels, *window, groups, bias)

    def forward(self, inp: Tensor) -> Tensor:
        window = (self.stride, self.padding, self.output_padding, self.dilation, self.groups)
        return F.conv_transpose3d(inp, self.weight, self.bias, *window)
