# SPDX-License-Identifier: Apache-2.0
"""A module that does nothing."""

from ..tensor import Tensor
from .module import Module


class Identity(Module):
    """Returns its input."""

    def forward(self, x: Tensor) -> Tensor:
        return x
