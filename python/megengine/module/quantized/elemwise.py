# SPDX-License-Identifier: Apache-2.0
"""Quantised elementwise functions."""

from ...functional.elemwise import _elemwise_multi_type
from ...tensor import Tensor
from ..qat import QATModule
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
        self.method = f"q{method}"  # as in MegEngine, whose pickles have it too
        self.output_dtype = dtype

    @classmethod
    def from_qat_module(cls, qat_module: QATModule) -> "Elemwise":
        """Take method and result dtype from ``module.qat.Elemwise``."""
        made = super().from_qat_module(qat_module)
        made.method = f"q{qat_module.method}"
        return made

    def forward(self, *inps: Tensor) -> Tensor:
        mode = self.method if self.method.startswith("q") else "q" + self.method  # older pickles
        return _elemwise_multi_type(*inps, mode=mode.lower(), dtype=self.output_dtype)
