# SPDX-License-Identifier: Apache-2.0
"""Local response normalisation as a module."""

from .. import functional as F
from ..tensor import Tensor
from .module import Module


class LocalResponseNorm(Module):
    """``functional.local_response_norm``; arguments as there.

    Example:
        >>> LocalResponseNorm()(F.ones((1, 4, 2, 2))).shape
        (1, 4, 2, 2)
    """

    def __init__(
        self,
        kernel_size: int = 5,
        k: float = 2.0,
        alpha: float = 1e-4,
        beta: float = 0.75,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.kernel_size = kernel_size
        self.k = k
        self.alpha = alpha
        self.beta = beta

    def forward(self, inp: Tensor) -> Tensor:
        return F.local_response_norm(inp, self.kernel_size, self.k, self.alpha, self.beta)
