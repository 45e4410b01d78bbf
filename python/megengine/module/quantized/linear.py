# SPDX-License-Identifier: Apache-2.0
"""Quantised linear maps."""

from ... import functional as F
from ...tensor import Tensor
from ..qat import QATModule
from .module import QuantizedModule


class Linear(QuantizedModule):
    """``module.Linear`` in integers; ``from_qat_module`` gives it a weight.

    Args:
        dtype: of the result.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.Linear(3, 2)))
        >>> _ = net(F.ones((1, 3)))
        >>> _ = net.eval()
        >>> net = Q.quantize(net)
        >>> type(net[1]).__module__, type(net[1]).__name__
        ('megengine.module.quantized.linear', 'Linear')
    """

    def __init__(self, dtype=None, **kwargs):
        super().__init__(**kwargs)
        self.weight = None
        self.bias = None
        self.output_dtype = dtype

    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "Linear":
        """The quantised form of ``module.qat.Linear``."""
        return cls._with_weight(qat_module, qat_module, qat_module.weight, qat_module.bias)

    def calc_linear_quantized(self, inp: Tensor, nonlinear_mode: str = "identity") -> Tensor:
        """The map and an activation: ``"identity"`` or ``"relu"``.

        Raises:
            RuntimeError: there is no weight.
        """
        if self.weight is None:
            raise RuntimeError("[Linear] it has no weight: from_qat_module gives it one")
        sums = F.linear(inp, self.weight, self._bias_steps(inp))
        return self._from_sums(sums, nonlinear_mode)

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_linear_quantized(inp)


class LinearRelu(Linear):
    """``module.LinearRelu`` in integers.

    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.LinearRelu(3, 2)))
        >>> _ = net(F.ones((1, 3)))
        >>> _ = net.eval()
        >>> net = Q.quantize(net)
        >>> type(net[1]).__module__, type(net[1]).__name__
        ('megengine.module.quantized.linear', 'LinearRelu')
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_linear_quantized(inp, "relu")
