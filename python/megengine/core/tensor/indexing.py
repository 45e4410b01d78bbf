# SPDX-License-Identifier: Apache-2.0
"""``x[key]`` and ``x[key] = value`` with NumPy's rules, made of a few operators.

A key becomes a plan in four parts, applied in this order: new axes (None and scalar bools), slices
(and plain integers, as long as the key has no array), index arrays. As in NumPy, integers next to
an index array are arrays of rank zero, and scalar bools next to other indices are arrays of one
index or no index into an extra axis. Assignment applies the plan in both directions: the extracted
part is replaced, then written back.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from reprlib import repr as brief
from typing import Any

import numpy as np

from ... import _mge
from ..annotations import Tensor
from ..complex_numbers import set_parts
from ..nesting import array_of
from ..operands import beside
from ..quantised import converted
from ..tracing_state import is_recorded
from .dtype import is_dtype_equal, is_integer
from .extents import extents

ABSENT_BOUND = -(2**63)  # a slice bound that was not given
MAX_RANK = 7
_FROM_INPUT = ABSENT_BOUND + 1  # a slice bound that is a Tensor's value


@dataclass
class _Plan:
    new_axes: list[int] = field(default_factory=list)
    items: list[int] = field(default_factory=list)
    bounds: list[Any] = field(default_factory=list)
    arrays: list[Any] = field(default_factory=list)
    array_axes: list[int] = field(default_factory=list)


def getitem(x: Tensor, key: Any) -> Tensor:
    """The value of ``x[key]``; keys of integers and slices of integers come to it in few cases.

    Raises:
        IndexError: the key has more than one Ellipsis, more indices than ``x`` has axes, a bool
            array of another shape, or an entry that is not an index.
        OutOfRangeError: an integer is out of range.
    """
    if _is_full_mask(x, key):
        return _mge.ops.cond_take(x, key)[0]
    entries = _entries(x, key)
    if _has_too_many_axes(x, entries):
        x, entries = _with_flat_masks(x, entries)
    plan = _make_plan(x, entries)
    y = _select_basic(x, plan)
    if plan.arrays:
        y = _mge.ops.take(y, *plan.arrays, axes=plan.array_axes)
    return _mge.ops.copy(y) if y is x else y


def setitem(x: Tensor, key: Any, value: Any) -> None:
    """Carry out ``x[key] = value``: the object gets a new value.

    ``x[...] = value`` replaces the value by one of any shape; only a number fills ``x``.

    Raises:
        IndexError: as in ``getitem``.
        OutOfRangeError: an integer is out of range.
        ValueError: ``value`` does not broadcast to the shape of ``x[key]``.
    """
    if key is Ellipsis and isinstance(value, _mge.Tensor):
        x._reset(value if x._quantised is None else converted(value, x._quantised))
        return
    if x._meaning is not None:
        with beside(x):
            if x._is_complex:
                set_parts(setitem, x, key, value)
            else:
                _set_steps(x, key, value)
        return
    if key is Ellipsis and np.ndim(value) > 0:
        x._reset(_value_like(x, value))
        return
    given, value = value, _value_like(x, value)
    if _is_full_mask(x, key) and value._tuple_shape in ((), (1,)):
        _check_mask(key, x._tuple_shape)
        # An update changes all memory that its result may share, so the caller's value is copied.
        _mge.updates.where(key, _mge.ops.copy(value) if value is given else value, x)
        return
    entries = _entries(x, key)
    if _has_too_many_axes(x, entries):
        flat, entries = _with_flat_masks(x, entries)
        y = _assigned(flat, _make_plan(flat, entries), value)
        x._reset(_mge.ops.reshape(y, shape=x._tuple_shape))
        return
    plan = _make_plan(x, entries)
    if key is not Ellipsis and not (plan.items or plan.arrays or plan.new_axes) and x.ndim > 0:
        # All of x, which keeps a gradient, of zeros.
        plan.items = [0, ABSENT_BOUND, ABSENT_BOUND, 1, 0]
    if plan.items and not plan.arrays and not plan.new_axes:
        _mge.updates.set_slice(x, value, *plan.bounds, items=plan.items)
    elif plan.arrays and not plan.items and not plan.new_axes:
        _mge.updates.set_take(x, value, *plan.arrays, axes=plan.array_axes)
    else:
        x._reset(_assigned(x, plan, value))


def _set_steps(x: Tensor, key: Any, value: Any) -> None:
    """The same for a Tensor of a quantised dtype: plain numbers in ``value`` are real numbers."""
    dtype = x._quantised
    value = value if isinstance(value, _mge.Tensor) else _mge.Tensor(value)
    steps = x._plain()
    setitem(steps, key, converted(value, dtype)._plain())
    x._reset(steps._meant_as(dtype))


def _assigned(x: Tensor, plan: _Plan, value: Any) -> Tensor:
    """The value of x after the assignment."""
    whole = _mge.ops.add_axis(x, axes=plan.new_axes) if plan.new_axes else x
    if plan.arrays:
        part = whole
        if plan.items:
            part = _mge.ops.slice(whole, *plan.bounds, items=plan.items)
        value = _mge.ops.set_take(part, value, *plan.arrays, axes=plan.array_axes)
    if plan.items:
        value = _mge.ops.set_slice(whole, value, *plan.bounds, items=plan.items)
    elif not plan.arrays:
        value = _broadcast_value(value, whole)
    return _mge.ops.remove_axis(value, axes=plan.new_axes) if plan.new_axes else value


def _value_like(x: Tensor, value: Any) -> Tensor:
    if not isinstance(value, _mge.Tensor):
        value = array_of(value, "setitem")
        if value.dtype.kind in "OSU":
            raise TypeError(f"[setitem] the value must be numbers, got {value.dtype}")
        if value.dtype.kind == "f":
            value = value.astype(np.float32)
        elif value.dtype.kind in "iu":
            value = value.astype(np.int32)
        value = _mge.Tensor(value, device=x.device)
    return value if is_dtype_equal(value.dtype, x.dtype) else _mge.ops.convert(value, dtype=x.dtype)


def _broadcast_value(value: Any, whole: Any) -> Tensor:
    shape = value._tuple_shape
    while len(shape) > whole.ndim and shape[0] == 1:
        value = _mge.ops.remove_axis(value, axes=[0])
        shape = value._tuple_shape
    try:
        return _mge.ops.broadcast_like(value, whole)
    except RuntimeError as error:
        raise ValueError(
            f"[setitem] a value of shape {shape} does not broadcast to {whole._tuple_shape}"
        ) from error


def _is_full_mask(x: Tensor, key: Any) -> bool:
    return isinstance(key, _mge.Tensor) and key.dtype == np.bool_ and 0 < key.ndim == x.ndim


def _select_basic(x: Tensor, plan: _Plan) -> Tensor:
    if plan.new_axes:
        x = _mge.ops.add_axis(x, axes=plan.new_axes)
    if plan.items:
        x = _mge.ops.slice(x, *plan.bounds, items=plan.items)
    return x


def _entries(x: Tensor, key: Any) -> list[Any]:
    entries = [_normal_entry(e) for e in (key if isinstance(key, tuple) else (key,))]
    return _expand_ellipsis(entries, x.ndim)


def _has_too_many_axes(x: Tensor, entries: list[Any]) -> bool:
    if x.ndim + len(entries) <= MAX_RANK:
        return False
    return x.ndim + sum(e is None or isinstance(e, bool) for e in entries) > MAX_RANK


def _with_flat_masks(x: Tensor, entries: list[Any]) -> tuple[Tensor, list[Any]]:
    """The same with one axis of x, and an array of integers, in place of each bool array."""
    shape: list[int] = []
    found: list[Any] = []
    axis = 0
    for entry in entries:
        width = _width(entry)
        part = x._tuple_shape[axis : axis + width]
        axis += width
        if width > 1:
            _check_mask(entry, part)
            part = (math.prod(part),)
            entry = _flat_mask(entry)
        shape += part
        found.append(entry)
    return _mge.ops.reshape(x, shape=[*shape, *x._tuple_shape[axis:]]), found


def _make_plan(x: Tensor, entries: list[Any]) -> _Plan:
    bools = sum(isinstance(e, bool) for e in entries)
    integers = sum(type(e) is int for e in entries)
    has_arrays = any(isinstance(e, (np.ndarray, _mge.Tensor)) for e in entries)
    has_arrays = has_arrays or (bools > 0 and bools + integers > 1)
    plan = _Plan()
    shape = None
    axis = 0  # in x with the new axes
    for entry in entries:
        if entry is None or isinstance(entry, bool):
            plan.new_axes.append(axis)
            if entry is not None and has_arrays:
                _add_array(plan, axis, np.zeros(int(entry), np.int32))
            elif entry is False:
                plan.items += [axis, 0, 0, 1, 0]
            axis += 1
        elif isinstance(entry, slice):
            _add_slice(plan, axis, entry)
            axis += 1
        elif isinstance(entry, int):
            if has_arrays:
                _add_array(plan, axis, np.array(entry, np.int32))
            else:
                plan.items += [axis, entry, ABSENT_BOUND, 1, 1]
            axis += 1
        elif entry.dtype == np.bool_:
            shape = shape or x._tuple_shape
            start = axis - len(plan.new_axes)
            _check_mask(entry, shape[start : start + entry.ndim])
            for k, array in enumerate(_mask_to_arrays(entry)):
                _add_array(plan, axis + k, array)
            axis += entry.ndim
        else:
            _add_array(plan, axis, entry)
            axis += 1
    return plan


def _normal_entry(entry: Any) -> Any:
    """An entry as None, bool, int, slice, Ellipsis, int32 or bool ndarray, or Tensor."""
    if entry is None or entry is Ellipsis or isinstance(entry, (bool, slice)):
        return entry
    if isinstance(entry, np.bool_):
        return bool(entry)
    if isinstance(entry, (int, np.integer)):
        return int(entry)
    if isinstance(entry, _mge.Tensor):
        return _normal_tensor(entry)
    if isinstance(entry, (Sequence, np.ndarray)) and not isinstance(entry, str):
        return _normal_array(entry)
    raise _mge.OutOfRangeError(
        f"[index] {type(entry).__name__} is not an index; allowed are integers, slices,"
        " None, Ellipsis, and arrays or Tensors of integers or bools"
    )


def _normal_array(entry: Any) -> Any:
    """A sequence or an array as an int32 or bool ndarray; an array without axes as its element."""
    if not isinstance(entry, np.ndarray):
        entry = [int(e) if isinstance(e, _mge.Tensor) else e for e in entry]
    array = array_of(entry, "index")
    if array.dtype == np.bool_:
        return array if array.ndim else bool(array)
    if array.dtype.kind in "iu" or array.size == 0:
        return array.astype(np.int32) if array.ndim else int(array)
    raise _mge.OutOfRangeError(
        f"[index] an index array must be of integers or bools, got {array.dtype}"
    )


def _normal_tensor(entry: Any) -> Any:
    if entry.dtype == np.bool_:
        return bool(entry.item()) if entry.ndim == 0 else entry
    if not is_integer(entry.dtype):
        raise _mge.OutOfRangeError(
            f"[index] an index Tensor must be of integers or bools, got {entry.dtype}"
        )
    return entry if entry.dtype == np.int32 else _mge.ops.convert(entry, dtype="int32")


def _width(entry: Any) -> int:
    """Axes of x that an entry consumes."""
    if entry is None or isinstance(entry, bool):
        return 0
    if isinstance(entry, (np.ndarray, _mge.Tensor)) and entry.dtype == np.bool_:
        return entry.ndim
    return 1


def _expand_ellipsis(entries: list[Any], ndim: int) -> list[Any]:
    dots = [k for k, e in enumerate(entries) if e is Ellipsis]
    if len(dots) > 1:
        raise IndexError("[index] an index can have only one Ellipsis ('...')")
    used = sum(_width(e) for e in entries if e is not Ellipsis)
    if used > ndim:
        raise _mge.OutOfRangeError(
            f"[index] too many indices: rank is {ndim}, but {used} were given"
        )
    if dots:
        k = dots[0]
        entries = entries[:k] + [slice(None)] * (ndim - used) + entries[k + 1 :]
    return entries


def _add_slice(plan: _Plan, axis: int, entry: slice) -> None:
    if entry.start is None and entry.stop is None and _is_one(plan, entry.step):
        return
    begin, end, step = (_bound(plan, b) for b in (entry.start, entry.stop, entry.step))
    if step == 0:
        raise ValueError("[index] the step of a slice must not be zero")
    plan.items += [axis, begin, end, step, 0]


def _is_one(plan: _Plan, step: Any) -> bool:
    """True if a step is known to be 1."""
    return step is None or not is_recorded(step) and _bound(plan, step) == 1


def _bound(plan: _Plan, bound: Any) -> int:
    if bound is None:
        return ABSENT_BOUND
    if is_recorded(bound):
        if bound.dtype != np.int32:
            bound = _mge.ops.convert(bound, dtype="int32")
        plan.bounds.append(bound)
        return _FROM_INPUT
    if isinstance(bound, (int, np.integer)):
        return int(bound)
    if isinstance(bound, (_mge.Tensor, np.ndarray)) and bound.size == 1:
        bound = bound.item()
    elif hasattr(bound, "__index__"):
        bound = index(bound)
    if not isinstance(bound, (int, float, np.floating)) or not float(bound).is_integer():
        raise TypeError(f"[index] a slice has integers or None, got {brief(bound)}")
    return int(bound)


def _add_array(plan: _Plan, axis: int, array: Any) -> None:
    plan.arrays.append(array)
    plan.array_axes.append(axis)


def _check_mask(mask: Any, dims: tuple[int, ...]) -> None:
    if tuple(mask._tuple_shape if isinstance(mask, _mge.Tensor) else mask.shape) != tuple(dims):
        raise IndexError(
            f"[index] a bool index of shape {mask.shape} needs axes of that size, got {tuple(dims)}"
        )


def _mask_to_arrays(mask: Any) -> list[Any]:
    """One int32 index array per axis of a bool array."""
    if isinstance(mask, np.ndarray):
        return [a.astype(np.int32) for a in np.nonzero(mask)]
    return unravel(_flat_mask(mask), mask)


def _flat_mask(mask: Any) -> Any:
    """The int32 indices of the elements of a bool array that are True, in its flat order."""
    if isinstance(mask, np.ndarray):
        return np.flatnonzero(mask).astype(np.int32)
    return _mge.ops.cond_take(mask, mask)[1]


def unravel(flat: Any, x: Tensor) -> list[Any]:
    """Indices along each axis of ``x``, from indices into the flattened ``x``."""
    arrays = []
    for size in reversed(extents(x, 1)):
        arrays.append(_mge.ops.mod(flat, size))
        flat = _mge.ops.floor_div(flat, size)
    return [flat, *reversed(arrays)]
