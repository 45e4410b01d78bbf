# SPDX-License-Identifier: Apache-2.0
"""Reductions over axes as users write them, for Tensor's methods and ``functional``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import _mge
from ..annotations import Tensor
from ..hints import refuse_keywords
from .shape_arguments import as_vector, axis_list

Axis = int | Sequence[int] | None


def reduced(op: Callable[..., Tensor], inp: Any, axis: Axis, keepdims: bool, who: str) -> Tensor:
    """A value reduced over axes.

    Args:
        op: the operator in ``_mge.ops``.
        inp: Tensor, array or number of any shape; with an int ``axis``, rank 0 counts as a vector.
        axis: None (all axes), an int, or a sequence of different ints.
        keepdims: keep the reduced axes with size 1.
        who: the calling function, for error messages.
    Raises:
        AssertionError: an axis of a sequence is out of range or named twice; ``keepdims`` without
            an axis.
        RuntimeError: an int is out of range, or a reduced axis is empty and ``op`` does not support
            that.
    """
    axes: Sequence[int] = ()
    if axis is None:
        assert not keepdims, f"[{who}] keepdims=True needs an axis"
    else:
        axes = axis_list(axis, who)
        if not axes:  # over no axis: every element by itself
            return _mge.ops.copy(inp)
        if isinstance(axis, (int, np.integer)):
            inp = as_vector(inp)
        else:
            check_axes(axes, np.ndim(inp), who)
    try:
        return op(inp, axes=axes, keepdims=bool(keepdims))
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def reduced_for_numpy(
    method: Callable[..., Any], inp: Any, axis: Axis, keepdims: bool, others: dict[str, Any]
) -> Any:
    """A method of Tensor that reduces, called with the further keywords that NumPy gives.

    Args:
        method: the method.
        inp: the Tensor.
        axis: as for the method; None with ``keepdims`` means all axes, as in NumPy.
        keepdims: as for the method.
        others: ``out``, which must be None, and ``dtype``, in which the reduction is computed.
    Raises:
        TypeError: there are other arguments.
    """
    who, is_numpy = method.__name__, "out" in others
    out, dtype = others.pop("out", None), others.pop("dtype", None)
    refuse_keywords(who, others)
    if out is not None:
        raise TypeError(f"[{who}] out must be None, got {type(out).__name__}: assign the result")
    if is_numpy and keepdims and axis is None:
        axis = tuple(range(inp.ndim))
    if dtype is None:
        return method(inp, axis, keepdims and inp.ndim > 0)
    return method(inp.astype(dtype), axis, keepdims and inp.ndim > 0).astype(dtype)


def check_axes(axes: Sequence[int], rank: int, who: str) -> None:
    """Check that axes are valid for a rank.

    Raises:
        AssertionError: one does not.
    """
    assert all(-rank <= a < rank for a in axes), f"[{who}] axes must lie in rank {rank}, got {axes}"
