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
        super().__init__(
            in_channels,
            out_channels,
            triple(kernel_size, "Conv3d", "kernel_size"),
            triple(stride, "Conv3d", "stride"),
            triple(padding, "Conv3d", "padding"),
            0,
            triple(dilation, "Conv3d", "dilation"),
            groups,
            bias,
        )
        self.conv_mode = conv_mode

    def calc_conv(self, inp: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with another weight and bias."""
        return F.conv3d(
            inp,
            weight,
            bias,
            self.stride,
            self.padding,
            self.dilation,
            self.groups,
            self.conv_mode,
        )

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
        super().__init__(
            in_channels,
            out_channels,
            triple(kernel_size, "ConvTranspose3d", "kernel_size"),
            triple(stride, "ConvTranspose3d", "stride"),
            triple(padding, "ConvTranspose3d", "padding"),
            triple(output_padding, "ConvTranspose3d", "output_padding"),
            triple(dilation, "ConvTranspose3d", "dilation"),
            groups,
            bias,
        )

    def forward(self, inp: Tensor) -> Tensor:
        return F.conv_transpose3d(
            inp,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            self.output_padding,
            self.dilation,
            self.groups,
        )
