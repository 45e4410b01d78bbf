# SPDX-License-Identifier: Apache-2.0
"""Elements repeated, and moved around along axes."""

from collections.abc import Iterable, Sequence
from typing import Any

from .. import _mge
from ..core.counted import counted
from ..core.hints import refuse_keywords, with_hints
from ..core.operands import is_whole
from ..core.tensor import shaping
from ..core.tensor.extents import extent, extent_argument, extents, extents_follow, reshaped_with
from ..core.tensor.indexing import MAX_RANK
from ..core.tensor.shape_arguments import as_int, named_axes
from ..core.tracing_state import is_recorded
from ..tensor import Tensor
from .axes import broadcast_to, expand_dims, flatten
from .creation import as_tensor
from .joining import concat


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
    return shaping.copied(inp) if out is inp else out


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
    return shaping.copied(inp) if out is inp else out
