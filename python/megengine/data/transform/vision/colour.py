# SPDX-License-Identifier: Apache-2.0
"""Transforms of colours. They leave masks, boxes and coordinates alone."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from . import functional as F
from .base import Compose, PixelTransform


def _within_bytes(image: np.ndarray, dtype) -> np.ndarray:
    """Numbers from 0 to 255 as the image has them that was given."""
    return image.clip(0, 255).astype(dtype)


class _RandomFactor(PixelTransform):
    """A factor between 1 - value and 1 + value, by chance, and never below 0."""

    name = ""  # name of the value in errors

    def __init__(self, value: float, *, order: Sequence[str] | None = None):
        super().__init__(order)
        if value < 0:
            raise ValueError(f"{self.name} value should be non-negative")
        self.value = value

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        if self.value == 0:
            return image
        factor = np.random.uniform(max(0, 1 - self.value), 1 + self.value)
        return _within_bytes(self._changed(image, factor), image.dtype)

    def _changed(self, image: np.ndarray, factor: float) -> np.ndarray:
        raise NotImplementedError


class BrightnessTransform(_RandomFactor):
    """Images brighter or darker by a factor between 1 - value and 1 + value.

    Args:
        value: at least 0.
        order: kinds of the fields.
    Raises:
        ValueError: ``value`` is below 0.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> BrightnessTransform(0.5).apply(image).shape
        (4, 4, 3)
    """

    name = "brightness"

    def _changed(self, image: np.ndarray, factor: float) -> np.ndarray:
        return image.astype(np.float32) * factor


class ContrastTransform(_RandomFactor):
    """Images with more or less contrast: their distance from the mean grey gets a factor.

    Args:
        value: the factor is between 1 - value and 1 + value; at least 0.
        order: types of the fields.
    Raises:
        ValueError: ``value`` is below 0.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> ContrastTransform(0.5).apply(image).shape
        (4, 4, 3)
    """

    name = "contrast"

    def _changed(self, image: np.ndarray, factor: float) -> np.ndarray:
        image = image.astype(np.float32)
        return image * factor + F.to_gray(image).mean() * (1 - factor)


class SaturationTransform(_RandomFactor):
    """Images with more or less colour: their distance from their own grey gets a factor.

    Args:
        value: the factor is between 1 - value and 1 + value; at least 0.
        order: types of the fields.
    Raises:
        ValueError: ``value`` is below 0.
    Example:
        >>> grey = np.full((2, 2, 3), 90, np.uint8)
        >>> bool((SaturationTransform(0.5).apply(grey) == grey).all())
        True
    """

    name = "saturation"

    def _changed(self, image: np.ndarray, factor: float) -> np.ndarray:
        image = image.astype(np.float32)
        return image * factor + F.to_gray(image) * (1 - factor)


class HueTransform(PixelTransform):
    """Rotate the hue by up to a part of the circle. Images are converted to 8 bits.

    Args:
        value: the part, from 0 to 0.5.
        order: kinds of the fields.
    Raises:
        ValueError: ``value`` is outside of that.
    Example:
        >>> grey = np.full((2, 2, 3), 90, np.uint8)
        >>> bool((HueTransform(0.5).apply(grey) == grey).all())
        True
    """

    def __init__(self, value: float, *, order: Sequence[str] | None = None):
        super().__init__(order)
        if value < 0 or value > 0.5:
            raise ValueError("hue value should be in [0.0, 0.5]")
        self.value = value

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        if self.value == 0:
            return image
        cv2 = F.opencv()
        dtype = image.dtype
        hue, saturation, value = cv2.split(
            cv2.cvtColor(image.astype(np.uint8), cv2.COLOR_BGR2HSV_FULL)
        )
        part = np.random.uniform(-self.value, self.value)
        # 255 steps are a full turn; values below 0 and above 255 wrap around.
        hue = hue + np.array(int(part * 255) % 256, np.uint8)
        turned = cv2.cvtColor(cv2.merge([hue, saturation, value]), cv2.COLOR_HSV2BGR_FULL)
        return turned.astype(dtype)


class ColorJitter(PixelTransform):
    """Brightness, contrast, saturation and hue changed by chance, in an order by chance.

    Args:
        brightness: as of ``BrightnessTransform``; 0: not changed.
        contrast: as of ``ContrastTransform``; 0: not changed.
        saturation: as of ``SaturationTransform``; 0: not changed.
        hue: as of ``HueTransform``; 0: not changed.
        order: kinds of the fields.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> jitter = ColorJitter(brightness=0.2, contrast=0.2, saturation=0.2, hue=0.05)
        >>> jitter.apply(image).shape
        (4, 4, 3)
    """

    def __init__(
        self,
        brightness: float = 0,
        contrast: float = 0,
        saturation: float = 0,
        hue: float = 0,
        *,
        order: Sequence[str] | None = None,
    ):
        super().__init__(order)
        wanted = (
            (BrightnessTransform, brightness),
            (ContrastTransform, contrast),
            (SaturationTransform, saturation),
            (HueTransform, hue),
        )
        parts = [transform(value) for transform, value in wanted if value != 0]
        together = [tuple(range(1, len(parts) + 1))] if parts else None
        self.transforms = Compose(parts, shuffle_indices=together, order=order)

    def _take_order(self, order: Sequence[str]) -> None:
        super()._take_order(order)
        self.transforms._take_order(order)

    def apply(self, input: Any) -> Any:
        return self._bare(self.transforms.apply(input))


class Lighting(PixelTransform):
    """Light of another colour and strength, as it varies between photographs (AlexNet, 2012).

    Args:
        scale: standard deviation of the amounts, in parts of 255; at least 0.
        order: kinds of the fields.
    Raises:
        ValueError: ``scale`` is below 0.
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> Lighting(0.1).apply(image).shape
        (4, 4, 3)
    """

    def __init__(self, scale: float, *, order: Sequence[str] | None = None):
        super().__init__(order)
        if scale < 0:
            raise ValueError("lighting scale should be non-negative")
        self.scale = scale
        # Principal components of ImageNet's colours, blue, green, red in rows; their variances.
        self.eigvec = np.array(
            [[-0.5836, -0.6948, 0.4203], [-0.5808, -0.0045, -0.8140], [-0.5675, 0.7192, 0.4009]]
        )
        self.eigval = np.array([0.2175, 0.0188, 0.0045])

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        if self.scale == 0:
            return image
        amounts = np.random.normal(scale=self.scale * 255, size=3)
        return _within_bytes(image + self.eigvec.dot(amounts * self.eigval), image.dtype)
