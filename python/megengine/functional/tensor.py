# SPDX-License-Identifier: Apache-2.0
"""Making tensors, changing their shape, joining and taking them apart."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.counted import counted
from ..core.hints import refuse_keywords, with_hints
from ..core.operands import Operand, Shape, as_list, beside, is_whole
from ..core.tensor import shaping
from ..core.tensor.extents import (
    Extent,
    extent,
    extent_argument,
    extents,
    extents_follow,
    least,
    reshaped_with,
)
from ..core.tensor.indexing import MAX_RANK
from ..core.tensor.shape_arguments import as_int, as_vector, named_axes, normal_axis
from ..core.tracing_state import is_recorded
from ..tensor import Tensor
from .complex_numbers import complex, imag, polar, real
from .creation import (
    arange,
    as_tensor,
    as_tensors,
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


def _tensors(values: Iterable[Operand], who: str, device: Any = None) -> list[Tensor]:
    """Operands as Tensors on a device; None: the device of the first Tensor among them."""
    try:
        items = iter(values)
    except TypeError:
        kind = type(values).__name__
        raise TypeError(f"[{who}] expected a sequence of Tensors, got {kind}") from None
    operands = list(items)
    for place, operand in enumerate(operands):
        if operand is None:
            raise TypeError(f"[{who}] operand {place} is None, expected a Tensor")
    tensors = as_tensors(*operands)
    return [t if device is None or t.device == device else copy(t, device) for t in tensors]


def broadcast_to(inp: Operand, shape: Shape) -> Tensor:
    """A tensor repeated along axes of size 1 (and new leading axes) to reach a shape.

    Args:
        inp: any shape.
        shape: the new shape; None keeps an axis.
    Returns:
        Tensor of that shape.
    Raises:
        ValueError: an entry is negative.
        RuntimeError: ``inp`` does not broadcast to ``shape``.
    Example:
        >>> F.broadcast_to(Tensor([1, 2]), (2, 2))
        Tensor([[1 2]
         [1 2]], dtype=int32, device=xpux:0)
    """
    return shaping.broadcast(as_tensor(inp), shape)


@with_hints
def concat(inps: Sequence[Tensor], axis: int = 0, device: Any = None, **others: Any) -> Tensor:
    """Tensors joined along an axis they have.

    Args:
        inps: tensors that agree in all other axes; their dtypes are promoted. Values of rank 0
            count as vectors of one element.
        axis: axis to join along.
        device: device of the result; None: that of the inputs.
    Returns:
        Tensor.
    Raises:
        TypeError: ``inps`` is empty, or is not a sequence of Tensors.
        RuntimeError: the shapes or devices differ, or the axis is out of range.
    Example:
        >>> F.concat([Tensor([1]), Tensor([2, 3])])
        Tensor([1 2 3], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("concat", others)
    inps = [as_vector(t) for t in _tensors(inps, "concat", device)]
    if not inps:
        raise TypeError("[concat] at least one tensor is needed")
    try:
        return _mge.ops.concat(*inps, axis=axis) if len(inps) > 1 else _mge.ops.copy(inps[0])
    except ValueError as error:
        raise RuntimeError(str(error)) from None


@with_hints
def stack(inps: Sequence[Tensor], axis: int = 0, device: Any = None, **others: Any) -> Tensor:
    """Tensors of one shape joined along a new axis.

    Args:
        inps: tensors.
        axis: place of the new axis in the result.
        device: as in ``concat``.
    Returns:
        Tensor of one rank more.
    Raises:
        TypeError: ``inps`` is not a sequence of Tensors.
        RuntimeError: the shapes differ.
    Example:
        >>> F.stack([Tensor([1, 2]), Tensor([3, 4])])
        Tensor([[1 2]
         [3 4]], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("stack", others)
    inps = _tensors(inps, "stack")
    shapes = {t._tuple_shape for t in inps}
    if len(shapes) > 1:
        raise RuntimeError(f"[stack] all shapes must be equal, got {sorted(shapes)}")
    return concat([expand_dims(t, axis) for t in inps], axis, device)


@with_hints
def split(
    inp: Tensor,
    nsplits_or_sections: int | Sequence[int],
    axis: int = 0,
    **others: Any,
) -> tuple[Tensor, ...]:
    """Split a tensor along an axis. Nothing is copied along the first axis with more than one
    element.

    Args:
        inp: any rank from 1.
        nsplits_or_sections: how many parts (the first ones are longer if it does not divide), or
            the positions to cut at.
        axis: axis to cut.
    Returns:
        Tuple of Tensors.
    Raises:
        ValueError: the count is not in [1, size], or the positions decrease or leave the axis.
    Example:
        >>> F.split(Tensor([1, 2, 3]), 2)[0]
        Tensor([1 2], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("split", others)
    inp = as_tensor(inp)
    axis = normal_axis(axis, inp.ndim, "split")
    total = inp._tuple_shape[axis]
    is_count = isinstance(nsplits_or_sections, Tensor) and nsplits_or_sections.ndim == 0
    if is_count or is_whole(nsplits_or_sections):
        n = as_int(nsplits_or_sections, "split", "a count")
        if n <= 0:
            raise ValueError("Number sections must be larger than 0")
        if n > total:
            raise ValueError(f"[split] the count must be in [1, {total}], got {n}")
        parts_share = extents_follow(inp)
        sizes = [-1 if parts_share else total // n + (k < total % n) for k in range(n)]
    else:
        if isinstance(nsplits_or_sections, (float, np.floating)):
            raise TypeError(f"[split] a count must be an integer, got {nsplits_or_sections!r}")
        sections = as_list(nsplits_or_sections, "split", "nsplits_or_sections")
        if is_recorded(*sections):
            return _between(inp, sections, axis)
        points = [as_int(p, "split", "a position") for p in sections]
        edges = [0, *points, total]
        if any(a > b for a, b in zip(edges, edges[1:], strict=False)):
            # MegEngine's words with its spelling, which programs compare.
            raise ValueError(f"Invalid nsplits_or_secions: {points}")
        sizes = [b - a for a, b in zip(edges, edges[1:], strict=False)]
        if extents_follow(inp):
            sizes[-1] = -1
    parts = _mge.ops.split(inp, axis=axis, sizes=sizes)
    return (parts,) if isinstance(parts, _mge.Tensor) else parts


def _between(x: Tensor, points: Sequence[Any], axis: int) -> tuple[Tensor, ...]:
    """The parts between positions that follow the sizes of a trace's arguments."""
    edges = [0, *(extent_argument(p, "split", "a position") for p in points), None]
    whole = (slice(None),) * axis
    return tuple(x[(*whole, slice(a, b))] for a, b in zip(edges, edges[1:], strict=False))


def transpose(inp: Operand, pattern: Sequence[int | str]) -> Tensor:
    """A tensor with its axes in another order.

    Args:
        inp: any rank.
        pattern: for each axis of the result the axis it comes from, counted from the front, or
            ``"x"`` for a new one of size 1. An axis of size 1 may be left out. An empty pattern
            reverses the axes.
    Returns:
        Tensor.
    Raises:
        RuntimeError: ``pattern`` names an axis twice, one that is not there, or not all.
    Example:
        >>> F.transpose(Tensor([[1, 2, 3]]), (1, 0)).shape
        (3, 1)
    """
    out: Tensor = shaping.transposed(as_tensor(inp), pattern)
    return out


def swapaxes(inp: Tensor, axis1: int, axis2: int) -> Tensor:
    """A tensor with two axes exchanged.

    Args:
        inp: any rank.
        axis1: an axis.
        axis2: another axis.
    Returns:
        Tensor.
    Raises:
        IndexError: an axis is out of range.
    Example:
        >>> F.swapaxes(Tensor([[1, 2, 3]]), 0, 1).shape
        (3, 1)
    """
    inp = as_tensor(inp)
    pattern = list(range(inp.ndim))
    a, b = (normal_axis(k, inp.ndim, "swapaxes") for k in (axis1, axis2))
    pattern[a], pattern[b] = b, a
    return _mge.ops.transpose(inp, pattern=pattern)


def reshape(inp: Operand, target_shape: Shape) -> Tensor:
    """The same values, in order, in another shape.

    Args:
        inp: any shape.
        target_shape: ints or Tensors, at most one of them -1; or an int32 vector.
    Returns:
        Tensor.
    Raises:
        ValueError: an entry is below -1, or two are -1.
        RuntimeError: the number of elements differs.
    Example:
        >>> F.reshape(Tensor([1, 2, 3, 4]), (2, -1))
        Tensor([[1 2]
         [3 4]], dtype=int32, device=xpux:0)
    """
    out: Tensor = shaping.reshaped(as_tensor(inp), target_shape)
    return out


def flatten(inp: Tensor, start_axis: int = 0, end_axis: int = -1) -> Tensor:
    """A range of axes made into one.

    Args:
        inp: any rank.
        start_axis: first axis of the range.
        end_axis: last axis of the range; the one before ``start_axis`` makes a new axis of size 1
            at that place.
    Returns:
        Tensor.
    Example:
        >>> F.flatten(Tensor([[1, 2], [3, 4]]))
        Tensor([1 2 3 4], dtype=int32, device=xpux:0)
    """
    return shaping.flattened(as_tensor(inp), start_axis, end_axis)


@with_hints
def expand_dims(inp: Tensor, axis: int | Sequence[int], **others: Any) -> Tensor:
    """A tensor with new axes of size 1.

    Args:
        inp: any rank.
        axis: places of the new axes in the result. Where a place is named twice, two axes are next
            to each other.
    Returns:
        Tensor.
    Raises:
        RuntimeError: a place is out of range.
    Example:
        >>> F.expand_dims(Tensor([1, 2]), 0).shape
        (1, 2)
    """
    if others:
        refuse_keywords("expand_dims", others)
    inp = as_tensor(inp)
    axes = named_axes(axis, "expand_dims")
    rank = inp.ndim + len(axes)
    places: list[int] = []
    for place in sorted(a % rank if -rank <= a < rank else rank for a in axes):
        places.append(max(place, places[-1] + 1) if places else place)
    if places and places[-1] >= rank:
        raise RuntimeError(f"[expand_dims] axes must lie in rank {rank}, got {axes}")
    return _mge.ops.add_axis(inp, axes=places)


@with_hints
def squeeze(inp: Tensor, axis: int | Sequence[int] | None = None, **others: Any) -> Tensor:
    """A tensor without axes of size 1.

    Args:
        inp: any rank.
        axis: axes to remove; None removes all of size 1.
    Returns:
        Tensor.
    Raises:
        RuntimeError: an axis has another size, or is out of range.
    Example:
        >>> F.squeeze(Tensor([[1, 2]])).shape
        (2,)
    """
    if others:
        refuse_keywords("squeeze", others)
    inp = as_tensor(inp)
    shape = inp._tuple_shape
    if axis is None:
        axes = [k for k, size in enumerate(shape) if size == 1]
    else:
        listed = named_axes(axis, "squeeze")
        if any(not -inp.ndim <= a < inp.ndim for a in listed):
            raise RuntimeError(f"[squeeze] axes must lie in rank {inp.ndim}, got {listed}")
        axes = sorted({a % inp.ndim for a in listed})
    for a in axes:
        if shape[a] != 1:
            raise RuntimeError(f"[squeeze] axis {a} has size {shape[a]}, only 1 can be removed")
    return _mge.ops.remove_axis(inp, axes=axes) if axes else _mge.ops.copy(inp)


def _count(value: Any, who: str, argument: str) -> int | Tensor:
    """A count as an integer, or the Tensor that a trace must keep."""
    return value if is_recorded(value) else as_int(value, who, argument)


@with_hints
def repeat(inp: Tensor, repeats: int, axis: int | None = None, **others: Any) -> Tensor:
    """Each element repeated, next to itself.

    Args:
        inp: any rank.
        repeats: number of repetitions, at least 1; a traced Tensor may have another value in each
            call.
        axis: axis to repeat along; None flattens first.
    Returns:
        Tensor.
    Raises:
        AssertionError: ``repeats`` is below 1 or the axis is negative.
    Example:
        >>> F.repeat(Tensor([1, 2]), 2)
        Tensor([1 1 2 2], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("repeat", others)
    count = _count(repeats, "repeat", "repeats")
    assert is_recorded(count) or count >= 1, f"[repeat] repeats must be at least 1, got {count}"
    if axis is None:
        inp, axis = flatten(inp), 0
    assert 0 <= axis < max(inp.ndim, 1), f"[repeat] axis must be in [0, {inp.ndim}), got {axis}"
    inp = inp if inp.ndim else flatten(inp)
    wide: list[Any] = [None] * (axis + 1) + [count] + [None] * (inp.ndim - axis - 1)
    return _mge.ops.flatten(
        broadcast_to(expand_dims(inp, axis + 1), wide), start=axis, end=axis + 1
    )


def tile(inp: Tensor, reps: Sequence[int]) -> Tensor:
    """Repeat a tensor along axes.

    Args:
        inp: any rank.
        reps: count for each axis; more entries than axes make new leading axes.
    Returns:
        Tensor.
    Raises:
        TypeError: ``reps`` is not a sequence.
        AssertionError: there are fewer entries than axes, or an entry is negative.
    Example:
        >>> F.tile(Tensor([1, 2]), (2,))
        Tensor([1 2 1 2], dtype=int32, device=xpux:0)
    """
    inp = as_tensor(inp)
    if not isinstance(reps, Iterable):
        raise TypeError(f"[tile] reps must be a sequence of ints, got {reps!r}")
    counts = [_count(r, "tile", "reps") for r in reps]
    assert len(counts) >= inp.ndim and all(is_recorded(c) or c >= 0 for c in counts), (
        f"[tile] reps needs at least {counted(inp.ndim, 'entry', 'entries')}, none negative,"
        f" got {counts}"
    )
    rank = len(counts)
    out = _mge.ops.add_axis(inp, axes=list(range(rank - inp.ndim))) if rank > inp.ndim else inp
    repeated = [axis for axis, count in enumerate(counts) if is_recorded(count) or count != 1]
    at_once = max(MAX_RANK - rank, 1)
    for first in range(0, len(repeated), at_once):
        axes = repeated[first : first + at_once]
        places = [axis + i for i, axis in enumerate(axes)]
        wide: list[Any] = [None] * (rank + len(axes))
        for place, axis in zip(places, axes, strict=True):
            wide[place] = counts[axis]
        out = broadcast_to(expand_dims(out, places), wide)
        for axis in axes:
            out = _mge.ops.flatten(out, start=axis, end=axis + 1)
    return copy(inp) if out is inp else out


@with_hints
def roll(
    inp: Tensor,
    shift: int | Sequence[int],
    axis: int | Sequence[int] | None = None,
    **others: Any,
) -> Tensor:
    """Elements moved along axes; those beyond the end wrap to the front.

    Args:
        inp: any rank.
        shift: number of positions.
        axis: axis for each shift; None rolls the flattened tensor and restores the shape.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        TypeError: an axis has several shifts.
        AssertionError: the numbers of shifts and axes differ, or an axis is out of range.
    Example:
        >>> F.roll(Tensor([1, 2, 3]), 1)
        Tensor([3 1 2], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("roll", others)
    inp = as_tensor(inp)
    if axis is None:
        return reshaped_with(roll(flatten(inp), shift, 0), extents(inp, 0))
    axes = named_axes(axis, "roll")
    several = shift if isinstance(shift, Iterable) and getattr(shift, "ndim", 1) != 0 else None
    given: list[Any] = [shift] * len(axes) if several is None else list(several)
    if is_whole(axis) and several is not None:
        raise TypeError(f"[roll] axis must be as many as the shifts {tuple(given)}, got {axis}")
    assert len(given) == len(axes), (
        f"[roll] {counted(len(given), 'shift')} for {counted(len(axes), 'axis', 'axes')}"
    )
    shifts = [extent_argument(s, "roll", "shift") for s in given]
    for a in axes:
        assert -inp.ndim <= a < inp.ndim, f"[roll] axis {a} is out of range for rank {inp.ndim}"
    # As in MegEngine, only shifts of 0 give the Tensor itself.
    if not any(not isinstance(s, int) or s for s in shifts):
        return inp
    sizes = [inp._tuple_shape[a] for a in axes]
    # A dumped net takes axes of other sizes, shorter ones than the shift too.
    follows = extents_follow(inp)
    known = [s for s in shifts if isinstance(s, int)]
    if not follows and inp._quantised is None and len(known) == len(shifts):
        return _mge.ops.roll(inp, shifts=known, axes=axes)
    out = inp
    for s, a, size in zip(shifts, axes, sizes, strict=True):
        if not size or (isinstance(s, int) and not s):
            continue
        cut = -(s % (extent(inp, a % inp.ndim) if follows else size))
        if follows or cut:
            before = (slice(None),) * (a % inp.ndim)
            front, back = out[(*before, slice(cut, None))], out[(*before, slice(None, cut))]
            out = concat([front, back], a)
    return copy(inp) if out is inp else out


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
