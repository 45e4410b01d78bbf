# SPDX-License-Identifier: Apache-2.0
"""Operators on Tensors of intb1, intb2 and intb4.

The library sees int8. Such numbers can be moved, and converted with ``astype``; no operator
computes with them, as in MegEngine.
"""

from typing import Any

from .. import _mge
from .tensor.dtype import is_lowbit


def call(op: str, /, *args: Any, **kwargs: Any) -> Any:
    """The result of an operator that has Tensors of these dtypes among its operands.

    Raises:
        RuntimeError: the operator does not support them, or operands of different dtypes are given.
    """
    if op == "convert":
        return _mge.ops.convert(args[0]._plain(), **kwargs)
    if op == "shape_of":
        return _mge.ops.shape_of(args[0]._plain())
    which = _MOVING.get(op)
    if which is None:
        raise RuntimeError(
            f"[{op}] has no meaning for Tensors of intb1, intb2 and intb4; convert them with"
            " astype('int8')"
        )
    dtypes = [getattr(value, "dtype", None) for value in args[which]]
    if not all(is_lowbit(dtype) and dtype is dtypes[0] for dtype in dtypes):
        raise RuntimeError(
            f"[{op}] takes Tensors of one low-bit dtype or none, got"
            f" {', '.join(str(dtype) for dtype in dtypes)}"
        )
    moved = getattr(_mge.ops, op)(*map(_plain, args), **kwargs)
    if isinstance(moved, tuple):
        return tuple(part._meant_as(dtypes[0]) for part in moved)
    return moved._meant_as(dtypes[0])


def _plain(value: Any) -> Any:
    return value._plain() if isinstance(value, _mge.Tensor) else value


# Positions of the operands that are numbers; the others are indices, masks and sizes.
_MOVING = {
    **dict.fromkeys(
        (
            "add_axis broadcast_like broadcast_to copy flatten flip gather remove_axis reshape"
            " reshape_like slice split take to_device transpose wait_for"
        ).split(),
        slice(1),
    ),
    "concat": slice(None),
    "where": slice(1, 3),
}
