# SPDX-License-Identifier: Apache-2.0
"""Transitions of a quantised net between floats and integers."""

from ...tensor import Tensor
from .module import QuantizedModule


class QuantStub(QuantizedModule):
    """Quantise floats to steps.

    Args:
        dtype: of the result.
    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub()))
        >>> _ = net(F.ones(2))
        >>> _ = net.eval()
        >>> Q.quantize(net)(F.ones(2)).dtype
        dtype('int8')
    """

    def __init__(self, dtype=None, **kwargs):
        super().__init__(**kwargs)
        self.output_dtype = dtype

    def forward(self, inp: Tensor) -> Tensor:
        return inp.astype(self.output_dtype)


class DequantStub(QuantizedModule):
    """Dequantise steps to floats.

    Example:
        >>> import megengine.quantization as Q
        >>> net = Q.quantize_qat(M.Sequential(M.QuantStub(), M.DequantStub()))
        >>> _ = net(F.ones(2))
        >>> _ = net.eval()
        >>> Q.quantize(net)(F.ones(2))
        Tensor([0.9961 0.9961], device=xpux:0)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return inp.astype("float32")
