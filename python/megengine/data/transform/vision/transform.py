# SPDX-License-Identifier: Apache-2.0
"""Transforms of samples with images. Images are (H, W, C) arrays.

``order`` lists the types of a sample's fields: ``"image"``, ``"mask"``, ``"boxes"`` (x0, y0, x1,
y1), ``"coords"`` or ``"image_category"``, ``"info"`` (unchanged). Without it a sample is an image,
or a tuple whose first field is one.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....core.counted import counted
from ....core.public_home import set_public_home
from . import functional as F
from .base import Compose, PixelTransform, VisionTransform
from .colour import (
    BrightnessTransform,
    ColorJitter,
    ContrastTransform,
    HueTransform,
    Lighting,
    SaturationTransform,
)
from .resize import RandomResize, RandomResizedCrop, Resize, ShortestEdgeResize
from .torch_compose import TorchTransformCompose

__all__ = [
    "BrightnessTransform",
    "CenterCrop",
    "ColorJitter",
    "Compose",
    "ContrastTransform",
    "GaussianNoise",
    "HueTransform",
    "Lighting",
    "Normalize",
    "Pad",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomResize",
    "RandomResizedCrop",
    "RandomVerticalFlip",
    "Resize",
    "SaturationTransform",
    "ShortestEdgeResize",
    "ToMode",
    "TorchTransformCompose",
    "VisionTransform",
]

set_public_home(
    __name__,
    BrightnessTransform,
    ColorJitter,
    Compose,
    ContrastTransform,
    HueTransform,
    Lighting,
    RandomResize,
    RandomResizedCrop,
    Resize,
    SaturationTransform,
    ShortestEdgeResize,
    TorchTransformCompose,
    VisionTransform,
)

# Up to this many channels, NumPy's loops along the channels are dominated by overhead.
_FEW_CHANNELS = 8


def _as_dtype_of(image: np.ndarray, value) -> np.ndarray:
    """The image in a dtype that can hold a border of this value: floating for a float."""
    if isinstance(value, int) or np.asarray(value).dtype.kind != "f":
        return image
    return image.astype(np.float32)


def _filled(shape: tuple[int, ...], dtype, value, who: str) -> np.ndarray:
    """An image that is all border."""
    if np.ndim(value) == 0:
        return np.full(shape, value, dtype)
    channels = shape[2] if len(shape) > 2 else 1
    values = np.asarray(value).reshape(-1)
    if values.size < channels and values.size != 1:
        raise ValueError(
            f"[{who}] the value of the border has {counted(values.size, 'number')}, the image"
            f" has {counted(channels, 'channel')}"
        )
    values = values[: max(channels, 1)]
    if (values == values[0]).all():
        return np.full(shape, values[0], dtype)
    out = np.empty(shape, dtype)
    out.reshape(shape[0], -1)[...] = np.tile(values, shape[1]).astype(dtype)
    return out


class ToMode(VisionTransform):
    """Images from (H, W, C) to ``"CHW"``, or left in ``"HWC"``.

    Args:
        mode: ``"CHW"``.
        order: kinds of the fields.
    Raises:
        AssertionError: ``mode`` is another one.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> ToMode().apply(image).shape
        (3, 4, 4)
    """

    def __init__(self, mode: str = "CHW", *, order: Sequence[str] | None = None):
        super().__init__(order)
        assert mode == "CHW", f"[ToMode] mode is 'CHW', got {mode!r}"
        self.mode = mode

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        F.check_image(image)
        return np.ascontiguousarray(np.rollaxis(image, 2))

    def _apply_coords(self, coords: np.ndarray) -> np.ndarray:
        return coords

    def _apply_mask(self, mask: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.rollaxis(mask, 2))


class Normalize(PixelTransform):
    """(image - mean) / std, as float32.

    Args:
        mean, std: a number, or one for each channel.
        order: kinds of the fields.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> Normalize(mean=20.0, std=2.0).apply(image)[0, 0]
        array([-10. ,  -9.5,  -9. ], dtype=float32)
    """

    def __init__(self, mean=0.0, std=1.0, *, order: Sequence[str] | None = None):
        super().__init__(order)
        self.mean = np.array(mean, np.float32)
        self.std = np.array(std, np.float32)
        self._rows = None  # as of _rows_for, for the last shape

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        if not self._is_by_few_channels(image):
            return (image - self.mean) / self.std
        mean, std = self._rows_for(image.shape)
        out = image.astype(np.result_type(image, mean), order="C")
        rows = out.reshape(image.shape[0], mean.size)
        rows -= mean
        rows /= std
        return out

    def _is_by_few_channels(self, image: np.ndarray) -> bool:
        both = (self.mean, self.std)
        if image.ndim != 3 or image.shape[2] > _FEW_CHANNELS or max(v.ndim for v in both) != 1:
            return False
        return all(v.size in (1, image.shape[2]) for v in both)

    def _rows_for(self, shape) -> tuple[np.ndarray, np.ndarray]:
        """Mean and deviation of each number of a row: NumPy is slow along three channels."""
        if self._rows is None or self._rows[0] != shape[1:]:
            width, channels = shape[1:]
            both = (np.broadcast_to(v, (channels,)) for v in (self.mean, self.std))
            self._rows = (shape[1:], *(np.tile(v, width) for v in both))
        return self._rows[1:]


class Pad(VisionTransform):
    """Images with borders.

    Args:
        size: number of pixels: one for all sides, two for bottom and right, four for top, bottom,
            left and right.
        value: value of the border, or one for each channel (extra values are ignored); a float
            converts the image to float32.
        mask_value: value of a mask's border.
        order: types of the fields.
    Raises:
        ValueError: ``size`` has another form, or there are fewer values than channels.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> Pad(1).apply(image).shape
        (6, 6, 3)
    """

    def __init__(self, size=0, value=0, mask_value=0, *, order: Sequence[str] | None = None):
        super().__init__(order)
        if isinstance(size, int):
            self.size = (size,) * 4
        elif len(size) == 2:
            self.size = (0, int(size[0]), 0, int(size[1]))
        elif len(size) == 4:
            self.size = tuple(int(s) for s in size)
        else:
            raise ValueError(f"[Pad] size is one number, two or four, got {size!r}")
        self.value = value
        self.mask_value = mask_value

    def _border(self, image: np.ndarray, value) -> np.ndarray:
        top, bottom, left, right = self.size
        height, width = image.shape[:2]
        shape = (height + top + bottom, width + left + right, *image.shape[2:])
        image = _as_dtype_of(image, value)
        out = _filled(shape, image.dtype, value, "Pad")
        out[top : top + height, left : left + width] = image
        return out

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        return self._border(image, self.value)

    def _apply_mask(self, mask: np.ndarray) -> np.ndarray:
        return self._border(mask, self.mask_value)

    def _apply_coords(self, coords: np.ndarray) -> np.ndarray:
        return coords + np.array([self.size[2], self.size[0]], coords.dtype)


class _Window(VisionTransform):
    """Cuts a rectangle whose top left corner is ``_corner``."""

    def __init__(self, output_size, *, order: Sequence[str] | None = None):
        super().__init__(order)
        if isinstance(output_size, int):
            output_size = (output_size, output_size)
        self.output_size = tuple(output_size)
        self._corner = (0, 0)

    def _check(self, image: np.ndarray) -> tuple[int, int]:
        """The largest offsets of the rectangle."""
        free = [n - w for n, w in zip(image.shape[:2], self.output_size, strict=True)]
        if min(free) < 0:
            raise AssertionError(
                f"[{type(self).__name__}] the image {image.shape[:2]} is smaller than"
                f" {self.output_size}"
            )
        return tuple(free)

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        (y, x), (height, width) = self._corner, self.output_size
        return image[y : y + height, x : x + width]

    _apply_mask = _apply_image

    def _apply_coords(self, coords: np.ndarray) -> np.ndarray:
        y, x = self._corner
        return coords - np.array([x, y]).astype(coords.dtype)


class CenterCrop(_Window):
    """The middle of images.

    Args:
        output_size: height and width, or one number for both.
        order: kinds of the fields.
    Raises:
        AssertionError: an image is smaller.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> CenterCrop(2).apply(image).shape
        (2, 2, 3)
    """

    def apply(self, input: Any) -> Any:
        free = self._check(self._get_image(input))
        self._corner = tuple(round(f / 2) for f in free)
        return super().apply(input)


class RandomCrop(_Window):
    """Crop images at a random position.

    Args:
        output_size: height and width, or one number for both. Smaller images are padded at the
            bottom and right.
        padding_size: border added first, as in ``Pad``.
        padding_value: value of the border, as in ``Pad``.
        padding_maskvalue: value of a mask's border.
        order: types of the fields.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> RandomCrop(2).apply(image).shape
        (2, 2, 3)
    """

    def __init__(
        self,
        output_size,
        padding_size=0,
        padding_value=(0, 0, 0),
        padding_maskvalue=0,
        *,
        order: Sequence[str] | None = None,
    ):
        super().__init__(output_size, order=order)
        self._border = Pad(padding_size).size
        self._values = (padding_value, padding_maskvalue)

    def apply(self, input: Any) -> Any:
        top, bottom, left, right = self._border
        height, width = self._get_image(input).shape[:2]
        # Smaller images are padded at the bottom and right.
        x = int(np.random.randint(0, max(width + left + right - self.output_size[1], 0) + 1))
        y = int(np.random.randint(0, max(height + top + bottom - self.output_size[0], 0) + 1))
        self._corner = (y - top, x - left)
        return super().apply(input)

    def _cut(self, image: np.ndarray, value) -> np.ndarray:
        (y, x), (height, width) = self._corner, self.output_size
        image = _as_dtype_of(image, value)
        found = image[max(y, 0) : max(y + height, 0), max(x, 0) : max(x + width, 0)]
        if found.shape[:2] == self.output_size:
            return found.copy()
        shape = (height, width, *image.shape[2:])
        out = _filled(shape, image.dtype, value, "RandomCrop")
        top, left = max(-y, 0), max(-x, 0)
        out[top : top + found.shape[0], left : left + found.shape[1]] = found
        return out

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        return self._cut(image, self._values[0])

    def _apply_mask(self, mask: np.ndarray) -> np.ndarray:
        return self._cut(mask, self._values[1])


class _RandomFlip(VisionTransform):
    """Mirrors along an axis with a probability."""

    axis = 1

    def __init__(self, prob: float = 0.5, *, order: Sequence[str] | None = None):
        super().__init__(order)
        self.prob = prob
        self._shape = (0, 0)

    def apply(self, input: Any) -> Any:
        if np.random.random() >= self.prob:
            return self._bare(input)
        self._shape = self._get_image(input).shape[:2]
        return super().apply(input)

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        has_pixels = self.axis == 1 and image.ndim == 3 and image.size and not image.dtype.hasobject
        if not has_pixels or image.strides[2] != image.itemsize:
            return np.ascontiguousarray(np.flip(image, self.axis))
        # Pixels as they are: NumPy is slow along three channels.
        pixels = image.view(np.dtype((np.void, image.shape[2] * image.itemsize)))
        return np.ascontiguousarray(pixels[:, ::-1]).view(image.dtype)

    _apply_mask = _apply_image

    def _apply_coords(self, coords: np.ndarray) -> np.ndarray:
        coords = coords.copy()
        coords[..., 1 - self.axis] = self._shape[self.axis] - coords[..., 1 - self.axis]
        return coords


class RandomHorizontalFlip(_RandomFlip):
    """Left and right exchanged with a probability.

    Args:
        prob: the probability.
        order: kinds of the fields.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> bool((RandomHorizontalFlip(1.0).apply(image) == image[:, ::-1]).all())
        True
    """

    axis = 1


class RandomVerticalFlip(_RandomFlip):
    """Top and bottom exchanged with a probability.

    Args:
        prob: the probability.
        order: kinds of the fields.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> bool((RandomVerticalFlip(1.0).apply(image) == image[::-1]).all())
        True
    """

    axis = 0


class GaussianNoise(PixelTransform):
    """Images with normal noise, from 0 to 255 again; their dtype stays.

    Args:
        mean: mean of the noise, in parts of 255.
        std: its standard deviation, the same.
        order: kinds of the fields.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> GaussianNoise(std=0.1).apply(image).shape
        (4, 4, 3)
    """

    def __init__(self, mean=0.0, std=1.0, *, order: Sequence[str] | None = None):
        super().__init__(order)
        self.mean = np.array(mean, np.float32)
        self.std = np.array(std, np.float32)

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        noise = np.random.normal(self.mean, self.std, image.shape) * 255
        return np.clip(image + noise.astype(np.float32), 0, 255).astype(image.dtype)
