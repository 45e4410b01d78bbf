# SPDX-License-Identifier: Apache-2.0
"""Base classes of convolution modules."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from .. import functional as F
from ..core.operands import Pair, at_least, pair
from ..tensor import Parameter, Tensor
from . import init
from .module import Module

_PADDING_MODES = ("zeros", "reflect", "replicate")


class _ConvNd(Module):
    """Windows of several axes; ``_sizes`` makes a size for each axis from an argument."""

    _sizes: Callable[..., Any] = staticmethod(pair)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size,
        stride,
        padding,
        output_padding,
        dilation,
        groups: int,
        bias: bool,
        **kwargs,
    ):
        super().__init__(**kwargs)
        who = type(self).__name__
        kernel_size = self._sizes(kernel_size, who, "kernel_size")
        stride = self._sizes(stride, who, "stride")
        padding = self._sizes(padding, who, "padding")
        dilation = self._sizes(dilation, who, "dilation")
        at_least(who, 0, in_channels=in_channels, out_channels=out_channels)
        at_least(who, 1, kernel_size=kernel_size, groups=groups)
        at_least(who, 1, stride=stride, dilation=dilation)
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = kernel_size
        self.stride = stride
        self.padding = padding
        self.output_padding = output_padding
        self.dilation = dilation
        self.groups = groups
        self.weight = Parameter(np.zeros(self._infer_weight_shape(), np.float32))
        self.bias = None
        if bias:
            self.bias = Parameter(np.zeros(self._infer_bias_shape(), np.float32))
        self.reset_parameters()

    def _window(self) -> tuple[int, ...]:
        return (self.kernel_size,) if isinstance(self.kernel_size, int) else self.kernel_size

    def _infer_weight_shape(self) -> tuple[int, ...]:
        return self._by_groups(self.out_channels, self.in_channels)

    def _by_groups(self, rows: int, columns: int) -> tuple[int, ...]:
        g = self.groups
        shape = (rows // g, columns // g, *self._window())
        return shape if g == 1 else (g, *shape)

    def _infer_bias_shape(self) -> tuple[int, ...]:
        return (1, self.out_channels, *(1 for _ in self._window()))

    def _get_fanin(self) -> int:
        return self.in_channels * math.prod(self._window())

    def reset_parameters(self) -> None:
        """Draw the weight again and set the bias to zero."""
        init.normal_(self.weight, 0.0, init.root_of_ratio(1.0, self._get_fanin()))
        if self.bias is not None:
            init.zeros_(self.bias)

    def _module_info_string(self) -> str:
        rank = len(self._window())

        def differs(value, usual: int) -> bool:
            return value not in (usual, (usual,) * rank)

        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        if differs(self.stride, 1):
            text += f", stride={self.stride}"
        if differs(self.padding, 0):
            text += f", padding={self.padding}"
        if differs(self.dilation, 1):
            text += f", dilation={self.dilation}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        return text


class _ConvTransposeNd(_ConvNd):
    def _infer_weight_shape(self) -> tuple[int, ...]:
        return self._by_groups(self.in_channels, self.out_channels)

    def _get_fanin(self) -> int:
        return self.out_channels * math.prod(self._window())


class _PaddedConv(_ConvNd):
    """A convolution with a padding mode other than zeros, by the function ``_convolve``."""

    _convolve: Callable[..., Tensor]

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
        padding_mode: str = "zeros",
        **kwargs,
    ):
        window = (kernel_size, stride, padding, 0, dilation)
        super().__init__(in_channels, out_channels, *window, groups, bias, **kwargs)
        self.conv_mode, self.compute_mode = conv_mode, compute_mode
        assert padding_mode in _PADDING_MODES, (
            f"[{type(self).__name__}] padding_mode must be in {_PADDING_MODES},"
            f" got {padding_mode!r}"
        )
        self.padding_mode = padding_mode

    def get_pad_witdth(self) -> tuple[tuple[int, int], ...]:
        """Widths of the border for ``functional.nn.pad``."""
        padding = (self.padding,) if isinstance(self.padding, int) else self.padding
        return ((0, 0), (0, 0), *((p, p) for p in padding))

    def _with_border(self, inp: Tensor) -> tuple[Tensor, Pair]:
        """The input, and the padding that is left to the convolution."""
        if self.padding_mode == "zeros":
            return inp, self.padding
        return F.nn.pad(inp, self.get_pad_witdth(), self.padding_mode), 0

    def calc_conv(self, inp: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with another weight and bias."""
        inp, padding = self._with_border(inp)
        window = (self.stride, padding, self.dilation, self.groups)
        return self._convolve(inp, weight, bias, *window, self.conv_mode, self.compute_mode)

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv(inp, self.weight, self.bias)
