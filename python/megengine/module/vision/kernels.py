# SPDX-License-Identifier: Apache-2.0
"""Images under a kernel: sharpened, embossed, blurred, dilated."""

import numpy as np

from ... import _mge
from ...core.operands import Pair, beside, pair
from ...functional.convolution import conv2d
from ...tensor import Tensor
from ..module import Module
from .pixels import Factor, RandomFactors, border_of, bordered, checked_factor, in_floats

_UNCHANGED = ((0, 0, 0), (0, 1, 0), (0, 0, 0))


class ActiveBlur(Module):
    """A 3 x 3 kernel over each channel, the edge mirrored: the base of the classes that say which.

    Args:
        kwargs: for ``Module``.
    Raises:
        NotImplementedError: by ``get_kernel``, which classes derived from it define.
    Example:
        >>> class Copied(ActiveBlur):
        ...     def get_kernel(self, inp, c):
        ...         kernel = np.zeros((c, 1, 1, 3, 3), np.float32)
        ...         kernel[:, :, :, 1, 1] = 1
        ...         return Tensor(kernel)
        >>> Copied()(F.ones((1, 2, 3, 3))).shape
        (1, 2, 3, 3)
    """

    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def get_kernel(self, inp: Tensor, c: int) -> Tensor:
        """The kernel (c, 1, 1, 3, 3) of ``c`` channels."""
        raise NotImplementedError(f"{type(self).__name__}.get_kernel")

    def forward(self, inp: Tensor) -> Tensor:
        """Images (N, C, H, W) of floats or bytes, H and W at least 2; of the same dtype.

        Raises:
            AssertionError: the rank is not 4.
        """
        return in_floats(self._changed, inp)

    def _changed(self, images: Tensor) -> Tensor:
        channels = images._tuple_shape[1]
        wide = bordered(images, (1, 1), (1, 1), "REFLECT_101")
        return conv2d(wide, self.get_kernel(images, channels), groups=channels)


class _Blended(ActiveBlur):
    """A blend of the identity kernel and a kernel with an effect."""

    def __init__(self, alpha: Factor, seed: int | None):
        super().__init__()
        self.alpha = checked_factor(alpha, type(self).__name__, "alpha")
        self._random = RandomFactors(seed)

    def _blended(self, effect: Tensor, channels: int) -> Tensor:
        alpha = self._random.factor(self.alpha)
        kernel = effect * alpha + np.asarray(_UNCHANGED, np.float32) * (1.0 - alpha)
        return _mge.ops.broadcast_to(kernel, shape=[channels, 1, 1, 3, 3])


class Emboss(_Blended):
    """Images as a relief that is lit from the upper left.

    Args:
        alpha: weight of the effect, from 0 to 1; two numbers are the bounds of a random one.
        strength: strength of the effect; two numbers are the bounds of a random one.
        seed: seed of the random numbers.
    Raises:
        ValueError: a number is negative.
    Example:
        >>> from megengine.module.vision import Emboss
        >>> Emboss(alpha=1.0, strength=0.5)(F.ones((1, 3, 4, 4))).shape
        (1, 3, 4, 4)
    """

    def __init__(self, alpha: Factor, strength: Factor, seed: int | None = None):
        super().__init__(alpha, seed)
        self.strength = checked_factor(strength, "Emboss", "strength")

    def get_kernel(self, inp: Tensor, c: int) -> Tensor:
        """The kernel (c, 1, 1, 3, 3) of ``c`` channels."""
        base = np.asarray(((-1, 0, 0), (0, 1, 0), (0, 0, 1)), np.float32)
        slope = np.asarray(((-1, -1, 0), (-1, 0, 1), (0, 1, 1)), np.float32)
        with beside(inp):
            return self._blended(base + slope * self._random.factor(self.strength), c)


class Sharpen(_Blended):
    """Images with stronger edges.

    Args:
        alpha: weight of the effect, from 0 to 1; two numbers are the bounds of a random one.
        lightness: lightness of the result, 1 for that of the image; two numbers are the bounds of a
            random one.
        seed: seed of the random numbers.
    Raises:
        ValueError: a number is negative.
    Example:
        >>> from megengine.module.vision import Sharpen
        >>> float(Sharpen(alpha=1.0, lightness=1.0)(F.ones((1, 1, 4, 4))).max())
        1.0
    """

    def __init__(self, alpha: Factor, lightness: Factor, seed: int | None = None):
        super().__init__(alpha, seed)
        self.lightness = checked_factor(lightness, "Sharpen", "lightness")

    def get_kernel(self, inp: Tensor, c: int) -> Tensor:
        """The kernel (c, 1, 1, 3, 3) of ``c`` channels."""
        edges = np.asarray(((-1, -1, -1), (-1, 8, -1), (-1, -1, -1)), np.float32)
        middle = np.asarray(_UNCHANGED, np.float32)
        with beside(inp):
            return self._blended(edges + middle * self._random.factor(self.lightness), c)


