# SPDX-License-Identifier: Apache-2.0
"""Trigonometric and hyperbolic functions, element by element."""

from .. import _mge
from ..core.operands import Operand
from ..tensor import Tensor


def cos(x: Operand) -> Tensor:
    """Cosine of an angle in radians.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.cos(Tensor([0.0, 1.0]))
        Tensor([1.     0.5403], device=xpux:0)
    """
    return _mge.ops.cos(x)


def sin(x: Operand) -> Tensor:
    """Sine of an angle in radians; of an infinity NaN.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.sin(Tensor([0.0, 1.0]))
        Tensor([0.     0.8415], device=xpux:0)
    """
    return _mge.ops.sin(x)


def tan(x: Operand) -> Tensor:
    """Tangent of an angle in radians.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.tan(Tensor([0.0, 1.0]))
        Tensor([0.     1.5574], device=xpux:0)
    """
    return _mge.ops.tan(x)


def acos(x: Operand) -> Tensor:
    """Inverse cosine in radians; NaN outside [-1, 1].

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.acos(Tensor([1.0, 0.5]))
        Tensor([0.     1.0472], device=xpux:0)
    """
    return _mge.ops.acos(x)


def asin(x: Operand) -> Tensor:
    """Inverse sine in radians; NaN outside [-1, 1].

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.asin(Tensor([0.0, 0.5]))
        Tensor([0.     0.5236], device=xpux:0)
    """
    return _mge.ops.asin(x)


def atan(x: Operand) -> Tensor:
    """Inverse tangent in radians.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.atan(Tensor([0.0, 1.0]))
        Tensor([0.     0.7854], device=xpux:0)
    """
    return _mge.ops.atan(x)


def atan2(y: Operand, x: Operand) -> Tensor:
    """Angle in radians of the point (x, y), in [-pi, pi].

    Args:
        y: any shape and numeric dtype; integers count as float32.
        x: as ``y``; the two shapes are broadcast.
    Returns:
        Tensor of the broadcast shape.
    Raises:
        RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
    Example:
        >>> F.atan2(Tensor([0.0, 1.0]), Tensor([1.0, 1.0]))
        Tensor([0.     0.7854], device=xpux:0)
    """
    return _mge.ops.atan2(y, x)


def cosh(x: Operand) -> Tensor:
    """Hyperbolic cosine.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.cosh(Tensor([0.0, 1.0]))
        Tensor([1.     1.5431], device=xpux:0)
    """
    return _mge.ops.cosh(x)


def sinh(x: Operand) -> Tensor:
    """Hyperbolic sine.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.sinh(Tensor([0.0, 1.0]))
        Tensor([0.     1.1752], device=xpux:0)
    """
    return _mge.ops.sinh(x)


def tanh(x: Operand) -> Tensor:
    """Hyperbolic tangent.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.tanh(Tensor([0.0, 1.0]))
        Tensor([0.     0.7616], device=xpux:0)
    """
    return _mge.ops.tanh(x)


def asinh(x: Operand) -> Tensor:
    """Inverse hyperbolic sine.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.asinh(Tensor([0.0, 1.0]))
        Tensor([0.     0.8814], device=xpux:0)
    """
    return _mge.ops.asinh(x)


def acosh(x: Operand) -> Tensor:
    """Inverse hyperbolic cosine; NaN below 1.

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.acosh(Tensor([1.0, 2.0]))
        Tensor([0.    1.317], device=xpux:0)
    """
    return _mge.ops.acosh(x)


def atanh(x: Operand) -> Tensor:
    """Inverse hyperbolic tangent; NaN outside [-1, 1].

    Args:
        x: any shape and numeric dtype; integers count as float32.
    Returns:
        Tensor of the shape of ``x``.
    Raises:
        RuntimeError: the dtype of ``x`` is not allowed.
    Example:
        >>> F.atanh(Tensor([0.0, 0.5]))
        Tensor([0.     0.5493], device=xpux:0)
    """
    return _mge.ops.atanh(x)
