# SPDX-License-Identifier: Apache-2.0
"""Activations, softmax and its relatives."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.hints import refuse_keywords, with_hints
from ..core.operands import Operand
from ..core.tensor.dtype import is_integer
from ..core.tensor.shape_arguments import as_vector
from ..tensor import Tensor
from .creation import as_tensor
from .elementwise_docs import _floating, _numeric
from .math import max as _max
from .math import sum as _sum


@_floating
def sigmoid(x: Operand) -> Tensor:
    """1 / (1 + exp(-x)).

    Example:
        >>> F.sigmoid(Tensor([0.0, 1.0]))
        Tensor([0.5    0.7311], device=xpux:0)
    """
    return _mge.ops.sigmoid(x)


@_floating
def hsigmoid(x: Operand) -> Tensor:
    """relu6(x + 3) / 6, the piecewise linear sigmoid.

    Example:
        >>> F.hsigmoid(Tensor([-3.0, 0.0]))
        Tensor([0.  0.5], device=xpux:0)
    """
    return _mge.ops.hsigmoid(x)


@_floating
def hswish(x: Operand) -> Tensor:
    """x * relu6(x + 3) / 6.

    Example:
        >>> F.hswish(Tensor([-3.0, 3.0]))
        Tensor([-0.  3.], device=xpux:0)
    """
    return _mge.ops.hswish(x)


@_numeric
def relu(x: Operand) -> Tensor:
    """max(x, 0).

    Example:
        >>> F.relu(Tensor([-1.0, 2.0]))
        Tensor([0. 2.], device=xpux:0)
    """
    return _mge.ops.relu(x)


@_numeric
def relu6(x: Operand) -> Tensor:
    """min(max(x, 0), 6).

    Example:
        >>> F.relu6(Tensor([-1.0, 8.0]))
        Tensor([0. 6.], device=xpux:0)
    """
    return _mge.ops.relu6(x)


def prelu(x: Operand, y: Operand) -> Tensor:
    """x where it is positive, x * y elsewhere.

    Args:
        x: any shape, floating.
        y: slopes; broadcast to ``x``.
    Returns:
        Tensor of the broadcast shape.
    Example:
        >>> F.prelu(Tensor([-1.0, 2.0]), Tensor([0.5]))
        Tensor([-0.5  2. ], device=xpux:0)
    """
    return _mge.ops.prelu(x, y)


def leaky_relu(inp: Operand, negative_slope: float = 0.01) -> Tensor:
    """x where it is positive, x * slope elsewhere.

    Args:
        inp: any shape, floating.
        negative_slope: slope below zero.
    Returns:
        Tensor of the shape of ``inp``.
    Example:
        >>> F.leaky_relu(Tensor([-1.0, 2.0]))
        Tensor([-0.01  2.  ], device=xpux:0)
    """
    return _mge.ops.leaky_relu(inp, slope=negative_slope)


@_floating
def silu(x: Operand) -> Tensor:
    """x * sigmoid(x).

    Example:
        >>> F.silu(Tensor([0.0, 1.0]))
        Tensor([0.     0.7311], device=xpux:0)
    """
    return _mge.ops.silu(x)


@_floating
def gelu(x: Operand) -> Tensor:
    """x times the normal distribution function of x (the exact form, by erf).

    Example:
        >>> F.gelu(Tensor([0.0, 1.0]))
        Tensor([0.     0.8413], device=xpux:0)
    """
    return _mge.ops.gelu(x)


@_floating
def softplus(inp: Operand) -> Tensor:
    """log(1 + exp(x)) without overflow.

    Example:
        >>> F.softplus(Tensor([0.0, 100.0]))
        Tensor([  0.6931 100.    ], device=xpux:0)
    """
    return _mge.ops.softplus(inp)


@_floating
def logsigmoid(inp: Operand) -> Tensor:
    """log(sigmoid(x)) without overflow.

    Example:
        >>> F.logsigmoid(Tensor([0.0, -100.0]))
        Tensor([  -0.6931 -100.    ], device=xpux:0)
    """
    return _mge.ops.logsigmoid(inp)


@with_hints
def softmax(inp: Tensor, axis: int | None = None, **others: Any) -> Tensor:
    """Exponentials normalised to sum to one along an axis.

    Args:
        inp: any rank, floating; a value of rank 0 is a vector of one element.
        axis: the axis; None: 0 for rank 1 and 3, 1 for other ranks.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        RuntimeError: the axis is out of range.
    Example:
        >>> F.softmax(Tensor([0.0, 0.0]))
        Tensor([0.5 0.5], device=xpux:0)
    """
    if others:
        refuse_keywords("softmax", others)
    inp = as_vector(as_tensor(inp))
    if axis is None:
        axis = 0 if inp.ndim in (1, 3) else 1
    if isinstance(axis, (list, tuple)):
        value = _mge.ops.exp(_mge.ops.sub(inp, _max(inp, axis, keepdims=True)))
        return _mge.ops.div(value, _sum(value, axis, keepdims=True))
    try:
        return _mge.ops.softmax(inp, axis=axis, log=False)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


@with_hints
def logsoftmax(inp: Tensor, axis: int | Sequence[int], **others: Any) -> Tensor:
    """Logarithm of ``softmax``, computed without overflow.

    Args:
        inp: any rank, floating; a value of rank 0 is a vector of one element.
        axis: the axis, or several.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        TypeError: no axis is given.
        RuntimeError: the axis is out of range.
    Example:
        >>> F.logsoftmax(Tensor([0.0, 0.0]), axis=0)
        Tensor([-0.6931 -0.6931], device=xpux:0)
    """
    if others:
        refuse_keywords("logsoftmax", others)
    if axis is None:
        raise TypeError("[logsoftmax] axis must be an integer or several, got None")
    inp = as_vector(inp)
    one: Any = axis
    if isinstance(axis, (list, tuple)):
        return _mge.ops.sub(inp, logsumexp(inp, axis, keepdims=True))
    try:
        return _mge.ops.softmax(inp, axis=one, log=True)
    except ValueError as error:
        raise RuntimeError(str(error)) from None


@with_hints
def logsumexp(
    inp: Tensor, axis: int | Sequence[int], keepdims: bool = False, **others: Any
) -> Tensor:
    """Logarithm of the sum of exponentials along axes, computed without overflow.

    Args:
        inp: any rank, integers become float32; a value of rank 0 is a vector of one element for an
            int axis.
        axis: the axis, or several.
        keepdims: keep the reduced axes with size 1.
    Returns:
        Tensor.
    Example:
        >>> F.logsumexp(Tensor([0.0, 0.0]), axis=0)
        Tensor(0.6931472, device=xpux:0)
    """
    inp = as_tensor(inp)
    if others:
        refuse_keywords("logsumexp", others)
    if isinstance(axis, (int, np.integer)):
        inp, axis = as_vector(inp), int(axis)
    if is_integer(inp.dtype):
        inp = _mge.ops.convert(inp, dtype="float32")  # differences of small integers wrap around
    top = _max(inp, axis, keepdims=True)
    # An infinite maximum would give inf - inf; the shift may be any finite number.
    finite = _mge.ops.where(_mge.ops.isinf(top), _mge.ops.full_like(top, value=0.0), top)
    shift = finite.detach()
    total = _sum(_mge.ops.exp(_mge.ops.sub(inp, shift)), axis, keepdims=True)
    out = _mge.ops.add(_mge.ops.log(total), shift)
    if keepdims:
        return out
    axes = [axis] if isinstance(axis, int) else axis
    return _mge.ops.remove_axis(out, axes=sorted(a % inp.ndim for a in axes))
