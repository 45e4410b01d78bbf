# SPDX-License-Identifier: Apache-2.0
"""Changes of shape and layout, for Tensor's methods and ``functional``.

Arguments and errors are those of ``functional.reshape``, ``transpose``, ``flatten``, ``copy``. The
binding implements the plain cases of the first two, which are called often; others are here.
"""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from ... import _mge
from ..annotations import Tensor
from .shape_arguments import known_or_symbolic

reshaped = _mge.reshaped
transposed = _mge.transposed


def reshaped_by_rule(inp: Tensor, target_shape: Any) -> Tensor:
    """The same values, in order, in another shape."""
    sizes, target = known_or_symbolic(target_shape, "reshape")
    if sizes is None:
        return _mge.ops.reshape(inp, target)
    if sizes and min(sizes) < 0 and (min(sizes) < -1 or sizes.count(-1) > 1):
        raise _mge.RefusedValueError(
            f"[reshape] sizes are not negative, except for one -1, got {sizes}"
        )
    return _mge.ops.reshape(inp, shape=sizes)


def broadcast(inp: Tensor, shape: Any) -> Tensor:
    """The same values, repeated along axes; None keeps the size of an axis."""
    if isinstance(shape, (list, tuple)):
        if any(isinstance(v, (int, np.integer)) and v < 0 for v in shape):
            raise ValueError(f"[broadcast_to] sizes must not be negative, got {tuple(shape)}")
        shape = [-1 if v is None else v for v in shape]
    sizes, target = known_or_symbolic(shape, "broadcast_to")
    if sizes is None:
        return _mge.ops.broadcast_to(inp, target)
    return _mge.ops.broadcast_to(inp, shape=sizes)


def transposed_by_rule(inp: Tensor, pattern: Sequence[int | str]) -> Tensor:
    """The axes in the order of ``pattern``, with new ones for ``"x"``; reversed if it is empty."""
    if not isinstance(pattern, Iterable):
        raise _mge.RefusedTypeError(
            f"[transpose] pattern must be a sequence of axes, got {pattern!r}"
        )
    pattern = list(pattern) or list(range(inp.ndim))[::-1]
    is_new = [isinstance(p, str) and p == "x" for p in pattern]  # an entry may be a Tensor
    axes = [int(p) for p, new in zip(pattern, is_new, strict=True) if not new]
    left_out = sorted(set(range(inp.ndim)) - set(axes))
    if len(axes) + len(left_out) != inp.ndim or any(inp._tuple_shape[a] != 1 for a in left_out):
        raise RuntimeError(
            f"[transpose] pattern must name each axis of shape {inp._tuple_shape} once,"
            f" got {pattern}"
        )
    if left_out:
        inp = _mge.ops.remove_axis(inp, axes=left_out)
        axes = [a - sum(removed < a for removed in left_out) for a in axes]
    out = _mge.ops.transpose(inp, pattern=axes)
    added = [k for k, new in enumerate(is_new) if new]
    return _mge.ops.add_axis(out, axes=added) if added else out


def flattened(inp: Tensor, start_axis: int, end_axis: int) -> Tensor:
    """A range of axes made into one."""
    rank = inp.ndim
    if 0 < start_axis <= rank and -rank <= end_axis and start_axis == end_axis % rank + 1:
        return _mge.ops.add_axis(inp, axes=[start_axis])
    return _mge.ops.flatten(inp, start=start_axis, end=end_axis)


def copied(inp: Tensor, device: Any = None) -> Tensor:
    """A copy, perhaps on another device."""
    if device is None or inp.device == device:
        return _mge.ops.copy(inp)
    if isinstance(device, (list, tuple, dict)):
        raise TypeError(f"[to] a device is a name such as 'cpu0', got a {type(device).__name__}")
    return _mge.ops.to_device(inp, device=str(device))
