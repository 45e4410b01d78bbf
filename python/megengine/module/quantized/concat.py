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
    """

    def __init__(self, dtype=None, **kwargs):
        super().__init__(**kwargs)
        self.output_dtype = dtype

    def forward(self, inps: Sequence[Tensor], axis: int = 0) -> Tensor:
        return F.concat([inp.astype(self.output_dtype) for inp in inps], axis)
