# SPDX-License-Identifier: Apache-2.0
"""Trigonometric and hyperbolic functions, element by element."""

from .. import _mge
from ..core.operands import Operand
from ..tensor import Tensor
from .elementwise_docs import _floating


@_floating
def cos(x: Operand) -> Tensor:
    """Cosine of an angle in radians.

    Example:
        >>> F.cos(Tensor([0.0, 1.0]))
        Tensor([1.     0.5403], device=xpux:0)
    """
    return _mge.ops.cos(x)


@_floating
def sin(x: Operand) -> Tensor:
    """Sine of an angle in radians; of an infinity NaN.

    Example:
        >>> F.sin(Tensor([0.0, 1.0]))
        Tensor([0.     0.8415], device=xpux:0)
    """
    return _mge.ops.sin(x)


@_floating
def tan(x: Operand) -> Tensor:
    """Tangent of an angle in radians.

    Example:
        >>> F.tan(Tensor([0.0, 1.0]))
        Tensor([0.     1.5574], device=xpux:0)
    """
    return _mge.ops.tan(x)


@_floating
def acos(x: Operand) -> Tensor:
    """Inverse cosine in radians; NaN outside [-1, 1].

    Example:
        >>> F.acos(Tensor([1.0, 0.5]))
        Tensor([0.     1.0472], device=xpux:0)
    """
    return _mge.ops.acos(x)


@_floating
def asin(x: Operand) -> Tensor:
    """Inverse sine in radians; NaN outside [-1, 1].

    Example:
        >>> F.asin(Tensor([0.0, 0.5]))
        Tensor([0.     0.5236], device=xpux:0)
    """
    return _mge.ops.asin(x)


@_floating
def atan(x: Operand) -> Tensor:
    """Inverse tangent in radians.

    Example:
        >>> F.atan(Tensor([0.0, 1.0]))
        Tensor([0.     0.7854], device=xpux:0)
    """
    return _mge.ops.atan(x)


@_floating
def atan2(y: Operand, x: Operand) -> Tensor:
    """Angle in radians of the point (x, y), in [-pi, pi].

    Example:
        >>> F.atan2(Tensor([0.0, 1.0]), Tensor([1.0, 1.0]))
        Tensor([0.     0.7854], device=xpux:0)
    """
    return _mge.ops.atan2(y, x)


@_floating
def cosh(x: Operand) -> Tensor:
    """Hyperbolic cosine.

    Example:
        >>> F.cosh(Tensor([0.0, 1.0]))
        Tensor([1.     1.5431], device=xpux:0)
    """
    return _mge.ops.cosh(x)


@_floating
def sinh(x: Operand) -> Tensor:
    """Hyperbolic sine.

    Example:
        >>> F.sinh(Tensor([0.0, 1.0]))
        Tensor([0.     1.1752], device=xpux:0)
    """
    return _mge.ops.sinh(x)


@_floating
def tanh(x: Operand) -> Tensor:
    """Hyperbolic tangent.

    Example:
        >>> F.tanh(Tensor([0.0, 1.0]))
        Tensor([0.     0.7616], device=xpux:0)
    """
    return _mge.ops.tanh(x)


@_floating
def asinh(x: Operand) -> Tensor:
    """Inverse hyperbolic sine.

    Example:
        >>> F.asinh(Tensor([0.0, 1.0]))
        Tensor([0.     0.8814], device=xpux:0)
    """
    return _mge.ops.asinh(x)


@_floating
def acosh(x: Operand) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    Example:
        >>> F.acosh(Tensor([1.0, 2.0]))
        Tensor([0.    1.317], device=xpux:0)
    """
    return _mge.ops.acosh(x)


@_floating
def atanh(x: Operand) -> Tensor:
    """Inverse hyperbolic tangent; NaN outside [-1, 1].

    Example:
        >>> F.atanh(Tensor([0.0, 0.5]))
        Tensor([0.     0.5493], device=xpux:0)
    """
    return _mge.ops.atanh(x)
