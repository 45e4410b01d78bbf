# SPDX-License-Identifier: Apache-2.0
"""Marks for where the quantised part of a network begins and ends."""

from ..tensor import Tensor
from .module import Module


class QuantStub(Module):
    """Here the quantised part begins; in a float network it returns its input.

    Example:
        >>> QuantStub()(Tensor([1.5]))
        Tensor([1.5], device=xpux:0)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return inp


class DequantStub(Module):
    """Here the quantised part ends; in a float network it returns its input.

    Example:
        >>> DequantStub()(Tensor([1.5]))
        Tensor([1.5], device=xpux:0)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return inp
