# SPDX-License-Identifier: Apache-2.0
"""Quantised linear maps with a normalisation folded into them."""

from ...tensor import Tensor
from ..qat import QATModule
from ..qat.folding import folded
from .linear import Linear


class _LinearBnActivation1d(Linear):
    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "Linear":
        """The quantised form of the class of the same name in ``module.qat``."""
        part = qat_module.linear
        return cls._with_weight(qat_module, part, *folded(part, qat_module.bn))


class LinearBn1d(_LinearBnActivation1d):
    """``module.LinearBn1d`` in integers.

    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.LinearBn1d(3, 2)))
        >>> _ = net(F.ones((2, 3)))
        >>> _ = net.eval()
        >>> net = Q.quantize(net)
        >>> type(net[1]).__module__, type(net[1]).__name__
        ('megengine.module.quantized.linear_bn', 'LinearBn1d')
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_linear_quantized(inp)


class LinearBnRelu1d(_LinearBnActivation1d):
    """``module.LinearBnRelu1d`` in integers.

    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.LinearBnRelu1d(3, 2)))
        >>> _ = net(F.ones((2, 3)))
        >>> _ = net.eval()
        >>> net = Q.quantize(net)
        >>> type(net[1]).__module__, type(net[1]).__name__
        ('megengine.module.quantized.linear_bn', 'LinearBnRelu1d')
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_linear_quantized(inp, "relu")
