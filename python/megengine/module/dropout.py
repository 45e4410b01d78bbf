# SPDX-License-Identifier: Apache-2.0
"""Dropout as a module."""

from .. import functional as F
from ..tensor import Tensor
from .module import Module


class Dropout(Module):
    """``functional.dropout`` in training mode, the identity in evaluation mode.

    Args:
        drop_prob: chance of an element to be dropped, in [0, 1).
    Example:
        >>> drop = Dropout(0.5)
        >>> _ = drop.eval()
        >>> drop(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """

    def __init__(self, drop_prob: float = 0.0, **kwargs):
        super().__init__(**kwargs)
        self.drop_prob = drop_prob

    def forward(self, inputs: Tensor) -> Tensor:
        return F.dropout(inputs, self.drop_prob, training=True) if self.training else inputs

    def _module_info_string(self) -> str:
        return f"drop_prob={self.drop_prob}"
