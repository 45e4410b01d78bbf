# SPDX-License-Identifier: Apache-2.0
"""Comparisons, logic and bit shifts, element by element."""

from .. import _mge
from ..core.operands import Operand
from ..tensor import Tensor
from .elementwise_docs import _comparing, _integer, _logical


@_integer
def left_shift(x: Operand, y: Operand) -> Tensor:
    """x shifted left by y bits.

    Example:
        >>> F.left_shift(Tensor([1, 2]), Tensor([2, 2]))
        Tensor([4 8], dtype=int32, device=xpux:0)
    """
    return _mge.ops.left_shift(x, y)


@_integer
def right_shift(x: Operand, y: Operand) -> Tensor:
    """x shifted right by y bits; the sign is kept.

    Example:
        >>> F.right_shift(Tensor([8, -8]), Tensor([2, 2]))
        Tensor([ 2 -2], dtype=int32, device=xpux:0)
    """
    return _mge.ops.right_shift(x, y)


@_logical
def logical_and(x: Operand, y: Operand) -> Tensor:
    """Logical and.

    Example:
        >>> F.logical_and(Tensor([True, False]), Tensor([True, True]))
        Tensor([ True False], dtype=bool, device=xpux:0)
    """
    return _mge.ops.logical_and(x, y)


@_logical
def logical_not(x: Operand) -> Tensor:
    """Logical not.

    Example:
        >>> F.logical_not(Tensor([True, False]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.logical_not(x)


@_logical
def logical_or(x: Operand, y: Operand) -> Tensor:
    """Logical or.

    Example:
        >>> F.logical_or(Tensor([True, False]), Tensor([False, False]))
        Tensor([ True False], dtype=bool, device=xpux:0)
    """
    return _mge.ops.logical_or(x, y)


@_logical
def logical_xor(x: Operand, y: Operand) -> Tensor:
    """Logical exclusive or.

    Example:
        >>> F.logical_xor(Tensor([True, False]), Tensor([True, True]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.logical_xor(x, y)


@_comparing
def equal(x: Operand, y: Operand) -> Tensor:
    """Whether x equals y.

    Example:
        >>> F.equal(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([ True False], dtype=bool, device=xpux:0)
    """
    return _mge.ops.equal(x, y)


@_comparing
def not_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x differs from y.

    Example:
        >>> F.not_equal(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.not_equal(x, y)


@_comparing
def less(x: Operand, y: Operand) -> Tensor:
    """Whether x is less than y.

    Example:
        >>> F.less(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.less(x, y)


@_comparing
def less_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x is at most y.

    Example:
        >>> F.less_equal(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([ True  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.less_equal(x, y)


@_comparing
def greater(x: Operand, y: Operand) -> Tensor:
    """Whether x is greater than y.

    Example:
        >>> F.greater(Tensor([1, 4]), Tensor([1, 3]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.greater(x, y)


@_comparing
def greater_equal(x: Operand, y: Operand) -> Tensor:
    """Whether x is at least y.

    Example:
        >>> F.greater_equal(Tensor([1, 2]), Tensor([1, 3]))
        Tensor([ True False], dtype=bool, device=xpux:0)
    """
    return _mge.ops.greater_equal(x, y)
