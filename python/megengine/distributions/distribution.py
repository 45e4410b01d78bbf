# SPDX-License-Identifier: Apache-2.0
"""The base class of all distributions."""

from collections.abc import Sequence

from .. import functional as F
from ..tensor import Tensor


class Distribution:
    """Base of the distributions: a batch of them of shape ``batch_shape``.

    Args:
        batch_shape: shape of their parameters.
        event_shape: shape of a sample of one of them.
    Example:
        >>> from megengine.distributions import Exponential
        >>> d = Exponential(Tensor([2.0]))
        >>> isinstance(d, Distribution), d.batch_shape, d.event_shape
        (True, (1,), ())
        >>> d.mean, d.stddev, d.variance
        (Tensor([0.5], device=xpux:0), Tensor([0.5], device=xpux:0), Tensor([0.25], device=xpux:0))
        >>> d.sample((4,)).shape, d.expand((3,)).batch_shape
        ((4, 1), (3,))
        >>> round(d.log_prob(Tensor([0.0])).item(), 4)
        0.6931
        >>> round(d.cdf(Tensor([0.3465736])).item(), 4), round(d.icdf(Tensor([0.5])).item(), 4)
        (0.5, 0.3466)
    """

    def __init__(self, batch_shape: Sequence[int] = (), event_shape: Sequence[int] = ()):
        self._batch_shape = tuple(batch_shape)
        self._event_shape = tuple(event_shape)

    def expand(self, batch_shape: Sequence[int], _instance=None) -> "Distribution":
        """The distributions repeated to reach a shape.

        Args:
            batch_shape: the new shape.
        Returns:
            A distribution of the same class.
        Raises:
            NotImplementedError: the class does not define it.
        """
        raise self._missing("expand")

    @property
    def batch_shape(self) -> tuple[int, ...]:
        """Shape of the parameters."""
        return self._batch_shape

    @property
    def event_shape(self) -> tuple[int, ...]:
        """Shape of a sample of one distribution."""
        return self._event_shape

    @property
    def mean(self) -> Tensor:
        """The mean of each distribution."""
        raise self._missing("mean")

    @property
    def variance(self) -> Tensor:
        """The variance of each distribution."""
        raise self._missing("variance")

    @property
    def stddev(self) -> Tensor:
        """The standard deviation of each distribution."""
        return F.sqrt(self.variance)

    def sample(self, sample_shape: Sequence[int] = ()) -> Tensor:
        """Draw samples from each distribution.

        Args:
            sample_shape: leading shape, before that of the distributions.
        Returns:
            Tensor of the shape ``sample_shape + batch_shape + event_shape``.
        Raises:
            NotImplementedError: the class does not define it.
        """
        raise self._missing("sample")

    def log_prob(self, value: Tensor) -> Tensor:
        """The logarithm of the density.

        Args:
            value: the point.
        Returns:
            Tensor.
        Raises:
            NotImplementedError: the class does not define it.
        """
        raise self._missing("log_prob")

    def cdf(self, value: Tensor) -> Tensor:
        """The probability that a sample is at most a value.

        Args:
            value: the value.
        Returns:
            Tensor.
        Raises:
            NotImplementedError: the class does not define it.
        """
        raise self._missing("cdf")

    def icdf(self, value: Tensor) -> Tensor:
        """The inverse of ``cdf``.

        Args:
            value: the probability.
        Returns:
            Tensor.
        Raises:
            NotImplementedError: the class does not define it.
        """
        raise self._missing("icdf")

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"

    def _missing(self, name: str) -> NotImplementedError:
        return NotImplementedError(f"[{type(self).__name__}] {name} must be defined by the class")
