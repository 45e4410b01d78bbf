# SPDX-License-Identifier: Apache-2.0
"""Common parts of the image Modules: conversion of integers to floats and back, borders, random
factors."""

from collections.abc import Callable

import numpy as np

from ... import _mge
from ...core.operands import beside
from ...random import RNG
from ...tensor import Tensor

# NumPy's names of border modes, by OpenCV's names.
_BORDERS = {
    "REPLICATE": "edge",
    "REFLECT": "symmetric",
    "REFLECT_101": "reflect",
    "WRAP": "wrap",
    "CONSTANT": "constant",
}

# Modes of the operator pad, which follows the size of the images in a trace, by OpenCV's names.
_MODES = {"CONSTANT": "constant", "REPLICATE": "replicate", "REFLECT_101": "reflect"}

Factor = float | tuple[float, float]


def in_floats(change: Callable[[Tensor], Tensor], images: Tensor) -> Tensor:
    """Change images in float32; 8-bit results are rounded and clipped to [0, 255].

    New Tensors of ``change`` are created beside the images.

    Raises:
        AssertionError: they are not of rank 4.
    """
    assert images.ndim == 4, f"images have 4 axes (N, C, H, W), got {images.ndim}"
    with beside(images):
        if images.dtype != np.uint8:
            return change(images)
        changed = _mge.ops.round(change(images.astype("float32")))
        return _mge.ops.clip(changed, lower=0.0, upper=255.0).astype("uint8")


def border_of(name: str, who: str) -> str:
    """OpenCV's name of a border without its prefix, in capitals.

    Raises:
        ValueError: there is no such border.
    """
    border = str(name).upper().removeprefix("BORDER_")
    if border not in _BORDERS:
        raise ValueError(f"[{who}] the border must be in {list(_BORDERS)}, got {name!r}")
    return border


def bordered(images: Tensor, rows: tuple, columns: tuple, border: str, value: float = 0.0):
    """Images with a border.

    Args:
        images: (N, C, H, W), floats.
        rows: how many to add above and below.
        columns: how many to add left and right.
        border: of ``border_of``.
        value: of a constant border.
    """
    _, _, height, width = images._tuple_shape
    mode = _MODES.get(border)
    if mode == "reflect" and (max(rows) >= height or max(columns) >= width):
        mode = None  # the operator mirrors once
    if mode is not None:
        before, after = [0, 0, rows[0], columns[0]], [0, 0, rows[1], columns[1]]
        return _mge.ops.pad(images, before=before, after=after, mode=mode, value=float(value))
    for axis, widths in ((2, rows), (3, columns)):
        if any(widths):
            places = np.pad(np.arange(images._tuple_shape[axis]), widths, mode=_BORDERS[border])
            images = _mge.ops.take(images, places.astype(np.int32), axes=[axis])
    return images


class RandomFactors:
    """Random numbers of one Module.

    Args:
        seed: seed of its own stream; None: the shared stream.
    """

    def __init__(self, seed: int | None):
        self.seed = seed
        self.rng = RNG(seed)

    def factor(self, bounds: Factor, size=(1,)) -> Tensor:
        """Numbers between two bounds, or one number that is always the same."""
        low, high = bounds if isinstance(bounds, tuple) else (bounds, bounds)
        if low == high:
            return Tensor([low])
        return self.draw("uniform", low, high, size)

    def draw(self, distribution: str, *arguments) -> Tensor:
        """Draw numbers on the default device; a seeded stream has the same numbers on each device.

        Args:
            distribution: the name of a method of ``RNG``.
            arguments: its arguments.
        """
        numbers = getattr(self.rng, distribution)(*arguments)
        return numbers.to(_mge.get_default_device())


def checked_factor(bounds: Factor, who: str, argument: str, least: float = 0.0) -> Factor:
    """A number, or two that are the bounds of a random one.

    Raises:
        ValueError: a number is below ``least``, or the bounds do not rise.
        TypeError: it is neither.
    """
    if isinstance(bounds, (int, float)):
        bounds_or_one = (float(bounds),)
    elif isinstance(bounds, (tuple, list)) and len(bounds) == 2:
        bounds_or_one = tuple(float(v) for v in bounds)
    else:
        raise TypeError(f"[{who}] {argument} must be a number or two, got {bounds!r}")
    if min(bounds_or_one) < least or list(bounds_or_one) != sorted(bounds_or_one):
        raise ValueError(f"[{who}] {argument} must rise and not be below {least}, got {bounds!r}")
    return bounds_or_one if len(bounds_or_one) == 2 else bounds_or_one[0]
