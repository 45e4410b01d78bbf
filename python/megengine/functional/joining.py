# SPDX-License-Identifier: Apache-2.0
"""Tensors joined into one, and one cut into several."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.hints import refuse_keywords, with_hints
from ..core.operands import Operand, as_list, is_whole
from ..core.tensor import shaping
from ..core.tensor.extents import extent_argument, extents_follow
from ..core.tensor.shape_arguments import as_int, as_vector, normal_axis
from ..core.tracing_state import is_recorded
from ..tensor import Tensor
from .axes import expand_dims
from .creation import as_tensor, as_tensors


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
    return [
        t if device is None or t.device == device else shaping.copied(t, device) for t in tensors
    ]


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
