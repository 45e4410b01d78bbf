# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions with NumPy's broadcasting.

Operands are Tensors, numbers, lists or NumPy arrays. The first Tensor sets the device; without one
it is the default device. Dtypes are promoted by the rules of ``Tensor`` arithmetic.
"""

import numpy as np

from .. import _mge
from ..core.operands import Operand
from ..core.ops.elemwise_modes import elementwise
from ..tensor import Tensor
from .elementwise_docs import _floating, _numeric
from .logic import (
    equal,
    greater,
    greater_equal,
    left_shift,
    less,
    less_equal,
    logical_and,
    logical_not,
    logical_or,
    logical_xor,
    not_equal,
    right_shift,
)
from .quantised_elemwise import _elemwise_multi_type  # noqa: F401
from .trigonometry import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    cos,
    cosh,
    sin,
    sinh,
    tan,
    tanh,
)

__all__ = [
    "abs",
    "acos",
    "acosh",
    "add",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ceil",
    "clip",
    "cos",
    "cosh",
    "div",
    "equal",
    "erf",
    "exp",
    "expm1",
    "floor",
    "floor_div",
    "greater",
    "greater_equal",
    "left_shift",
    "less",
    "less_equal",
    "log",
    "log1p",
    "logaddexp",
    "logical_and",
    "logical_not",
    "logical_or",
    "logical_xor",
    "maximum",
    "minimum",
    "mod",
    "mul",
    "neg",
    "not_equal",
    "pow",
    "right_shift",
    "round",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "sub",
    "tan",
    "tanh",
]


@_numeric
def add(x: Operand, y: Operand) -> Tensor:
    """Sum.

    Example:
        >>> F.add(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
        Tensor([4. 6.], device=xpux:0)
    """
    return _mge.ops.add(x, y)


@_numeric
def sub(x: Operand, y: Operand) -> Tensor:
    """Difference x - y.

    Example:
        >>> F.sub(Tensor([1.0, 2.0]), Tensor([3.0, 5.0]))
        Tensor([-2. -3.], device=xpux:0)
    """
    return _mge.ops.sub(x, y)


@_numeric
def mul(x: Operand, y: Operand) -> Tensor:
    """Product.

    Example:
        >>> F.mul(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
        Tensor([3. 8.], device=xpux:0)
    """
    return _mge.ops.mul(x, y)


@_floating
def div(x: Operand, y: Operand) -> Tensor:
    """Quotient x / y.

    Example:
        >>> F.div(Tensor([1.0, 2.0]), Tensor([4.0, 4.0]))
        Tensor([0.25 0.5 ], device=xpux:0)
    """
    return _mge.ops.div(x, y)


@_numeric
def floor_div(x: Operand, y: Operand) -> Tensor:
    """Largest integer not above x / y; integers follow Python's sign rule.

    Example:
        >>> F.floor_div(Tensor([7, -7]), Tensor([2, 2]))
        Tensor([ 3 -4], dtype=int32, device=xpux:0)
    """
    return _mge.ops.floor_div(x, y)


@_numeric
def neg(x: Operand) -> Tensor:
    """Negation.

    Example:
        >>> F.neg(Tensor([1.0, -2.0]))
        Tensor([-1.  2.], device=xpux:0)
    """
    return _mge.ops.neg(x)


@_floating
def pow(x: Operand, y: Operand) -> Tensor:
    """Power x ** y.

    Example:
        >>> F.pow(Tensor([2.0, 3.0]), Tensor([3.0, 2.0]))
        Tensor([8. 9.], device=xpux:0)
    """
    return _mge.ops.pow(x, y)


@_numeric
def mod(x: Operand, y: Operand) -> Tensor:
    """Remainder of x / y.

    Integers follow Python's sign rule, floats take the sign of ``x`` as C's fmod.

    Example:
        >>> F.mod(Tensor([7, -7]), Tensor([3, 3]))
        Tensor([1 2], dtype=int32, device=xpux:0)
    """
    return _mge.ops.mod(x, y)


@_numeric
def abs(x: Operand) -> Tensor:
    """Absolute value.

    Example:
        >>> F.abs(Tensor([1.0, -2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _mge.ops.abs(x)


@_floating
def exp(x: Operand) -> Tensor:
    """Exponential.

    Example:
        >>> F.exp(Tensor([0.0, 1.0]))
        Tensor([1.     2.7183], device=xpux:0)
    """
    return _mge.ops.exp(x)


@_floating
def expm1(x: Operand) -> Tensor:
    """Exponential minus one, precise near zero.

    Example:
        >>> F.expm1(Tensor([0.0, 1.0]))
        Tensor([0.     1.7183], device=xpux:0)
    """
    return _mge.ops.expm1(x)


@_floating
def erf(x: Operand) -> Tensor:
    """Gauss error function, 2/sqrt(pi) times the integral of exp(-t*t) from 0 to x.

    Example:
        >>> F.erf(Tensor([0.0, 1.0]))
        Tensor([0.     0.8427], device=xpux:0)
    """
    return _mge.ops.erf(x)


@_floating
def log(x: Operand) -> Tensor:
    """Natural logarithm; of a negative number NaN, of zero minus infinity.

    Example:
        >>> F.log(Tensor([1.0, 2.0]))
        Tensor([0.     0.6931], device=xpux:0)
    """
    return _mge.ops.log(x)


@_floating
def log1p(x: Operand) -> Tensor:
    """Natural logarithm of one plus x, precise near zero.

    Example:
        >>> F.log1p(Tensor([0.0, 1.0]))
        Tensor([0.     0.6931], device=xpux:0)
    """
    return _mge.ops.log1p(x)


@_floating
def sqrt(x: Operand) -> Tensor:
    """Square root; of a negative number NaN.

    Example:
        >>> F.sqrt(Tensor([4.0, 2.0]))
        Tensor([2.     1.4142], device=xpux:0)
    """
    return _mge.ops.sqrt(x)


@_numeric
def square(x: Operand) -> Tensor:
    """Square.

    Example:
        >>> F.square(Tensor([3.0, -2.0]))
        Tensor([9. 4.], device=xpux:0)
    """
    return _mge.ops.square(x)


@_floating
def logaddexp(x: Operand, y: Operand) -> Tensor:
    """log(exp(x) + exp(y)) without overflow.

    Example:
        >>> F.logaddexp(Tensor([0.0, 100.0]), Tensor([0.0, 1.0]))
        Tensor([  0.6931 100.    ], device=xpux:0)
    """
    return _mge.ops.logaddexp(x, y)


@_numeric
def round(x: Operand) -> Tensor:
    """Nearest integer, halves away from zero; integers are returned unchanged.

    Example:
        >>> F.round(Tensor([0.5, 1.4, -1.5]))
        Tensor([ 1.  1. -2.], device=xpux:0)
    """
    return _mge.ops.round(x)


@_numeric
def ceil(x: Operand) -> Tensor:
    """Smallest integer not below x; integers are returned unchanged.

    Example:
        >>> F.ceil(Tensor([0.5, -1.5]))
        Tensor([ 1. -1.], device=xpux:0)
    """
    return _mge.ops.ceil(x)


@_numeric
def floor(x: Operand) -> Tensor:
    """Largest integer not above x; integers are returned unchanged.

    Example:
        >>> F.floor(Tensor([0.5, -1.5]))
        Tensor([ 0. -2.], device=xpux:0)
    """
    return _mge.ops.floor(x)


@_numeric
def maximum(x: Operand, y: Operand) -> Tensor:
    """Larger of two values. NaN in y stays, NaN in x gives y, as in MegEngine.

    Example:
        >>> F.maximum(Tensor([1.0, 5.0]), Tensor([3.0, 4.0]))
        Tensor([3. 5.], device=xpux:0)
    """
    return _mge.ops.maximum(x, y)


@_numeric
def minimum(x: Operand, y: Operand) -> Tensor:
    """Smaller of two values. NaN in y stays, NaN in x gives y, as in MegEngine.

    Example:
        >>> F.minimum(Tensor([1.0, 5.0]), Tensor([3.0, 4.0]))
        Tensor([1. 4.], device=xpux:0)
    """
    return _mge.ops.minimum(x, y)


def clip(x: Operand, lower: Operand | None = None, upper: Operand | None = None) -> Tensor:
    """x limited to [lower, upper].

    Args:
        x: any shape and numeric dtype.
        lower: smallest value of the result; None: no limit.
        upper: largest value of the result; None: no limit. If it is below ``lower``, elements up to
            ``lower`` become ``lower``, and the others ``upper``.
    Returns:
        Tensor of the broadcast shape.
    Raises:
        AssertionError: neither bound is given.
    Example:
        >>> F.clip(Tensor([-1.0, 0.5, 3.0]), 0.0, 1.0)
        Tensor([0.  0.5 1. ], device=xpux:0)
    """
    if lower is None:
        assert upper is not None, "[clip] give lower, upper or both"
        return minimum(x, upper)
    if upper is None:
        return maximum(x, lower)
    is_simple = isinstance(x, Tensor) and np.dtype(x.dtype).kind == "f"
    if is_simple and isinstance(lower, (int, float)) and isinstance(upper, (int, float)):
        if lower <= upper:
            return _mge.ops.clip(x, lower=float(lower), upper=float(upper))
    return elementwise("CLIP", x, lower, upper)


def _elwise(*args: Operand, mode: str) -> Tensor:
    """An elementwise function by its mode, in any case: ``core.ops.elemwise_modes`` has them all.

    Example:
        >>> _elwise(Tensor([1.0]), Tensor([2.0]), mode="add")
        Tensor([3.], device=xpux:0)
    """
    return elementwise(mode, *args)
