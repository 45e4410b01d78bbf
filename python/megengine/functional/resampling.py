# SPDX-License-Identifier: Apache-2.0
"""Images in another size, one axis after the other: which pixels, and how much of each.

Positions are fractions of integers that follow from the two sizes. So they agree whether NumPy
computes them from numbers, or a graph from the shape of its input.
"""

from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from .. import _mge
from ..core.tensor.extents import Extent, greatest
from ..tensor import Tensor

_CUBIC = -0.75  # Keys' parameter, as OpenCV and others choose it
_DENOMINATOR = 10_000  # larger than common denominators; sizes times numerators fit in 32 bits


def scaled(have: Extent, factor: float) -> Extent:
    """A size times a factor, rounded down; 100 times 0.29 is 29.

    Args:
        have: the size.
        factor: the positive factor.
    """
    fraction = _as_fraction(factor)
    return have * fraction.numerator // fraction.denominator


@lru_cache(maxsize=64)
def _as_fraction(factor: float) -> Fraction:
    return Fraction(factor).limit_denominator(_DENOMINATOR)


def resample(
    x: Tensor, axis: int, have: Extent, want: Extent, mode: str, align_corners: bool
) -> Any:
    """Images in another size along one axis.

    Args:
        x: a Tensor of floats or bytes.
        axis: the axis, not negative.
        have: its size.
        want: the size of the result.
        mode: mode of ``interpolate``.
        align_corners: as in ``interpolate``.
    Returns:
        Tensor, floating if pixels are blended.
    """
    total = None
    for place, weight in _taps(have, want, mode, align_corners):
        part = _mge.ops.take(x, place, axes=[axis])
        if weight is not None:
            part = part * _along(weight, axis, x.ndim)
        total = part if total is None else total + part
    return total


def _along(weight: Any, axis: int, rank: int) -> Any:
    """A vector as a factor along one axis of a Tensor."""
    trailing = list(range(1, rank - axis))
    if isinstance(weight, np.ndarray):
        return np.expand_dims(weight.astype(np.float32), trailing)
    return _mge.ops.add_axis(weight, axes=trailing) if trailing else weight


def _taps(have: Extent, want: Extent, mode: str, align_corners: bool) -> list[tuple[Any, Any]]:
    """Position and weight, (want,), of each source pixel of a new pixel; None for a weight of 1."""
    is_known = isinstance(have, int) and isinstance(want, int)
    ops: Any
    at: Any
    ops, dtype = (np, np.int64) if is_known else (_mge.ops, np.int32)
    at = np.arange(want, dtype=dtype) if isinstance(want, int) else _count_up(want)
    if mode == "nearest":
        return [(ops.minimum(at * have // want, have - 1), None)]
    if align_corners:  # the centres of the corner pixels stay in place
        numerator, denominator = at * (have - 1), greatest(want - 1, 1)
    else:  # (at + 1/2) have / want - 1/2
        numerator, denominator = (at * 2 + 1) * have - want, want * 2
    base = numerator // denominator
    rest = numerator - base * denominator
    after, before = rest / denominator, (denominator - rest) / denominator  # weights of the two
    # nearest centres
    return [
        (ops.minimum(ops.maximum(base + step, 0), have - 1), weight)
        for step, weight in (_cubic if mode == "bicubic" else _linear)(after, before)
    ]


def _count_up(count: Tensor) -> Tensor:
    return _mge.ops.arange(last=count, dtype="int32")


def _linear(after: Any, before: Any) -> list[tuple[int, Any]]:
    return [(0, before), (1, after)]


def _cubic(after: Any, before: Any) -> list[tuple[int, Any]]:
    """Keys' polynomials of the distance d: (a + 2) d³ - (a + 3) d² + 1, a (d - 1) (d - 2)²."""
    a = _CUBIC
    near = [((a + 2) * d - (a + 3)) * d * d + 1 for d in (after, before)]
    far = [after * before * before * a, before * after * after * a]
    return [(-1, far[0]), (0, near[0]), (1, near[1]), (2, far[1])]
