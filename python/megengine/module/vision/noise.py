# SPDX-License-Identifier: Apache-2.0
"""Noise that is added to images."""

from collections.abc import Sequence

from ... import _mge
from ...core.tensor.extents import extents
from ...tensor import Tensor
from ..module import Module
from .pixels import RandomFactors, in_floats


class AdditiveElemwise(Module):
    """Random numbers added to images: the base of the classes that say which.

    Args:
        per_channel: different numbers for each channel; otherwise all channels of a pixel get the
            same.
        kwargs: for ``Module``.
    Raises:
        NotImplementedError: by ``sample``, which derived classes define.
    Example:
        >>> class Half(AdditiveElemwise):
        ...     def sample(self, size):
        ...         return F.full(size, 0.5)
        >>> Half()(F.zeros((1, 3, 2, 2))).max()
        Tensor(0.5, device=xpux:0)
        >>> Half().per_channel
        False
    """

    def __init__(self, per_channel: bool = False, **kwargs):
        super().__init__(**kwargs)
        self.per_channel = per_channel

    def sample(self, size: Sequence[int]) -> Tensor:
        """Random numbers of a shape."""
        raise NotImplementedError(f"{type(self).__name__}.sample")

    def forward(self, inp: Tensor) -> Tensor:
        """Images (N, C, H, W) of floats or bytes with noise, of the same dtype.

        Raises:
            AssertionError: the rank is not 4.
        """
        return in_floats(self._with_noise, inp)

    def _with_noise(self, images: Tensor) -> Tensor:
        n, channels, height, width = extents(images, 0)
        noise = self.sample((n, channels if self.per_channel else 1, height, width))
        return _mge.ops.add(images, noise)

    @property
    def per_channel(self) -> bool:
        """Whether each channel gets different numbers."""
        return self._per_channel

    @per_channel.setter
    def per_channel(self, value: bool) -> None:
        assert isinstance(value, bool), f"per_channel must be a bool, got {value!r}"
        self._per_channel = value


class _SeededNoise(AdditiveElemwise):
    def __init__(self, per_channel: bool, seed: int | None):
        super().__init__(per_channel)
        self.seed = seed

    @property
    def seed(self) -> int | None:
        """Seed of the random numbers; setting it restarts them."""
        return self._random.seed

    @seed.setter
    def seed(self, value: int | None) -> None:
        self._random = RandomFactors(value)


class _NoiseAround(_SeededNoise):
    def __init__(
        self,
        mean: float = 0.0,
        std: float = 1.0,
        per_channel: bool = False,
        seed: int | None = None,
    ):
        super().__init__(per_channel, seed)
        self.mean, self.std = mean, std


class AdditiveGaussianNoise(_NoiseAround):
    """Noise of a normal distribution.

    Args:
        mean: of it.
        std: its standard deviation.
        per_channel: other numbers for each channel.
        seed: of the random numbers.
    Example:
        >>> from megengine.module.vision import AdditiveGaussianNoise
        >>> AdditiveGaussianNoise(std=2.0, seed=1)(F.zeros((1, 3, 4, 4))).shape
        (1, 3, 4, 4)
    """

    def sample(self, size: Sequence[int]) -> Tensor:
        """Random numbers of a shape.

        Example:
            >>> AdditiveGaussianNoise(mean=1.0, std=0.0).sample((2,))
            Tensor([1. 1.], device=xpux:0)
        """
        return self._random.draw("normal", self.mean, self.std, size)


class AdditiveLaplaceNoise(_NoiseAround):
    """Noise of a Laplace distribution.

    Args:
        mean: of it.
        std: its scale: the mean distance from ``mean``.
        per_channel: other numbers for each channel.
        seed: of the random numbers.
    Example:
        >>> from megengine.module.vision import AdditiveLaplaceNoise
        >>> AdditiveLaplaceNoise(seed=1)(F.zeros((1, 3, 4, 4))).shape
        (1, 3, 4, 4)
    """

    def sample(self, size: Sequence[int]) -> Tensor:
        """Random numbers of a shape.

        Example:
            >>> AdditiveLaplaceNoise().sample((2, 3)).shape
            (2, 3)
        """
        # Inverse of the distribution: mean - std * sign(u) * ln(1 - 2|u|), u in [-1/2, 1/2).
        u = self._random.draw("uniform", -0.5, 0.5, size)
        below_one = _mge.ops.clip(_mge.ops.abs(u) * 2.0, lower=0.0, upper=1.0 - 2.0**-24)
        return _mge.ops.sign(u) * _mge.ops.log1p(-below_one) * -self.std + self.mean


class AdditivePoissonNoise(_SeededNoise):
    """Noise of a Poisson distribution, with either sign.

    Args:
        lam: its mean, at least 0.
        per_channel: other numbers for each channel.
        seed: of the random numbers.
    Example:
        >>> from megengine.module.vision import AdditivePoissonNoise
        >>> AdditivePoissonNoise(4.0, seed=1)(F.zeros((1, 3, 4, 4))).shape
        (1, 3, 4, 4)
    """

    def __init__(self, lam: float = 1.0, per_channel: bool = False, seed: int | None = None):
        super().__init__(per_channel, seed)
        if lam < 0:
            raise ValueError(f"[AdditivePoissonNoise] lam must not be negative, got {lam}")
        self.lam = lam

    def sample(self, size: Sequence[int]) -> Tensor:
        """Random numbers of a shape.

        Example:
            >>> AdditivePoissonNoise(lam=1.0).sample((2, 3)).shape
            (2, 3)
        """
        lam = max(float(self.lam), 1e-30)  # 0 is no parameter of the distribution
        size_of_noise = self._random.draw("poisson", lam, size)
        return size_of_noise * _mge.ops.sign(self._random.draw("uniform", -0.5, 0.5, size))
