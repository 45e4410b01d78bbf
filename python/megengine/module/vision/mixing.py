# SPDX-License-Identifier: Apache-2.0
"""Contrast, and images mixed with other ones."""

from types import SimpleNamespace

import numpy as np

from ... import _mge
from ...core.operands import beside
from ...core.tensor.extents import extents
from ...tensor import Tensor
from ..module import Module
from .pixels import Factor, RandomFactors, checked_factor, in_floats

_MIDDLE = 127.0  # fixed point of contrast, in images of [0, 255]


class LinearContrast(Module):
    """Images with more or less contrast: 127 + alpha * (x - 127).

    Args:
        alpha: the factor; two numbers are the bounds of a random one for each image.
        per_channel: a separate factor for each channel.
        seed: seed of the random numbers.
    Raises:
        ValueError: ``alpha`` is negative.
    Example:
        >>> from megengine.module.vision import LinearContrast
        >>> LinearContrast(0.5)(F.zeros((1, 1, 1, 1))).item()
        63.5
    """

    def __init__(self, alpha: Factor, per_channel: bool = False, seed: int | None = None):
        super().__init__()
        self.alpha = checked_factor(alpha, "LinearContrast", "alpha")
        self.per_channel = per_channel
        self._random = RandomFactors(seed)

    def forward(self, inp: Tensor) -> Tensor:
        """Images (N, C, H, W) of floats or bytes in [0, 255]; of the same dtype.

        Raises:
            AssertionError: the rank is not 4.
        """
        return in_floats(self._changed, inp)

    def _changed(self, images: Tensor) -> Tensor:
        n, channels, _, _ = extents(images, 0)
        size = (n, channels if self.per_channel else 1, 1, 1)
        return (images - _MIDDLE) * self._random.factor(self.alpha, size) + _MIDDLE


class _Mixing(Module):
    def __init__(self, beta: float, seed: int | None = None):
        super().__init__()
        if beta <= 0:
            raise ValueError(f"[{type(self).__name__}] beta must be positive, got {beta}")
        self.beta = beta
        self._random = RandomFactors(seed)
        # The numbers of the last call: no state, so they are no buffers.
        self._drawn = SimpleNamespace()

    @property
    def lamb(self) -> Tensor:
        """The shares (batch,) of the first image that the last call drew."""
        return self._drawn.share

    def sample(self, batch: int) -> Tensor:
        """Shares (batch,) of the first image, of the distribution Beta(beta, beta)."""
        return self._random.draw("beta", float(self.beta), float(self.beta), (batch,))


class Mixup(_Mixing):
    """Pairs of images, and their labels, blended (Zhang and others, arXiv:1710.09412).

    Args:
        beta: both parameters of the Beta distribution of the shares.
        seed: of the random numbers.
    Raises:
        ValueError: ``beta`` is not positive.
    Example:
        >>> from megengine.module.vision import Mixup
        >>> x, label = F.ones((2, 3, 4, 4)), F.ones((2, 10))
        >>> mixed, labels = Mixup(1.0)(x, label, x, label)
        >>> mixed.shape, labels.shape
        ((2, 3, 4, 4), (2, 10))
    """

    def forward(self, data1: Tensor, label1: Tensor, data2: Tensor, label2: Tensor):
        """Images and labels.

        Args:
            data1: (N, C, H, W).
            label1: (N, classes), shares of the classes; or (N,).
            data2: like ``data1``.
            label2: like ``label1``.
        Returns:
            Images, and labels as floats.
        Raises:
            AssertionError: the shapes differ.
        """
        _check_pairs(data1, label1, data2, label2)
        with beside(data1):
            share = self._drawn.share = self.sample(data1._tuple_shape[0])
        return in_floats(lambda images: _blended(share, images, data2), data1), _blended(
            share, label1, label2
        )


class Cutmix(_Mixing):
    """A box of one image put into another one, and their labels blended by its area (Yun and
    others, arXiv:1905.04899).

    Args:
        beta: both parameters of the Beta distribution of the shares.
        seed: of the random numbers.
    Raises:
        ValueError: ``beta`` is not positive.
    Example:
        >>> from megengine.module.vision import Cutmix
        >>> x, label = F.ones((2, 3, 4, 4)), F.ones((2, 10))
        >>> mixing = Cutmix(1.0)
        >>> mixed, labels = mixing(x, label, x, label)
        >>> mixed.shape, labels.shape
        ((2, 3, 4, 4), (2, 10))
        >>> middles, sizes = (mixing.cx, mixing.cy), (mixing.cut_h, mixing.cut_w)
        >>> [v.shape for v in (*middles, *sizes)]
        [(2,), (2,), (2,), (2,)]
    """

    def forward(self, data1: Tensor, label1: Tensor, data2: Tensor, label2: Tensor):
        """Images and labels; see ``Mixup.forward``."""
        _check_pairs(data1, label1, data2, label2)
        n, _, height, width = data1._tuple_shape
        # The box has the second image's share of the area; its middle is anywhere.
        with beside(data1):
            self._drawn.share = self.sample(n)
            side = _mge.ops.sqrt(1.0 - self._drawn.share)
            self._drawn.boxes = [self._box(side, extent) for extent in (height, width)]
            rows, columns = (
                _inside(*box, extent)
                for box, extent in zip(self._drawn.boxes, (height, width), strict=True)
            )
        inside = rows.reshape(n, 1, height, 1) * columns.reshape(n, 1, 1, width)
        area = inside.reshape(n, -1).mean(1)
        mixed = in_floats(
            lambda images: images * (1.0 - inside) + data2.astype("float32") * inside, data1
        )
        return mixed, _blended(1.0 - area, label1, label2)

    @property
    def cx(self) -> Tensor:
        """The middle rows (batch,) of the boxes of the last call."""
        return self._drawn.boxes[0][0]

    @property
    def cy(self) -> Tensor:
        """The middle columns of these boxes."""
        return self._drawn.boxes[1][0]

    @property
    def cut_h(self) -> Tensor:
        """The heights of these boxes, before they are cut at the edges of the image.

        From the middle, ``cut_h // 2`` rows reach to either side.
        """
        return self._drawn.boxes[0][1]

    @property
    def cut_w(self) -> Tensor:
        """The widths of these boxes; as ``cut_h``."""
        return self._drawn.boxes[1][1]

    def _box(self, side: Tensor, extent: int) -> tuple[Tensor, Tensor]:
        """Middles and lengths (n,) along an axis; whole numbers."""
        middle = self._random.draw("uniform", 0, extent, side._tuple_shape)
        return _mge.ops.floor(middle), _mge.ops.floor(side * float(extent))


def _inside(middle: Tensor, length: Tensor, extent: int) -> Tensor:
    """(n, extent): 1 inside the box along the axis."""
    middle, half = middle.reshape(-1, 1), (length // 2).reshape(-1, 1)
    place = np.arange(extent, dtype=np.float32)
    return ((place >= middle - half) & (place < middle + half)).astype("float32")


def _check_pairs(data1: Tensor, label1: Tensor, data2: Tensor, label2: Tensor) -> None:
    shapes = [x._tuple_shape for x in (data1, data2, label1, label2)]
    fits = shapes[0] == shapes[1] and shapes[2] == shapes[3] and shapes[0][0] == shapes[2][0]
    assert fits, f"images and labels of both sides must have the same shapes, got {shapes}"


def _blended(share: Tensor, first: Tensor, second: Tensor) -> Tensor:
    share = share.reshape(-1, *(1,) * (first.ndim - 1))
    return first.astype("float32") * share + second.astype("float32") * (1.0 - share)
