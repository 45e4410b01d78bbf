# SPDX-License-Identifier: Apache-2.0
"""Transforms that give images another size."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import functional as F
from .base import VisionTransform


class _Resizing(VisionTransform):
    """Resize ``_from`` to ``_to``, both (height, width), computed for each sample."""

    def __init__(self, interpolation, order: Sequence[str] | None):
        super().__init__(order)
        self.interpolation = interpolation
        self._from = self._to = (1, 1)

    def _size_for(self, height: int, width: int) -> Sequence[int]:
        """The size that an image of this one gets."""
        raise NotImplementedError

    def _image_size(self, input: Any) -> tuple[int, int]:
        """The height and width of a sample's image."""
        image = self._get_image(input)
        F.check_image(image)
        return image.shape[:2]

    def apply(self, input: Any) -> Any:
        height, width = self._image_size(input)
        self._from, self._to = (height, width), self._size_for(height, width)
        return super().apply(input)

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        if self._from == tuple(self._to):
            return image
        return F.resize(image, self._to, self.interpolation)

    # Two classes of a mask cannot be interpolated.
    def _apply_mask(self, mask: np.ndarray) -> np.ndarray:
        return F.resize(mask, self._to, F.INTER_NEAREST)

    def _apply_coords(self, coords: np.ndarray) -> np.ndarray:
        (height, width), (new_height, new_width) = self._from, self._to
        out = coords.copy()
        out[..., 0] = coords[..., 0] * new_width / width
        out[..., 1] = coords[..., 1] * new_height / height
        return out


class Resize(_Resizing):
    """Images of one size.

    Args:
        output_size: height and width; or how long the shorter side is to be, the other follows.
        interpolation: OpenCV's number, or several, of which each sample takes one by chance.
        order: kinds of the fields.
    Example:
        >>> image = np.zeros((4, 6, 3), np.uint8)
        >>> Resize((8, 8)).apply(image).shape
        (8, 8, 3)
        >>> Resize(2).apply(image).shape
        (2, 3, 3)
    """

    def __init__(
        self,
        output_size: int | Sequence[int],
        interpolation: int | Sequence[int] = F.INTER_LINEAR,
        *,
        order: Sequence[str] | None = None,
    ):
        super().__init__(interpolation, order)
        if not isinstance(output_size, int) and len(output_size) != 2:
            raise ValueError(f"[Resize] output_size is one number or two, got {output_size!r}")
        self.output_size = output_size

    def _size_for(self, height: int, width: int) -> Sequence[int]:
        if not isinstance(self.output_size, int):
            return self.output_size
        shorter = self.output_size
        if height < width:
            return shorter, int(shorter * width / height)
        return int(shorter * height / width), shorter


class ShortestEdgeResize(_Resizing):
    """Resize to a random length of the shorter side, with a limit on the longer one.

    Args:
        min_size: length of the shorter side: a number, a range of two numbers (``"range"``), or a
            list of choices (``"choice"``).
        max_size: limit of the longer side.
        sample_style: ``"range"`` or ``"choice"``.
        interpolation: OpenCV's number, or several, one of which is drawn for each sample.
        order: types of the fields.
    Raises:
        NotImplementedError: ``sample_style`` is unknown.
    Example:
        >>> image = np.zeros((40, 60, 3), np.uint8)
        >>> ShortestEdgeResize(80, max_size=200).apply(image).shape
        (80, 120, 3)
        >>> ShortestEdgeResize(80, max_size=90).apply(image).shape
        (60, 90, 3)
    """

    def __init__(
        self,
        min_size: int | Sequence[int],
        max_size: int,
        sample_style: str = "range",
        interpolation: int | Sequence[int] = F.INTER_LINEAR,
        *,
        order: Sequence[str] | None = None,
    ):
        super().__init__(interpolation, order)
        if sample_style not in ("range", "choice"):
            raise NotImplementedError(f"{sample_style} is unsupported sample style")
        self.sample_style = sample_style
        self.min_size = (min_size, min_size) if isinstance(min_size, int) else min_size
        self.max_size = max_size

    def _size_for(self, height: int, width: int) -> tuple[int, int]:
        if self.sample_style == "range":
            shorter = np.random.randint(self.min_size[0], self.min_size[1] + 1)
        else:
            shorter = np.random.choice(self.min_size)
        scale = shorter / min(height, width)
        sides = (shorter, scale * width) if height < width else (scale * height, shorter)
        if max(sides) > self.max_size:
            scale = self.max_size / max(sides)
            sides = tuple(side * scale for side in sides)
        return tuple(int(round(side)) for side in sides)


