# SPDX-License-Identifier: Apache-2.0
"""The axes of a tensor: their order, sizes and number."""

from collections.abc import Sequence
from typing import Any

from .. import _mge
from ..core.hints import refuse_keywords, with_hints
from ..core.operands import Operand, Shape
from ..core.tensor import shaping
from ..core.tensor.shape_arguments import named_axes, normal_axis
from ..tensor import Tensor
from .creation import as_tensor


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
