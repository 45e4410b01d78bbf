# SPDX-License-Identifier: Apache-2.0
"""Making tensors, changing their shape, joining and taking them apart."""

from typing import Any

import numpy as np

from .. import _mge
from ..core.hints import refuse_keywords, with_hints
from ..core.operands import beside
from ..core.tensor import shaping
from ..core.tensor.extents import Extent, extent, extents, least
from ..core.tensor.shape_arguments import as_int, as_vector
from ..tensor import Tensor
from .axes import (
    broadcast_to,
    expand_dims,
    flatten,
    reshape,
    squeeze,
    swapaxes,
    transpose,
)
from .complex_numbers import complex, imag, polar, real
from .creation import (
    arange,
    as_tensor,
    eye,
    full,
    full_like,
    linspace,
    logspace,
    ones,
    ones_like,
    zeros,
    zeros_like,
)
from .joining import concat, split, stack
from .repetition import repeat, roll, tile
from .selection import (
    cond_take,
    gather,
    non_zero,
    scatter,
    where,
)

__all__ = [
    "arange",
    "broadcast_to",
    "complex",
    "concat",
    "cond_take",
    "copy",
    "cumsum",
    "diag",
    "expand_dims",
    "eye",
    "flatten",
    "full",
    "full_like",
    "gather",
    "imag",
    "linspace",
    "logspace",
    "meshgrid",
    "non_zero",
    "ones",
    "ones_like",
    "polar",
    "real",
    "repeat",
    "reshape",
    "roll",
    "scatter",
    "split",
    "squeeze",
    "stack",
    "swapaxes",
    "tile",
    "transpose",
    "where",
    "zeros",
    "zeros_like",
]


def diag(inp: Tensor, k: int = 0) -> Tensor:
    """The diagonal of a matrix, or the matrix with a given diagonal.

    Args:
        inp: a matrix, whose diagonal is returned, or a vector (also a Tensor of rank 0), which
            becomes the diagonal of a matrix.
        k: the diagonal; a positive number selects one above the main diagonal.
    Returns:
        Tensor.
    Raises:
        RuntimeError: the rank is not 1 or 2, or the diagonal is outside the matrix.
    Example:
        >>> F.diag(Tensor([[1, 2], [3, 4]]))
        Tensor([1 4], dtype=int32, device=xpux:0)
    """
    inp, k = as_vector(as_tensor(inp)), as_int(k, "diag", "k")
    row, column = max(-k, 0), max(k, 0)
    if inp.ndim == 2:
        rows, columns = inp._tuple_shape
        if min(rows - row, columns - column) <= 0:
            raise RuntimeError(f"[diag] diagonal {k} is outside of shape {inp._tuple_shape}")
        height, width = extents(inp, 0)
        with beside(inp):
            steps = _steps(least(height - row, width - column))
        return _mge.ops.take(inp, steps + row, steps + column, axes=[0, 1])
    if inp.ndim == 1:
        count = extent(inp, 0)
        with beside(inp):
            steps = _steps(count)
            out = zeros((count + abs(k), count + abs(k)), dtype=inp.dtype)
        return _mge.ops.set_take(out, inp, steps + row, steps + column, axes=[0, 1])
    raise RuntimeError(f"[diag] rank must be 1 or 2, got {inp.ndim}")


def _steps(count: Extent) -> Tensor | np.ndarray:
    """The integers below a count."""
    if isinstance(count, int):
        return np.arange(count, dtype=np.int32)
    return arange(count, dtype="int32")


@with_hints
def cumsum(inp: Tensor, axis: int, **others: Any) -> Tensor:
    """Sums of an axis up to each place.

    Args:
        inp: any rank; a value of rank 0 is a vector of one element.
        axis: axis to sum along.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        TypeError: no axis is given.
        RuntimeError: the axis is out of range.
    Example:
        >>> F.cumsum(Tensor([1, 2, 3]), 0)
        Tensor([1 3 6], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("cumsum", others)
    if axis is None:
        raise TypeError("[cumsum] axis must be an integer, got None")
    try:
        return _mge.ops.cumsum(as_vector(as_tensor(inp)), axis=axis)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def meshgrid(*inputs: Tensor, indexing: str = "xy") -> tuple[Tensor, ...]:
    """Grids of coordinates from vectors.

    Args:
        inputs: vectors.
        indexing: ``"xy"`` (the first vector runs along axis 1) or ``"ij"``.
    Returns:
        One Tensor per input, all of one shape.
    Raises:
        RuntimeError: ``indexing`` is unknown.
    Example:
        >>> F.meshgrid(Tensor([1, 2]), Tensor([3, 4]))[0]
        Tensor([[1 2]
         [1 2]], dtype=int32, device=xpux:0)
    """
    if indexing not in ("xy", "ij"):
        raise RuntimeError(f"[meshgrid] indexing is 'xy' or 'ij', got {indexing!r}")
    order = list(range(len(inputs)))
    if indexing == "xy" and len(inputs) > 1:
        order[0], order[1] = 1, 0
    vectors = [_mge.ops.reshape(t, shape=[-1]) for t in inputs]
    shape: list[Any] = [0] * len(inputs)
    for k, vector in zip(order, vectors, strict=True):
        shape[k] = extent(vector, 0)
    grids = []
    for k, vector in zip(order, vectors, strict=True):
        others = [a for a in range(len(inputs)) if a != k]
        lone = _mge.ops.add_axis(vector, axes=others) if others else vector
        grids.append(broadcast_to(lone, shape))
    return tuple(grids)


def copy(inp: Tensor, device: Any = None) -> Tensor:
    """A copy, perhaps on another device.

    Args:
        inp: any shape.
        device: for example ``"cpu1"``; None: that of ``inp``.
    Returns:
        Tensor.
    Raises:
        RuntimeError: there is no such device.
    Example:
        >>> F.copy(Tensor([1, 2]))
        Tensor([1 2], dtype=int32, device=xpux:0)
    """
    return shaping.copied(inp, device)
