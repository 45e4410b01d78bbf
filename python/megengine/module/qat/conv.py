# SPDX-License-Identifier: Apache-2.0
"""Convolutions in quantisation-aware training."""

from ... import functional as F
from ...tensor import Tensor
from .. import conv as Float
from ..module import Module
from .module import QATModule, channel_axes


class Conv2d(Float.Conv2d, QATModule):
    """``module.Conv2d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> QAT.Conv2d.from_float_module(M.Conv2d(3, 4, 1))
        QAT.Conv2d(3, 4, kernel_size=(1, 1))
    """

    def calc_conv_qat(self, inp: Tensor) -> Tensor:
        """The convolution with weight and bias on their steps."""
        weight = self.apply_quant_weight(self.weight)
        return self.calc_conv(inp, weight, self.apply_quant_bias(self.bias, inp, weight))

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(self.calc_conv_qat(inp))


class ConvRelu2d(Conv2d):
    """``module.ConvRelu2d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> QAT.ConvRelu2d.from_float_module(M.ConvRelu2d(3, 4, 1))
        QAT.ConvRelu2d(3, 4, kernel_size=(1, 1))
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(F.relu(self.calc_conv_qat(inp)))


class ConvTranspose2d(Float.ConvTranspose2d, QATModule):
    """``module.ConvTranspose2d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> QAT.ConvTranspose2d.from_float_module(M.ConvTranspose2d(3, 4, 1))
        QAT.ConvTranspose2d(3, 4, kernel_size=(1, 1))
    """

    def _prepare(self, observer: Module) -> None:
        observer.for_weight(self.weight, channel_axes(self.weight, transpose=True))

    def calc_conv_transpose2d_qat(self, inp: Tensor) -> Tensor:
        """The transposed convolution with weight and bias on their steps."""
        weight = self.apply_quant_weight(self.weight)
        bias = self.apply_quant_bias(self.bias, inp, weight)
        return self.calc_conv_transpose2d(inp, weight, bias)

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(self.calc_conv_transpose2d_qat(inp))


class ConvTransposeRelu2d(ConvTranspose2d):
    """``module.ConvTransposeRelu2d`` with weight, bias and result quantised in floats.

    Example:
        >>> import megengine.module.qat as QAT
        >>> QAT.ConvTransposeRelu2d.from_float_module(M.ConvTransposeRelu2d(3, 4, 1))
        QAT.ConvTransposeRelu2d(3, 4, kernel_size=(1, 1))
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.apply_quant_activation(F.relu(self.calc_conv_transpose2d_qat(inp)))
