# SPDX-License-Identifier: Apache-2.0
"""Comparisons, logic and bit shifts, element by element."""

from .. import _mge
from ..core.operands import Operand
from ..tensor import Tensor


def left_shift(x: Operand, y: Operand) -> Tensor:
    """x shifted left by y bits.

    Args:
        x: any shape and integer dtype.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.left_shift(Tensor([1, 2]), Tensor([2, 2]))
        Tensor([4 8], dtype=int32, device=xpux:0)
    """
    return _mge.ops.left_shift(x, y)


def right_shift(x: Operand, y: Operand) -> Tensor:
    """x shifted right by y bits, the sign is kept.

    Args:
        x: any shape and integer dtype.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.right_shift(Tensor([8, -8]), Tensor([2, 2]))
        Tensor([ 2 -2], dtype=int32, device=xpux:0)
    """
    return _mge.ops.right_shift(x, y)


def logical_and(x: Operand, y: Operand) -> Tensor:
    """Logical and.

    Args:
        x: any shape, bool.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.logical_and(Tensor([True, False]), Tensor([True, True]))
        Tensor([ True False], dtype=bool, device=xpux:0)
    """
    return _mge.ops.logical_and(x, y)


def logical_not(x: Operand) -> Tensor:
    """Logical not.

    Args:
        x: any shape, bool.
    Returns:
        Bool tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not bool.
    Example:
        >>> F.logical_not(Tensor([True, False]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.logical_not(x)


def logical_or(x: Operand, y: Operand) -> Tensor:
    """Logical or.

    Args:
        x: any shape, bool.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.logical_or(Tensor([True, False]), Tensor([False, False]))
        Tensor([ True False], dtype=bool, device=xpux:0)
    """
    return _mge.ops.logical_or(x, y)


def logical_xor(x: Operand, y: Operand) -> Tensor:
    """Logical exclusive or.

    Args:
        x: any shape, bool.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.logical_xor(Tensor([True, False]), Tensor([True, True]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.logical_xor(x, y)


def equal(x: Operand, y: Operand) -> Tensor:
    """Whether x equals y.

    Args:
        x: any shape and dtype.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.equal(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([ True False], dtype=bool, device=xpux:0)
    """
    return _mge.ops.equal(x, y)


def not_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x differs from y.

    Args:
        x: any shape and dtype.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.not_equal(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.not_equal(x, y)


def less(x: Operand, y: Operand) -> Tensor:
    """Whether x is less than y.

    Args:
        x: any shape and dtype.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.less(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.less(x, y)


def less_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x is at most y.

    Args:
        x: any shape and dtype.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.less_equal(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([ True  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.less_equal(x, y)


def greater(x: Operand, y: Operand) -> Tensor:
    """Whether x is greater than y.

    Args:
        x: any shape and dtype.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.greater(Tensor([1, 4]), Tensor([1, 3]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.greater(x, y)


def greater_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x is at least y.

    Args:
        x: any shape and dtype.
        y: as ``x``; the two shapes are broadcast.
    Returns:
        Bool tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.greater_equal(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([ True False], dtype=bool, device=xpux:0)
    """
    return _mge.ops.greater_equal(x, y)
