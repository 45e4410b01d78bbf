# SPDX-License-Identifier: Apache-2.0
"""Where a quantised net goes from floats to integers and back."""

from ...tensor import Tensor
from .module import QuantizedModule


class QuantStub(QuantizedModule):
    """From floats to steps.

    Args:
        dtype: of the result.
    """

    def __init__(self, dtype=None, **kwargs):
        super().__init__(**kwargs)
        self.output_dtype = dtype

    def forward(self, inp: Tensor) -> Tensor:
        return inp.astype(self.output_dtype)


class DequantStub(QuantizedModule):
    """From steps to floats."""

    def forward(self, inp: Tensor) -> Tensor:
        return inp.astype("float32")
