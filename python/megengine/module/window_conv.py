# SPDX-License-Identifier: Apache-2.0
"""Convolutions whose window or weight differs at every position, as modules."""

from .. import functional as F
from ..core.not_available import NotAvailableError
from ..core.operands import Pair
from ..tensor import Tensor
from .conv_base import _ConvNd


class _WindowConv(_ConvNd):
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
        **kwargs,
    ):
        window = (kernel_size, stride, padding, 0, dilation)
        super().__init__(in_channels, out_channels, *window, groups, bias, **kwargs)
        self.conv_mode, self.compute_mode = conv_mode, compute_mode

    def _arguments(self) -> tuple:
        """The last arguments of the function."""
        window = (self.stride, self.padding, self.dilation, self.groups)
        return (*window, self.conv_mode, self.compute_mode)


class LocalConv2d(_WindowConv):
    """``functional.local_conv2d`` with its weight.

    Args:
        in_channels: IC.
        out_channels: OC.
        input_height, input_width: size of the images.
        kernel_size: KH and KW.
        stride, padding, dilation, groups, conv_mode: as in ``functional.conv2d``.
    Raises:
        ValueError: ``groups`` does not divide the channels.
    Example:
        >>> M.LocalConv2d(2, 3, 5, 5, 3)(F.ones((1, 2, 5, 5))).shape
        (1, 3, 3, 3)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        input_height: int,
        input_width: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        conv_mode: str = "cross_correlation",
        **kwargs,
    ):
        self.input_height, self.input_width = input_height, input_width
        window = (kernel_size, stride, padding, dilation)
        super().__init__(
            in_channels, out_channels, *window, groups, bias=False, conv_mode=conv_mode, **kwargs
        )
        self.padding_mode = "zeros"

    def _infer_weight_shape(self) -> tuple[int, ...]:
        height, width = (
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, p, d, k, s in zip(
                (self.input_height, self.input_width),
                self.padding,
                self.dilation,
                self.kernel_size,
                self.stride,
                strict=True,
            )
        )
        ic, oc, g = self.in_channels, self.out_channels, self.groups
        return (g, height, width, ic // g, *self.kernel_size, oc // g)

    def forward(self, inp: Tensor) -> Tensor:
        window = (self.stride, self.padding, self.dilation)
        return F.local_conv2d(inp, self.weight, None, *window, self.conv_mode)


class DeformableConv2d(_WindowConv):
    """``functional.deformable_conv2d`` with its weight.

    Args:
        in_channels: IC.
        out_channels: OC.
        kernel_size: KH and KW.
        stride, padding, dilation, groups, conv_mode, compute_mode: as in
            ``functional.deformable_conv2d``.
        bias: add a learned bias.
    Raises:
        ValueError: ``groups`` does not divide the channels.
    Example:
        >>> x, offset, mask = F.ones((1, 2, 5, 5)), F.zeros((1, 18, 3, 3)), F.ones((1, 9, 3, 3))
        >>> M.DeformableConv2d(2, 3, 3)(x, offset, mask).shape
        (1, 3, 3, 3)
    """

    def calc_conv(
        self, inp: Tensor, weight: Tensor, offset: Tensor, mask: Tensor, bias: Tensor | None
    ) -> Tensor:
        """The convolution with another weight and bias."""
        return F.deformable_conv2d(inp, weight, offset, mask, bias, *self._arguments())

    def forward(self, inp: Tensor, offset: Tensor, mask: Tensor) -> Tensor:
        return self.calc_conv(inp, self.weight, offset, mask, self.bias)


class RegionRestrictedConv(_WindowConv):
    """``functional.nn.region_restricted_conv`` with its weight.

    Args:
        in_channels, out_channels: C, the same.
        kernel_size: KH and KW.
        groups: C.
        bias: add a learned bias.
        stride, padding, dilation, conv_mode, compute_mode: as in ``functional.conv2d``.
        padding_mode: only ``"zeros"``.
    Raises:
        NotAvailableError: ``padding_mode`` is another one.
        ValueError: ``groups`` does not divide the channels.
    Example:
        >>> same = F.zeros((1, 2, 2)).astype("int32")
        >>> M.RegionRestrictedConv(2, 2, 1, 2)(F.ones((1, 2, 2, 2)), same, same).shape
        (1, 2, 2, 2)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        groups: int = 1,
        bias: bool = True,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        conv_mode: str = "cross_correlation",
        compute_mode: str = "default",
        padding_mode: str = "zeros",
        **kwargs,
    ):
        if padding_mode != "zeros":
            raise NotAvailableError("[RegionRestrictedConv] padding_mode must be 'zeros'")
        window = (kernel_size, stride, padding, dilation)
        modes = (conv_mode, compute_mode)
        super().__init__(in_channels, out_channels, *window, groups, bias, *modes, **kwargs)
        self.padding_mode = padding_mode

    def _infer_weight_shape(self) -> tuple[int, ...]:
        ic, oc, g = self.in_channels, self.out_channels, self.groups
        return (g, oc // g, ic // g, *self.kernel_size)

    def get_pad_width(self) -> tuple[tuple[int, int], ...]:
        """The padding of each axis of (N, C, H, W), before and after.

        Example:
            >>> M.RegionRestrictedConv(2, 2, 3, 2, padding=(1, 2)).get_pad_width()
            ((0, 0), (0, 0), (1, 1), (2, 2))
        """
        return ((0, 0), (0, 0), *((p, p) for p in self.padding))

    def calc_conv(
        self, inp: Tensor, weight: Tensor, rin: Tensor, rout: Tensor, bias: Tensor | None
    ) -> Tensor:
        """The convolution with another weight and bias."""
        return F.nn.region_restricted_conv(inp, weight, rin, rout, bias, *self._arguments())

    def forward(self, inp: Tensor, rin: Tensor, rout: Tensor) -> Tensor:
        return self.calc_conv(inp, self.weight, rin, rout, self.bias)
