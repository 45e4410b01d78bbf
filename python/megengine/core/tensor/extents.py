# SPDX-License-Identifier: Apache-2.0
"""Extents that functions compute with: numbers, or Tensors where a graph is for other sizes too.

Both support Python's operators, so that one formula serves both.
"""

from typing import Any

from ... import _mge
from ..annotations import Tensor
from ..tracing_state import is_recorded, state
from .shape_arguments import as_int, open_first
from .shaping import reshaped

Extent = int | Tensor  # a Tensor is an int32 vector of one element


def extents_follow(*values: Any) -> bool:
    """Whether a computation must stay valid for other sizes of the values.

    Args:
        values: Tensors.
    """
    return state.symbolic_shape or any(value._is_symbolic for value in values)


def extent(x: Tensor, axis: int) -> Extent:
    """Size of an axis; a Tensor that follows ``x`` where a trace has symbolic shapes.

    Args:
        x: any shape.
        axis: counted from the front.
    """
    return _mge.ops.shape_of(x, axis=axis) if extents_follow(x) else x._tuple_shape[axis]


def extents(x: Tensor, first: int) -> list[Extent]:
    """Sizes of the axes from ``first`` on; see ``extent``.

    Args:
        x: any shape.
        first: counted from the front.
    """
    return [extent(x, axis) for axis in range(first, x.ndim)]


def extent_argument(value: Any, who: str, argument: str) -> Extent:
    """A size given by the user; a Tensor of a trace stays a Tensor.

    Raises:
        TypeError: ``value`` is not an integer.
    """
    if not is_recorded(value):
        return as_int(value, who, argument)
    value = value if value.dtype == "int32" else _mge.ops.convert(value, dtype="int32")
    return _mge.ops.reshape(value, shape=[1])


def known(sizes: Any) -> list[int]:
    """The sizes that are numbers, for checks.

    Args:
        sizes: numbers and Tensors.
    """
    return [size for size in sizes if isinstance(size, int)]


def least(one: Extent, other: Extent) -> Extent:
    """The smaller of two sizes."""
    if isinstance(one, int) and isinstance(other, int):
        return min(one, other)
    return _mge.ops.minimum(one, other)


def greatest(one: Extent, other: Extent) -> Extent:
    """The larger of two sizes."""
    if isinstance(one, int) and isinstance(other, int):
        return max(one, other)
    return _mge.ops.maximum(one, other)


def reshaped_with(x: Tensor, sizes: list[Extent]) -> Tensor:
    """The same values in another shape. A size that is -1, by default the first one, follows from
    the others.

    Args:
        x: a Tensor of any shape.
        sizes: sizes of all axes.
    """
    if len(known(sizes)) == len(sizes):
        return _mge.ops.reshape(x, shape=open_first(sizes))
    rest = sizes[1:]
    # Next to a size of 0, nothing follows from the others; one that is traced may be 0.
    follows = -1 not in known(sizes) and len(known(rest)) == len(rest) and 0 not in rest
    made: Tensor = reshaped(x, [-1, *rest] if follows else sizes)
    return made
