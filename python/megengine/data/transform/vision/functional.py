# SPDX-License-Identifier: Apache-2.0
"""Images as OpenCV changes them: (H, W, C) arrays in the order blue, green, red.

OpenCV (``pip install opencv-python-headless``) is opened by the first function that needs it.
"""

import functools
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ....core.opencv import opencv

# OpenCV's numbers for interpolations.
INTER_NEAREST = 0
INTER_LINEAR = 1


def check_image(image: Any) -> None:
    """Check that a value is an image (H, W, C).

    Args:
        image: any value.
    Raises:
        TypeError: it is not an array.
        ValueError: it has other than three dimensions.
    Example:
        >>> check_image(np.zeros((4, 4, 1)))
    """
    if not isinstance(image, np.ndarray):
        raise TypeError(
            f"image must be an array (H, W, C), got {type(image).__name__};"
            " np.asarray converts an image of Pillow"
        )
    if image.ndim != 3:
        hint = "; image[..., np.newaxis] has the channel of a grey one" if image.ndim == 2 else ""
        raise ValueError(f"image must have 3 dims, but got {image.ndim} dims{hint}")


def wrap_keepdims(func: Callable) -> Callable:
    """Make a function of images give three dimensions even where OpenCV drops the last one.

    OpenCV ignores the byte order of a dtype, so the function gets an image of the native one.

    Args:
        func: takes an image (H, W, C) first.
    Returns:
        The function; it raises a ValueError for an image of other than three dimensions.
    Example:
        >>> @wrap_keepdims
        ... def halved(image):
        ...     return image[::2, ::2, 0]
        >>> halved(np.zeros((4, 4, 1))).shape
        (2, 2, 1)
    """

    @functools.wraps(func)
    def wrapper(image: np.ndarray, *args, **kwargs) -> np.ndarray:
        check_image(image)
        native = np.asarray(image, image.dtype.newbyteorder("="))
        result = func(native, *args, **kwargs)
        return result if result.ndim == 3 else result[:, :, np.newaxis]

    return wrapper


@wrap_keepdims
def to_gray(image: np.ndarray) -> np.ndarray:
    """Colours to one channel.

    Args:
        image: (H, W, 3) of uint8, uint16 or float32.
    Returns:
        (H, W, 1): 0.114 blue + 0.587 green + 0.299 red.
    Example:
        >>> red = np.array([[[0, 0, 200]]], np.uint8)
        >>> to_gray(red)
        array([[[60]]], dtype=uint8)
    """
    cv2 = opencv()
    return cv2.cvtColor(image, cv2.COLOR_BGR2GRAY)


@wrap_keepdims
def to_bgr(image: np.ndarray) -> np.ndarray:
    """Repeat a single channel three times.

    Args:
        image: (H, W, 1).
    Returns:
        (H, W, 3).
    Example:
        >>> to_bgr(np.array([[[7]]], np.uint8))
        array([[[7, 7, 7]]], dtype=uint8)
    """
    cv2 = opencv()
    return cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)


@wrap_keepdims
def pad(input: np.ndarray, size, value) -> np.ndarray:
    """Add borders.

    Args:
        input: (H, W, C).
        size: pixels: one number for all sides, two for bottom and right, four for top, bottom,
            left and right.
        value: value of the border, or one for each channel.
    Returns:
        (H + top + bottom, W + left + right, C).
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> pad(image, 1, 0).shape
        (6, 6, 3)
    """
    if isinstance(size, int):
        size = (size,) * 4
    elif len(size) == 2:
        size = (0, size[0], 0, size[1])
    if np.array(value).dtype.kind == "f":
        input = input.astype(np.float32)
    cv2 = opencv()
    return cv2.copyMakeBorder(input, *size, cv2.BORDER_CONSTANT, value=value)


@wrap_keepdims
def flip(image: np.ndarray, flipCode: int) -> np.ndarray:
    """Mirror an image.

    Args:
        image: (H, W, C).
        flipCode: 0 top and bottom, above 0 left and right, below 0 both.
    Returns:
        (H, W, C).
    Example:
        >>> image = np.arange(48, dtype=np.uint8).reshape(4, 4, 3)
        >>> bool((flip(image, 1) == image[:, ::-1]).all())
        True
    """
    return opencv().flip(image, flipCode)


@wrap_keepdims
def resize(
    input: np.ndarray, size: Sequence[int], interpolation: int | Sequence[int] = INTER_LINEAR
) -> np.ndarray:
    """Give an image another size.

    Args:
        input: (H, W, C).
        size: height and width.
        interpolation: OpenCV's number (``cv2.INTER_AREA``), or several, of which each call takes
            one by chance.
    Returns:
        (height, width, C).
    Raises:
        ValueError: ``size`` is not two numbers.
    Example:
        >>> resize(np.zeros((4, 6, 3), np.uint8), (2, 3)).shape
        (2, 3, 3)
        >>> row = np.array([[[0], [100]]], np.uint8)
        >>> resize(row, (1, 4))[0, :, 0]
        array([  0,  25,  75, 100], dtype=uint8)
    """
    if len(size) != 2:
        raise ValueError(f"resize needs (h, w), but got {size}")
    if isinstance(interpolation, Sequence):
        interpolation = random.choice(interpolation)
    height, width = size
    return opencv().resize(input, (width, height), interpolation=interpolation)
