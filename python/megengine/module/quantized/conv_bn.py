# SPDX-License-Identifier: Apache-2.0
"""Quantised convolutions with a normalisation folded into them."""

from ...tensor import Tensor
from ..qat import QATModule
from ..qat.folding import folded
from .conv import Conv2d


class _ConvBnActivation2d(Conv2d):
    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "Conv2d":
        """The quantised form of the class of the same name in ``module.qat``."""
        part = qat_module.conv
        return cls._with_weight(qat_module, part, *folded(part, qat_module.bn))


class ConvBn2d(_ConvBnActivation2d):
    """``module.ConvBn2d`` in integers; arguments as of ``Conv2d``.

    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.ConvBn2d(3, 4, 1)))
        >>> _ = net(F.ones((1, 3, 4, 4)))
        >>> _ = net.eval()
        >>> net = Q.quantize(net)
        >>> type(net[1]).__module__, type(net[1]).__name__
        ('megengine.module.quantized.conv_bn', 'ConvBn2d')
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_quantized(inp)


class ConvBnRelu2d(_ConvBnActivation2d):
    """``module.ConvBnRelu2d`` in integers; arguments as of ``Conv2d``.

    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.ConvBnRelu2d(3, 4, 1)))
        >>> _ = net(F.ones((1, 3, 4, 4)))
        >>> _ = net.eval()
        >>> net = Q.quantize(net)
        >>> type(net[1]).__module__, type(net[1]).__name__
        ('megengine.module.quantized.conv_bn', 'ConvBnRelu2d')
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_conv_quantized(inp, "relu")