class RandomResize(_Resizing):
    """Images enlarged or made smaller by chance.

    Args:
        scale_range: between which two numbers the factor is.
        interpolation: OpenCV's number, or several, of which each sample takes one by chance.
        order: kinds of the fields.
    Example:
        >>> image, boxes = np.zeros((4, 6, 3), np.uint8), np.array([[0.0, 0.0, 3.0, 2.0]])
        >>> image, boxes = RandomResize((2, 2), order=["image", "boxes"]).apply((image, boxes))
        >>> image.shape, boxes
        ((8, 12, 3), array([[0., 0., 6., 4.]]))
    """

    def __init__(
        self,
        scale_range: Sequence[float],
        interpolation: int | Sequence[int] = F.INTER_LINEAR,
        *,
        order: Sequence[str] | None = None,
    ):
        super().__init__(interpolation, order)
        if np.ndim(scale_range) != 1 or len(scale_range) != 2:
            raise ValueError(f"[RandomResize] scale_range is two numbers, got {scale_range!r}")
        self.scale_range = scale_range

    def _size_for(self, height: int, width: int) -> tuple[int, int]:
        scale = np.random.uniform(*self.scale_range)
        return int(round(scale * height)), int(round(scale * width))


class RandomResizedCrop(_Resizing):
    """Crop a region of random area and aspect ratio, and resize it.

    After ten regions that do not fit, the centre of the image is used.

    Args:
        output_size: height and width, or one number for both.
        scale_range: range of the region's share of the image's area.
        ratio_range: range of its width divided by its height.
        interpolation: OpenCV's number, or several, one of which is drawn for each sample.
        order: types of the fields.
    Raises:
        AssertionError: a range is not increasing.
    Example:
        >>> image = np.zeros((40, 60, 3), np.uint8)
        >>> RandomResizedCrop(32, scale_range=(0.5, 1.0)).apply(image).shape
        (32, 32, 3)
    """

    def __init__(
        self,
        output_size: int | Sequence[int],
        scale_range: Sequence[float] = (0.08, 1.0),
        ratio_range: Sequence[float] = (3.0 / 4, 4.0 / 3),
        interpolation: int | Sequence[int] = F.INTER_LINEAR,
        *,
        order: Sequence[str] | None = None,
    ):
        super().__init__(interpolation, order)
        if isinstance(output_size, int):
            output_size = (output_size, output_size)
        if len(output_size) != 2:
            raise ValueError(
                f"[RandomResizedCrop] output_size is one or two numbers: {output_size}"
            )
        assert scale_range[0] <= scale_range[1], "scale_range should be of kind (min, max)"
        assert ratio_range[0] <= ratio_range[1], "ratio_range should be of kind (min, max)"
        self.output_size = output_size
        self.scale_range = scale_range
        self.ratio_range = ratio_range
        self._corner = (0, 0)

    def apply(self, input: Any) -> Any:
        height, width = self._image_size(input)
        y, x, *self._from = self._window(height, width)
        self._from, self._to, self._corner = tuple(self._from), self.output_size, (y, x)
        return VisionTransform.apply(self, input)

    def _window(self, height: int, width: int) -> tuple[int, int, int, int]:
        """Top, left, height and width."""
        for _ in range(10):
            area = np.random.uniform(*self.scale_range) * height * width
            low, high = (math.log(ratio) for ratio in self.ratio_range)
            ratio = math.exp(np.random.uniform(low, high))
            h, w = int(round(math.sqrt(area / ratio))), int(round(math.sqrt(area * ratio)))
            if 0 < w <= width and 0 < h <= height:
                x = np.random.randint(0, width - w + 1)
                y = np.random.randint(0, height - h + 1)
                return y, x, h, w
        return self._middle(height, width)

    def _middle(self, height: int, width: int) -> tuple[int, int, int, int]:
        ratio = width / height
        if ratio < self.ratio_range[0]:
            w, h = width, int(round(width / self.ratio_range[0]))
        elif ratio > self.ratio_range[1]:
            h, w = height, int(round(height * self.ratio_range[1]))
        else:
            h, w = height, width
        return (height - h) // 2, (width - w) // 2, h, w

    def _cut(self, image: np.ndarray) -> np.ndarray:
        (y, x), (height, width) = self._corner, self._from
        return image[y : y + height, x : x + width]

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        return F.resize(self._cut(image), self._to, self.interpolation)

    def _apply_mask(self, mask: np.ndarray) -> np.ndarray:
        return super()._apply_mask(self._cut(mask))

    def _apply_coords(self, coords: np.ndarray) -> np.ndarray:
        y, x = self._corner
        return super()._apply_coords(coords - np.array([x, y], coords.dtype))
