# SPDX-License-Identifier: Apache-2.0
"""Converts shapes, axes and sizes from users to operands."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import _mge
from ...device import default_device
from ..annotations import Tensor
from ..nesting import array_of
from ..operands import is_whole
from ..tracing_state import is_recorded


def as_int(value: Any, who: str, argument: str) -> int:
    """An integer from a Python or NumPy integer or a one-element integer Tensor.

    Raises:
        TypeError: ``value`` has another type.
    """
    if is_whole(value):
        return int(value)
    if isinstance(value, _mge.Tensor):
        return int(value)
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype.kind in "iu":
        return int(value.reshape(-1)[0])
    given = repr(value) if isinstance(value, float) else type(value).__name__
    raise _mge.RefusedTypeError(f"[{who}] {argument} must be an integer, got {given}")


def shape_of_arguments(args: tuple[Any, ...]) -> Any:
    """The shape in ``x.reshape(2, 3)``, ``x.reshape((2, 3))`` and ``x.reshape(t)``."""
    if len(args) != 1 or type(args[0]) is int:
        return args
    (shape,) = args
    return shape if isinstance(shape, (tuple, list, _mge.Tensor, np.ndarray, Sequence)) else args


def known_or_symbolic(shape: Any, who: str) -> tuple[list[int] | None, Tensor | None]:
    """A shape as (list of ints, None), or as (None, int32 vector) where a trace must keep it.

    Args:
        shape: int, sequence of ints and Tensors, int vector (Tensor or array).
        who: the calling function, for error messages.
    Raises:
        TypeError: an entry is not an integer.
    """
    if type(shape) in (tuple, list) and {int}.issuperset(map(type, shape)):  # nearly always
        return list(shape), None
    if isinstance(shape, _mge.Tensor):
        if is_recorded(shape):
            return None, _vector(shape, who)
        return [int(v) for v in np.reshape(shape.numpy(), -1)], None
    if isinstance(shape, np.ndarray):
        shape = shape.reshape(-1).tolist()
    if is_whole(shape):
        return [int(shape)], None
    if not isinstance(shape, Sequence) or isinstance(shape, str):
        raise TypeError(f"[{who}] a shape is integers or a Tensor, got {type(shape).__name__}")
    if is_recorded(*shape):
        there = next(v.device for v in shape if isinstance(v, _mge.Tensor))
        with default_device(str(there)):
            parts = [_vector(v, who) for v in shape]
        parts = [
            p if p.device == there else _mge.ops.to_device(p, device=str(there)) for p in parts
        ]
        return None, parts[0] if len(parts) == 1 else _mge.ops.concat(*parts, axis=0)
    return [as_int(v, who, "a shape entry") for v in shape], None


def _vector(value: Any, who: str) -> Tensor:
    if not isinstance(value, _mge.Tensor):
        # An operator instead of an outer Tensor, so that a trace knows the number and the shapes
        # made from it.
        value = float(as_int(value, who, "a shape entry"))
        return _mge.ops.full(shape=[1], value=value, dtype="int32")
    if value.dtype != np.int32:
        value = _mge.ops.convert(value, dtype="int32")
    return _mge.ops.reshape(value, shape=[-1])


def named_axes(axis: Any, who: str) -> list[int]:
    """The axes that an int or several ints name.

    Raises:
        TypeError: an axis is not an integer.
    """
    if is_whole(axis) or not isinstance(axis, Iterable):
        return [as_int(axis, who, "axis")]
    return [as_int(a, who, "axis") for a in axis]


def axis_list(axis: Any, who: str) -> list[int]:
    """Axes of a reduction: an int or a sequence of ints; None means all axes (an empty list).

    Raises:
        AssertionError: an axis is named twice.
        TypeError: an axis is not an integer.
    """
    if axis is None:
        return []
    axes = named_axes(axis, who)
    assert len(set(axes)) == len(axes), f"[{who}] axes must differ, got {axes}"
    return axes


def as_vector(inp: Any) -> Any:
    """A value of rank 0 as a vector of one element, for functions along an axis."""
    rank = inp.ndim if isinstance(inp, _mge.Tensor) else np.ndim(inp)
    return inp if rank else _mge.ops.reshape(inp, shape=[1])


def as_places(index: Any) -> Any:
    """Numbers of places or classes as int32, whatever dtype they have; fractions go.

    Args:
        index: Tensor, array or numbers.
    """
    if isinstance(index, _mge.Tensor):
        return index if index.dtype == np.int32 else _mge.ops.convert(index, dtype="int32")
    index = array_of(index, "index")
    # NumPy's default integers have 64 bits; the conversion to a Tensor checks their range.
    return index if index.dtype in (np.int32, np.int64) else index.astype(np.int32)


class AxisError(_mge.OutOfRangeError, ValueError):
    """An axis that a Tensor does not have: NumPy's classes, and MegEngine's RuntimeError."""


def normal_axis(axis: int, ndim: int, who: str) -> int:
    """An axis counted from the front.

    Raises:
        TypeError: ``axis`` is not an integer.
        AxisError: ``axis`` is outside [-ndim, ndim).
    """
    if type(axis) is not int:
        axis = as_int(axis, who, "axis")
    if not -ndim <= axis < ndim:
        raise AxisError(f"[{who}] axis {axis} is out of range for rank {ndim}")
    return axis % ndim


def open_first(shape: Sequence[Any]) -> list[Any]:
    """A target shape for reshape whose first size is inferred, if the others allow it.

    So a graph that was recorded with one batch size works for another.
    """
    return [-1, *shape[1:]] if len(shape) and all(shape[1:]) else list(shape)