class GaussianBlur(Module):
    """Images blurred by a Gaussian window.

    Args:
        kernel_size: height and width of the window, odd; an int is both.
        sigma_x: standard deviation along the width, in pixels; 0 selects OpenCV's default for the
            size: 0.3 * ((size - 1) / 2 - 1) + 0.8.
        sigma_y: standard deviation along the height; 0 selects ``sigma_x``, or the default if both
            are 0.
        border_mode: ``"REPLICATE"``, ``"REFLECT"`` (the edge is repeated), ``"REFLECT_101"``,
            ``"WRAP"`` or ``"CONSTANT"`` (zeros).
    Raises:
        ValueError: a size is even or below 1, a deviation negative, or the border unknown.
    Example:
        >>> from megengine.module.vision import GaussianBlur
        >>> GaussianBlur(3)(F.ones((1, 1, 4, 4))).shape
        (1, 1, 4, 4)
    """

    def __init__(
        self,
        kernel_size: Pair,
        sigma_x: float = 0,
        sigma_y: float = 0,
        border_mode: str = "REPLICATE",
    ):
        super().__init__()
        self.kernel_size = pair(kernel_size, "GaussianBlur", "kernel_size")
        if any(size < 1 or size % 2 == 0 for size in self.kernel_size):
            raise ValueError(f"[GaussianBlur] sizes must be odd, got {self.kernel_size}")
        if min(sigma_x, sigma_y) < 0:
            raise ValueError("[GaussianBlur] sigma_x and sigma_y must not be negative")
        self.border_mode = border_of(border_mode, "GaussianBlur")
        height, width = self.kernel_size
        self._rows = _gaussian(height, sigma_y or sigma_x)
        self._columns = _gaussian(width, sigma_x)

    def forward(self, inp: Tensor) -> Tensor:
        """Images (N, C, H, W) of floats or bytes; of the same dtype.

        Raises:
            AssertionError: the rank is not 4.
        """
        return in_floats(self._blurred, inp)

    def _blurred(self, images: Tensor) -> Tensor:
        channels = images._tuple_shape[1]
        up, left = (size // 2 for size in self.kernel_size)
        images = bordered(images, (up, up), (left, left), self.border_mode)
        # One axis after the other, because the kernel is separable.
        for window in (self._rows.reshape(-1, 1), self._columns.reshape(1, -1)):
            with beside(images):
                window = Tensor(window)
            weight = _mge.ops.broadcast_to(window, shape=[channels, 1, 1, *window._tuple_shape])
            images = conv2d(images, weight, groups=channels)
        return images


def _gaussian(size: int, sigma: float) -> np.ndarray:
    sigma = sigma or 0.3 * ((size - 1) * 0.5 - 1) + 0.8
    weights = np.exp(-0.5 * ((np.arange(size) - size // 2) / sigma) ** 2)
    return (weights / weights.sum()).astype(np.float32)


class Dilation(Module):
    """Bright regions of images grown: each pixel becomes the largest under a kernel.

    Args:
        iterations: how often, at least 1.
        border_type: of the image, as in ``GaussianBlur``, with or without ``"BORDER_"``.
        border_value: of a constant border.
    Raises:
        ValueError: the border is unknown, or ``iterations`` below 1.
    Example:
        >>> from megengine.module.vision import Dilation
        >>> x = Tensor(np.eye(3, dtype="float32")[None, None])
        >>> Dilation()(x, np.ones((3, 3), "uint8")).sum().item()
        9.0
    """

    def __init__(
        self,
        iterations: int = 1,
        border_type: str = "BORDER_CONSTANT",
        border_value: float = 0.0,
    ):
        super().__init__()
        if iterations < 1:
            raise ValueError(f"[Dilation] iterations must be at least 1, got {iterations}")
        self.iterations = iterations
        self.border_type = border_of(border_type, "Dilation")
        self.border_value = border_value

    def forward(self, inp: Tensor, kernel) -> Tensor:
        """Images dilated.

        Args:
            inp: (N, C, H, W), floating or 8-bit integers.
            kernel: (KH, KW), array or Tensor: its nonzero elements define the neighbourhood; its
                anchor is (KH // 2, KW // 2).
        Returns:
            Tensor of the shape and dtype of ``inp``.
        Raises:
            ValueError: the kernel is not of rank 2, or has only zeros.
        """
        shape = np.asarray(kernel.numpy() if isinstance(kernel, Tensor) else kernel)
        places = np.argwhere(shape)
        if shape.ndim != 2 or not len(places):
            raise ValueError(f"[Dilation] the kernel must have ones in two axes, got {shape!r}")
        for _ in range(self.iterations):
            inp = in_floats(lambda images: self._largest(images, shape.shape, places), inp)
        return inp

    def _largest(self, images: Tensor, size: tuple[int, int], places: np.ndarray) -> Tensor:
        (up, left), (rows, columns) = (n // 2 for n in size), size
        margins = (up, rows - 1 - up), (left, columns - 1 - left)
        wide = bordered(images, *margins, self.border_type, self.border_value)
        largest = None
        for y, x in places.tolist():
            part = wide[:, :, y : y - rows + 1 or None, x : x - columns + 1 or None]
            largest = part if largest is None else _mge.ops.maximum(largest, part)
        return largest
