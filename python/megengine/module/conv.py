# SPDX-License-Identifier: Apache-2.0
"""Convolutions as modules.

Weights start normal with standard deviation sqrt(1 / (IC * KH * KW)), all input channels counted
even with groups; biases start at zero.
"""

from .. import functional as F
from ..core.operands import Pair, is_whole, pair
from ..core.public_home import set_public_home
from ..tensor import Tensor
from .conv_base import _ConvNd, _ConvTransposeNd, _PaddedConv  # noqa: F401
from .volume_conv import Conv3d, ConvTranspose3d
from .window_conv import DeformableConv2d, LocalConv2d, RegionRestrictedConv

set_public_home(
    __name__, Conv3d, ConvTranspose3d, DeformableConv2d, LocalConv2d, RegionRestrictedConv
)


def _single(size: int, who: str, argument: str) -> int:
    if is_whole(size):
        return int(size)  # also one of NumPy
    if isinstance(size, str) and argument == "padding":
        pair(size, who, argument)  # raises an error that describes valid values
    return size


class Conv1d(_PaddedConv):
    """``functional.conv1d`` with its weight.

    Args:
        in_channels: IC.
        out_channels: OC.
        kernel_size: K.
        stride, padding, dilation, groups, conv_mode, compute_mode: as in ``functional.conv1d``.
        bias: add a learned bias.
        padding_mode: ``"zeros"``, ``"reflect"`` or ``"replicate"``.
    Raises:
        ValueError: ``groups`` does not divide the channels.
        AssertionError: ``padding_mode`` is unknown.
    Example:
        >>> M.Conv1d(2, 4, 3)(F.ones((1, 2, 7))).shape
        (1, 4, 5)
    """

    _convolve = staticmethod(F.conv1d)
    _sizes = staticmethod(_single)


class Conv2d(_PaddedConv):
    """``functional.conv2d`` with its weight.

    Args:
        in_channels: IC.
        out_channels: OC.
        kernel_size: KH and KW.
        stride, padding, dilation, groups, conv_mode, compute_mode: as in ``functional.conv2d``.
        bias: add a learned bias.
        padding_mode: ``"zeros"``, ``"reflect"`` or ``"replicate"``.
    Raises:
        ValueError: ``groups`` does not divide the channels.
        AssertionError: ``padding_mode`` is unknown.
    Example:
        >>> M.Conv2d(3, 8, 3, padding=1)(F.ones((1, 3, 4, 4))).shape
        (1, 8, 4, 4)
    """

    _convolve = staticmethod(F.conv2d)


class ConvTranspose2d(_ConvTransposeNd):
    """``functional.conv_transpose2d`` with its weight.

    Args:
        in_channels: IC.
        out_channels: OC.
        kernel_size: KH and KW.
        stride, padding, output_padding, dilation, groups, conv_mode, compute_mode: as in
            ``functional.conv_transpose2d``.
        bias: add a learned bias.
    Raises:
        ValueError: ``groups`` does not divide the channels.
    Example:
        >>> M.ConvTranspose2d(3, 8, 2, stride=2)(F.ones((1, 3, 4, 4))).shape
        (1, 8, 8, 8)
    """

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
        **kwargs,
    ):
        output_padding = pair(output_padding, "ConvTranspose2d", "output_padding")
        window = (kernel_size, stride, padding, output_padding, dilation)
        super().__init__(in_channels, out_channels, *window, groups, bias, **kwargs)
        self.conv_mode, self.compute_mode = conv_mode, compute_mode

    def calc_conv_transpose2d(self, inp: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The transposed convolution with another weight and bias."""
        window = (self.stride, self.padding, self.output_padding, self.dilation, self.groups)
        return F.conv_transpose2d(inp, weight, bias, *window, self.conv_mode, self.compute_mode)

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_transpose2d(inp, self.weight, self.bias)


class ConvRelu2d(Conv2d):
    """``Conv2d`` and ReLU, to be quantised as one.

    Example:
        >>> ConvRelu2d(3, 8, 3, padding=1)(F.ones((1, 3, 4, 4))).shape
        (1, 8, 4, 4)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return F.relu(self.calc_conv(inp, self.weight, self.bias))


class ConvTransposeRelu2d(ConvTranspose2d):
    """``ConvTranspose2d`` and ReLU, to be quantised as one.

    Example:
        >>> ConvTransposeRelu2d(3, 8, 2, stride=2)(F.ones((1, 3, 4, 4))).shape
        (1, 8, 8, 8)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return F.relu(self.calc_conv_transpose2d(inp, self.weight, self.bias))
