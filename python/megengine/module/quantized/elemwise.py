# SPDX-License-Identifier: Apache-2.0
"""Quantised elementwise functions."""

from ...functional.elemwise import _elemwise_multi_type
from ...tensor import Tensor
from .module import QuantizedModule


class Elemwise(QuantizedModule):
    """``module.Elemwise`` on quantised Tensors.

    Args:
        method: as of ``module.Elemwise``.
        dtype: of the result.
    Example:
        >>> from megengine.core.tensor.dtype import qint8
        >>> x = Tensor([1.0]).astype(qint8(0.1))
        >>> add = Elemwise("add", dtype=qint8(0.2))
        >>> _ = add.eval()
        >>> add(x, x).astype("float32")
        Tensor([2.], device=xpux:0)
    """

    def __init__(self, method: str, dtype=None, **kwargs):
        super().__init__(**kwargs)
        self.method = method
        self.output_dtype = dtype

    def forward(self, *inps: Tensor) -> Tensor:
        mode = "q" + str(self.method).lower()
        return _elemwise_multi_type(*inps, mode=mode, dtype=self.output_dtype)
