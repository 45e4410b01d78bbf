# SPDX-License-Identifier: Apache-2.0
"""Quantised joining."""

from collections.abc import Sequence

from ... import functional as F
from ...tensor import Tensor
from .module import QuantizedModule


class Concat(QuantizedModule):
    """``module.Concat`` on quantised Tensors.

    Args:
        dtype: of the result.
    Example:
        >>> from megengine.core.tensor.dtype import qint8
        >>> join = Concat(dtype=qint8(0.1))
        >>> _ = join.eval()
        >>> x, y = Tensor([1.0]).astype(qint8(0.1)), Tensor([2.0]).astype(qint8(0.2))
        >>> join([x, y]).astype("float32")
        Tensor([1. 2.], device=xpux:0)
    """

    def __init__(self, dtype=None, **kwargs):
        super().__init__(**kwargs)
        self.output_dtype = dtype

    def forward(self, inps: Sequence[Tensor], axis: int = 0) -> Tensor:
        return F.concat([inp.astype(self.output_dtype) for inp in inps], axis)
