# SPDX-License-Identifier: Apache-2.0
"""Quantised products of batches of matrices."""

from ... import functional as F
from ...tensor import Tensor
from .. import batch_matmul_activation as Float
from ..qat import QATModule
from .module import QuantizedModule


class BatchMatMulActivation(Float.BatchMatMulActivation, QuantizedModule):
    """``module.BatchMatMulActivation`` in integers.

    Args:
        batch, in_features, out_features, bias, nonlinear_mode: as of
            ``module.BatchMatMulActivation``.
        dtype: of the result.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.BatchMatMulActivation(2, 3, 4)))
        >>> _ = net(F.ones((2, 3, 1)))
        >>> _ = net.eval()
        >>> type(Q.quantize(net)[1]).__module__
        'megengine.module.quantized.batch_matmul_activation'
    """

    _channel_shape = (-1, 1)

    def __init__(
        self,
        batch: int,
        in_features: int,
        out_features: int,
        bias: bool = True,
        nonlinear_mode: str = "identity",
        dtype=None,
        **kwargs,
    ):
        super().__init__(batch, in_features, out_features, bias, nonlinear_mode, **kwargs)
        self.output_dtype = dtype

    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "BatchMatMulActivation":
        """The quantised form of ``module.qat.BatchMatMulActivation``."""
        return cls._with_weight(qat_module, qat_module, qat_module.weight, qat_module.bias)

    def calc_bmm_quantized(self, inp: Tensor) -> Tensor:
        """The product and the activation."""
        bias = self._bias_steps(inp)
        # MegEngine's files have a convolution's shapes: (batch, out, in, 1, 1) and (1, out, 1, 1).
        weight = self.weight.reshape(self.weight.shape[:3])
        sums = F.matmul(weight, inp)
        if bias is not None:
            sums = sums + bias.reshape(-1, 1)
        return self._from_sums(sums, self.nonlinear_mode)

    def forward(self, inp: Tensor) -> Tensor:
        return self.calc_bmm_quantized(inp)
