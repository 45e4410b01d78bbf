# SPDX-License-Identifier: Apache-2.0
"""The exponential distribution."""

from collections.abc import Sequence

import numpy as np

from .. import functional as F
from .. import random
from ..tensor import Tensor
from .distribution import Distribution


class Exponential(Distribution):
    """Exponential distributions.

    Args:
        rate: one over the mean of each; a number, an array or a Tensor.
    Example:
        >>> Exponential(Tensor([1.0, 2.0])).mean
        Tensor([1.  0.5], device=xpux:0)
    """

    def __init__(self, rate: float | np.ndarray | Tensor):
        self.rate = rate if isinstance(rate, Tensor) else Tensor(np.asarray(rate, np.float32))
        super().__init__(self.rate._tuple_shape)

    @property
    def mean(self) -> Tensor:
        """The mean of each."""
        return 1 / self.rate

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each."""
        return 1 / self.rate

    @property
    def variance(self) -> Tensor:
        """The variance of each."""
        return 1 / self.rate**2

    def expand(self, batch_shape: Sequence[int], _instance=None) -> "Exponential":
        """The distributions repeated to reach a shape.

        Args:
            batch_shape: shape wanted.
        Returns:
            Exponential.
        Raises:
            RuntimeError: the rates do not broadcast to it.
        """
        return Exponential(F.broadcast_to(self.rate, tuple(batch_shape)))

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw from each.

        Args:
            sample_shape: leading shape, before that of the rates.
        Returns:
            float32 Tensor.
        """
        return random.exponential(self.rate, tuple(sample_shape))

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density.

        Args:
            value: where, not negative.
        Returns:
            Tensor.
        """
        return F.log(self.rate) - self.rate * value

    def cdf(self, value: Tensor) -> Tensor:
        """The probability that a sample is at most a value.

        Args:
            value: not negative.
        Returns:
            Tensor.
        """
        return -F.expm1(-self.rate * value)

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of ``cdf``.

        Args:
            value: probability, below 1.
        Returns:
            Tensor.
        """
        return -F.log1p(-value) / self.rate
