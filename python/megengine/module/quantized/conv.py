# SPDX-License-Identifier: Apache-2.0
"""Quantised convolutions."""

from ...core.operands import Pair, pair
from ...functional import quantized as FQ
from ...tensor import Tensor
from .. import conv as Float
from ..qat import QATModule
from .module import QuantizedModule, converted


@converted("M.Conv2d(3, 4, 1)", "(1, 3, 4, 4)")
class Conv2d(Float.Conv2d, QuantizedModule):
    """``module.Conv2d`` in integers.

    Args:
        in_channels, out_channels, kernel_size, stride, padding: as in ``module.Conv2d``.
        dilation, groups, conv_mode, compute_mode, padding_mode: as in ``module.Conv2d``.
        dtype: of the result.
    """

    _channel_shape = (1, -1, 1, 1)

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Pair,
        stride: Pair = 1,
        padding: Pair = 0,
        dilation: Pair = 1,
        groups: int = 1,
        conv_mode: str = "cross_correlation",
        compute_mode: str = "default",
        dtype=None,
        padding_mode: str = "zeros",
        **kwargs,
    ):
        window = (kernel_size, stride, padding, dilation)
        modes = (conv_mode, compute_mode, padding_mode)
        super().__init__(in_channels, out_channels, *window, groups, True, *modes, **kwargs)
        self.output_dtype = dtype

    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "Conv2d":
        """The quantised form of ``module.qat.Conv2d``."""
        return cls._with_weight(qat_module, qat_module, qat_module.weight, qat_module.bias)

    def calc_conv_quantized(self, inp: Tensor, nonlinear_mode: str = "identity") -> Tensor:
        """The convolution and an activation: ``"identity"`` or ``"relu"``."""
        bias = self._bias_steps(inp)
        inp, padding = self._with_border(inp)
        window = {
            "stride": self.stride,
            "padding": pair(padding, "Conv2d", "padding"),
            "dilation": self.dilation,
            "groups": self.groups,
        }
        operands = (inp, self.weight, bias)
        if self.weight_scale is not None:
            known = (self.weight_scale, self.output_dtype, nonlinear_mode)
            return FQ.convolved_by_channels(*operands, *known, **window)
        modes = {"conv_mode": self.conv_mode, "compute_mode": self.compute_mode}
        return FQ.conv_bias_activation(
            *operands, self.output_dtype, nonlinear_mode=nonlinear_mode, **window, **modes
        )

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_quantized(inp)


@converted("M.ConvRelu2d(3, 4, 1)", "(1, 3, 4, 4)")
class ConvRelu2d(Conv2d):
    """``module.ConvRelu2d`` in integers; arguments as of ``Conv2d``."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_quantized(inp, "relu")


@converted("M.ConvTranspose2d(3, 4, 1)", "(1, 3, 4, 4)")
class ConvTranspose2d(Float.ConvTranspose2d, QuantizedModule):
    """``module.ConvTranspose2d`` in integers.

    Args:
        in_channels, out_channels, kernel_size, stride, padding: as in ``module.ConvTranspose2d``.
        output_padding, dilation, groups, bias: as in ``module.ConvTranspose2d``.
        conv_mode, compute_mode: as in ``module.ConvTranspose2d``.
        dtype: of the result.
    """

    _channel_shape = (1, -1, 1, 1)

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
        dtype=None,
        **kwargs,
    ):
        window = (kernel_size, stride, padding, output_padding, dilation)
        modes = (conv_mode, compute_mode)
        super().__init__(in_channels, out_channels, *window, groups, bias, *modes, **kwargs)
        self.output_dtype = dtype

    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "ConvTranspose2d":
        """The quantised form of ``module.qat.ConvTranspose2d``."""
        return cls._with_weight(qat_module, qat_module, qat_module.weight, qat_module.bias)

    def calc_conv_transpose2d_quantized(
        self, inp: Tensor, nonlinear_mode: str = "identity"
    ) -> Tensor:
        """The transposed convolution and an activation: ``"identity"`` or ``"relu"``."""
        is_whole = self.weight_scale is None
        operands = (inp, self.weight, self._bias_steps(inp))
        window = (self.stride, self.padding, self.output_padding, self.dilation, self.groups)
        modes = (self.conv_mode, self.compute_mode)
        dtype = self.output_dtype if is_whole else None
        out = FQ.conv_transpose2d(*operands, dtype, *window, *modes)
        return self._from_sums(out, nonlinear_mode)

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_transpose2d_quantized(inp)


@converted("M.ConvTransposeRelu2d(3, 4, 1)", "(1, 3, 4, 4)")
class ConvTransposeRelu2d(ConvTranspose2d):
    """``module.ConvTransposeRelu2d`` in integers; arguments as of ``ConvTranspose2d``."""

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_transpose2d_quantized(inp, "relu")
