# SPDX-License-Identifier: Apache-2.0
"""Elements chosen by a mask or by indices."""

from typing import Any, overload

import numpy as np

from .. import _mge
from ..core.hints import refuse_keywords, with_hints
from ..core.operands import Operand
from ..core.tensor.dtype import is_bfloat16, is_dtype_equal
from ..core.tensor.indexing import unravel
from ..core.tensor.shape_arguments import normal_axis
from ..tensor import Tensor
from .creation import as_tensors


def _check_mask(mask: Tensor, others: dict[str, Any], who: str) -> None:
    for name, value in {"mask": mask, **others}.items():
        if not isinstance(value, _mge.Tensor):
            raise TypeError(f"[{who}] {name} must be a Tensor, got {type(value).__name__}")
    if mask.dtype != np.bool_:
        raise ValueError(f"[{who}] mask must be bool, got {mask.dtype}")


@with_hints
def gather(inp: Tensor, axis: int, index: Tensor, **others: Any) -> Tensor:
    """Elements picked along an axis: ``out[i, j] = inp[index[i, j], j]`` for axis 0.

    Args:
        inp: any rank.
        axis: axis to pick along.
        index: int32, of the rank of ``inp``.
    Returns:
        Tensor of the shape of ``index``.
    Raises:
        ValueError: the ranks differ, or ``index`` is larger than ``inp`` along another axis.
    Example:
        >>> F.gather(Tensor([[1, 2], [3, 4]]), 1, Tensor([[1], [0]]))
        Tensor([[2]
         [3]], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("gather", others)
    inp, index = as_tensors(inp, index)
    axis = _check_gather(inp, axis, index, "gather")
    return _mge.ops.gather(inp, index, axis=axis)


def _check_gather(inp: Tensor, axis: int, index: Tensor, who: str) -> int:
    shape, wanted = inp._tuple_shape, index._tuple_shape
    if len(shape) != len(wanted):
        raise ValueError(f"[{who}] index must have rank {len(shape)}, got {len(wanted)}")
    axis = normal_axis(axis, len(shape), who)
    for a, (have, want) in enumerate(zip(shape, wanted, strict=True)):
        if a != axis and want > have:
            raise ValueError(f"[{who}] index has size {want} along axis {a}, allowed is {have}")
    return axis


@with_hints
def scatter(inp: Tensor, axis: int, index: Tensor, source: Tensor, **others: Any) -> Tensor:
    """Write elements along an axis, in place: ``inp[index[i, j], j] = source[i, j]`` for axis 0.

    Args:
        inp: tensor to change.
        axis: axis to write along.
        index: int32, of the rank of ``inp``; where it repeats, any of the values may stay.
        source: values, as many as ``index`` has.
    Returns:
        ``inp``.
    Raises:
        ValueError: the ranks or the shapes of ``index`` and ``source`` differ, or a size is too
            large.
    Example:
        >>> F.scatter(Tensor([[0, 0]]), 1, Tensor([[1]]), Tensor([[7]]))
        Tensor([[0 7]], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("scatter", others)
    if not isinstance(inp, _mge.Tensor):
        raise TypeError(
            f"[scatter] inp must be a Tensor, which it changes in place, got {type(inp).__name__}"
        )
    inp, index, source = as_tensors(inp, index, source)
    axis = _check_gather(inp, axis, index, "scatter")
    if source.ndim != index.ndim:
        raise ValueError(f"[scatter] source must have rank {index.ndim}, got {source.ndim}")
    for a, (have, want) in enumerate(zip(source._tuple_shape, index._tuple_shape, strict=True)):
        if want != have:
            raise ValueError(f"[scatter] source has size {have} along axis {a}, index {want}")
    inp._reset(_mge.ops.scatter(inp, index, source, axis=axis))
    return inp


@overload
def where(mask: Tensor) -> tuple[Tensor, ...]: ...
@overload
def where(mask: Tensor, x: Operand, y: Operand) -> Tensor: ...
def where(
    mask: Tensor, x: Operand | None = None, y: Operand | None = None
) -> Tensor | tuple[Tensor, ...]:
    """Elements of ``x`` where the mask is true, of ``y`` elsewhere.

    Args:
        mask: bool.
        x: values for true; dtypes that differ meet as in NumPy. Without ``x`` and ``y`` the result
            is ``non_zero(mask, as_tuple=True)``.
        y: values for false.
    Returns:
        Tensor of the broadcast shape.
    Raises:
        TypeError: an argument is not a Tensor.
        ValueError: ``mask`` is not bool, or the devices differ.
    Example:
        >>> F.where(Tensor([True, False]), Tensor([1, 2]), Tensor([3, 4]))
        Tensor([1 4], dtype=int32, device=xpux:0)
    """
    if x is None and y is None:
        return non_zero(mask, as_tuple=True)
    _check_mask(mask, {"x": x, "y": y}, "where")
    operands: list[Any] = [x, y]
    dtypes = [value.dtype for value in operands]
    if not is_dtype_equal(*dtypes) and not any(value._is_complex for value in operands):
        common = _common_dtype(*dtypes)
        operands = [
            v if is_dtype_equal(v.dtype, common) else _mge.ops.convert(v, dtype=common)
            for v in operands
        ]
    return _mge.ops.where(mask, *operands)


def _common_dtype(a: Any, b: Any) -> np.dtype:
    """NumPy's rules, but a float with an integer keeps its width, and bfloat16 with others
    becomes float32."""
    if is_bfloat16(a) or is_bfloat16(b):
        return np.dtype(np.float32)
    floats = [d for d in (a, b) if np.dtype(d).kind == "f"]
    return np.result_type(*(floats or (a, b)))


def cond_take(mask: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
    """The elements where a mask is true, in order.

    Args:
        mask: bool, of the shape of ``x``.
        x: values.
    Returns:
        Vector of the values, and int32 vector of their indices in the flattened ``x``.
    Raises:
        TypeError: an argument is not a Tensor.
        ValueError: ``mask`` is not bool.
        RuntimeError: the shapes or the devices differ.
    Example:
        >>> F.cond_take(Tensor([True, False]), Tensor([1, 2]))[0]
        Tensor([1], dtype=int32, device=xpux:0)
    """
    _check_mask(mask, {"x": x}, "cond_take")
    if mask._tuple_shape != x._tuple_shape:
        raise RuntimeError(
            f"[cond_take] mask must have the shape {x._tuple_shape}, got {mask._tuple_shape}"
        )
    return _mge.ops.cond_take(x, mask)


def non_zero(condition: Tensor, as_tuple: bool = False) -> Tensor | tuple[Tensor, ...]:
    """Indices of the nonzero elements.

    Args:
        condition: any rank from 1.
        as_tuple: one vector per axis instead of one matrix.
    Returns:
        int32 matrix of one row per element found, or a tuple of int32 vectors.
    Raises:
        TypeError: ``condition`` is not a Tensor.
    Example:
        >>> F.non_zero(Tensor([True, False, True]))
        Tensor([[0]
         [2]], dtype=int32, device=xpux:0)
    """
    if not isinstance(condition, _mge.Tensor):
        raise TypeError(f"[non_zero] wants a Tensor, got {type(condition).__name__}")
    mask = condition if condition.dtype == np.bool_ else _mge.ops.not_equal(condition, 0)
    flat = _mge.ops.cond_take(mask, mask)[1]
    found = unravel(flat, mask)
    if as_tuple:
        return tuple(found)
    columns = [_mge.ops.add_axis(f, axes=[1]) for f in found]
    return _mge.ops.concat(*columns, axis=1) if len(columns) > 1 else columns[0]
