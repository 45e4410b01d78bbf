# SPDX-License-Identifier: Apache-2.0
"""Tensors made from a shape and a rule."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.nesting import array_of
from ..core.operands import Number, Operand, Shape, beside
from ..core.tensor.dtype import checked_dtype, is_complex
from ..core.tensor.shape_arguments import as_int, known_or_symbolic
from ..core.tensor.shaping import broadcast
from ..core.tracing_state import is_recorded
from ..tensor import Tensor


def _number(value: Any, who: str, argument: str) -> float:
    if isinstance(value, _mge.Tensor) or (isinstance(value, np.ndarray) and value.ndim == 0):
        value = value.item()
    if not isinstance(value, (bool, int, float, np.number, np.bool_)):
        raise TypeError(f"[{who}] {argument} must be a number, got {type(value).__name__}")
    return float(value)


def _bounds(values: Any, who: str) -> tuple[list[float], list[Any]]:
    """Bounds as numbers, and the Tensors that replace these."""
    tensors = [_bound(v) if isinstance(v, _mge.Tensor) else None for v in values]
    numbers = [0.0 if isinstance(v, _mge.Tensor) else _number(v, who, "a bound") for v in values]
    return numbers, tensors


def _bound(value: Any) -> Any:
    return value.astype("float32") if value.dtype == np.bool_ else value


def _with_gradients(line: Tensor, start: Any, step: Any) -> Tensor:
    """The values of ``arange``, with the gradients of a start and a step that tapes follow."""
    followed = [isinstance(v, _mge.Tensor) and _mge.is_recorded(v) for v in (start, step)]
    # y[i] = start + i * step; the added value is 0.
    if followed[0]:
        line = line + _zero(start).astype(line.dtype)
    if followed[1]:
        places = _mge.ops.arange(last=_mge.ops.shape_of(line), dtype="float32")
        line = line + (_zero(step) * places).astype(line.dtype)
    return line


def _zero(value: Tensor) -> Tensor:
    return _mge.ops.reshape(value - value.detach(), shape=[1])


def _has_float(*values: Any) -> bool:
    """Whether a number or Tensor is floating and not known to be an integer."""
    for value in values:
        if isinstance(value, _mge.Tensor):
            if np.dtype(value.dtype).kind == "f":
                return True
        elif not float(value).is_integer():
            return True
    return False


def _counted_in_float32(
    first: float, last: float, gap: float, tensors: list[Any]
) -> tuple[float, float, float, list[Any]]:
    """Bounds with ``last`` half a step after the last value, and MegEngine's count of values.

    MegEngine counts the values in float32, which decides whether one that is almost ``last``
    belongs to them: 0.6 / 0.2 is 3 in float32, and more in float64.
    """
    if any(tensor is not None for tensor in tensors):
        start, stop, step = (
            number if tensor is None else tensor.detach()
            for number, tensor in zip((first, last, gap), tensors, strict=True)
        )
        count = _mge.ops.ceil(_mge.ops.div(stop - start, step))
        return first, 0.0, gap, [tensors[0], start + step * (count - 0.5), tensors[2]]
    start, stop, step = np.array([first, last, gap], np.float32)
    if step == 0 or not np.isfinite([start, stop, step]).all():
        return first, last, gap, tensors  # for the operator to refuse
    return first, first + gap * (float(np.ceil((stop - start) / step)) - 0.5), gap, tensors


def as_tensor(value: Any) -> Tensor:
    """A Tensor of an operand; a Tensor as it is."""
    return value if isinstance(value, Tensor) else Tensor(value)


def as_tensors(*values: Any) -> Sequence[Tensor]:
    """Tensors of operands, on the device of the first Tensor among them."""
    if all(isinstance(value, _mge.Tensor) for value in values):  # nearly always
        return values
    with beside(*values):
        return [as_tensor(value) for value in values]


def _named(dtype: Any) -> Any:
    """A dtype given by name, if Tensors can have it: operators know names of more dtypes."""
    return checked_dtype(dtype) if isinstance(dtype, str) else dtype


def _placed(value: Tensor, device: Any) -> Tensor:
    return value if device is None or value.device == device else value.to(device)


def arange(
    start: Number | Tensor = 0,
    stop: Number | Tensor | None = None,
    step: Number | Tensor = 1,
    *,
    dtype: Any = "float32",
    device: Any = None,
) -> Tensor:
    """Evenly spaced values from ``start`` up to, not including, ``stop``.

    Args:
        start: first value; the end, if ``stop`` is not given.
        stop: end of the range.
        step: difference of two values; not zero.
        dtype: dtype of the result.
        device: device of the result; None: that of a Tensor among the bounds, else the default
            device.
    Returns:
        Vector.
    Raises:
        RuntimeError: ``step`` is zero.
    Example:
        >>> F.arange(1, 4)
        Tensor([1. 2. 3.], device=xpux:0)
    """
    if stop is None:
        start, stop = 0, start
    (first, last, gap), tensors = _bounds((start, stop, step), "arange")
    if _has_float(start, stop, step):
        first, last, gap, tensors = _counted_in_float32(first, last, gap, tensors)
    out = _mge.ops.arange(*tensors, start=first, stop=last, step=gap, dtype=_named(dtype))
    return _placed(_with_gradients(out, start, step), device)


def linspace(
    start: Number | Tensor,
    stop: Number | Tensor,
    num: int | Tensor,
    *,
    dtype: Any = "float32",
    device: Any = None,
) -> Tensor:
    """``num`` evenly spaced values from ``start`` to ``stop``, both included.

    Args:
        start: first value.
        stop: last value.
        num: how many.
        dtype: dtype of the result.
        device: where the result lives, as in ``arange``.
    Returns:
        Vector.
    Raises:
        RuntimeError: ``num`` is negative.
    Example:
        >>> F.linspace(0, 1, 3)
        Tensor([0.  0.5 1. ], device=xpux:0)
    """
    (first, last), tensors = _bounds((start, stop), "linspace")
    if is_recorded(num):
        size = _mge.ops.convert(num, dtype="int32")
        try:
            out = _mge.ops.linspace(tensors[0], tensors[1], size, start=first, stop=last)
        except ValueError as error:
            raise RuntimeError(str(error)) from None
    else:
        count = as_int(num, "linspace", "num")
        if count < 0:
            raise RuntimeError(f"[linspace] num must not be negative, got {count}")
        out = _mge.ops.linspace(tensors[0], tensors[1], start=first, stop=last, num=count)
    return _placed(out if np.dtype(dtype) == out.dtype else out.astype(dtype), device)


def logspace(
    start: Number | Tensor,
    stop: Number | Tensor,
    num: int | Tensor,
    *,
    base: float = 10.0,
    dtype: Any = "float32",
    device: Any = None,
) -> Tensor:
    """``num`` powers of a base with evenly spaced exponents, both ends included.

    Args:
        start: first exponent.
        stop: last exponent.
        num: how many.
        base: the base.
        dtype: dtype of the result.
        device: where the result lives.
    Returns:
        Vector.
    Raises:
        RuntimeError: ``num`` is negative.
    Example:
        >>> F.logspace(0, 2, 3)
        Tensor([  1.  10. 100.], device=xpux:0)
    """
    out = _mge.ops.pow(float(base), linspace(start, stop, num, device=device))
    return out if np.dtype(dtype) == out.dtype else out.astype(dtype)


def eye(N: Any, M: int | None = None, *, dtype: Any = "float32", device: Any = None) -> Tensor:
    """A matrix with ones on the diagonal.

    Args:
        N: number of rows; or both sizes as a pair or a vector. In a trace, sizes that are Tensors
            follow the input.
        M: number of columns; None: as many as rows.
        dtype: dtype of the result.
        device: device of the result.
    Returns:
        Matrix.
    Raises:
        TypeError: a size is not an integer.
    Example:
        >>> F.eye(2)
        Tensor([[1. 0.]
         [0. 1.]], device=xpux:0)
    """
    if M is not None:
        N = (N, M)
    sizes: Any
    sizes, traced = known_or_symbolic(N, "eye")
    if traced is not None:
        out = _mge.ops.equal(arange(traced[0])[:, None], arange(traced[-1]))
        return _placed(out.astype(_named(dtype)), device)
    rows, columns = sizes if len(sizes) == 2 else (sizes[0], sizes[0])
    return _placed(_mge.ops.eye(n=rows, m=columns, dtype=_named(dtype)), device)


def full(shape: Shape, value: Number | Tensor, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A tensor with one value everywhere.

    Args:
        shape: ints, Tensors or an int32 vector; ``()`` gives rank 0.
        value: the value; a Tensor, an array or a list is broadcast.
        dtype: dtype of the result; None: that of the value (float32, int32 or bool).
        device: device of the result; None: that of a Tensor ``value``, else the default device.
    Returns:
        Tensor.
    Raises:
        TypeError: a size is not an integer.
    Example:
        >>> F.full((2,), 3)
        Tensor([3 3], dtype=int32, device=xpux:0)
    """
    if isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0):
        value = Tensor(value, dtype=dtype, device=device)
    if isinstance(value, _mge.Tensor):
        out = broadcast(value, shape)
        return _placed(out if dtype is None else out.astype(dtype), device)
    if is_complex(dtype):
        return full(shape, value, dtype="float32", device=device).astype(dtype)
    if dtype is None:
        dtype = {"b": "bool", "i": "int32", "u": "int32"}.get(
            array_of(value, "full").dtype.kind, "float32"
        )
    dtype = _named(dtype)
    sizes, target = known_or_symbolic(shape, "full")
    number = _number(value, "full", "value")
    if sizes is None:
        return _placed(_mge.ops.full(target, value=number, dtype=dtype), device)
    return _placed(_mge.ops.full(shape=sizes, value=number, dtype=dtype), device)


def ones(shape: Shape, *, dtype: Any = "float32", device: Any = None) -> Tensor:
    """A tensor of ones; see ``full``.

    Example:
        >>> F.ones(2)
        Tensor([1. 1.], device=xpux:0)
    """
    return full(shape, 1, dtype=dtype, device=device)


def zeros(shape: Shape, *, dtype: Any = "float32", device: Any = None) -> Tensor:
    """A tensor of zeros; see ``full``.

    Example:
        >>> F.zeros(2)
        Tensor([0. 0.], device=xpux:0)
    """
    return full(shape, 0, dtype=dtype, device=device)


def full_like(inp: Operand, value: Number | Tensor) -> Tensor:
    """A tensor with one value everywhere, of the shape and dtype of another.

    Args:
        inp: any shape.
        value: the value.
    Returns:
        Tensor of the shape and dtype of ``inp``.
    Raises:
        TypeError: ``value`` is not a number.
        RuntimeError: ``value`` is a Tensor on another device, or does not broadcast.
    Example:
        >>> F.full_like(Tensor([1, 2]), 5)
        Tensor([5 5], dtype=int32, device=xpux:0)
    """
    if isinstance(value, _mge.Tensor):
        like = _mge.ops.full_like(inp, value=0.0)
        return _mge.ops.broadcast_like(value.astype(like.dtype), like)
    return _mge.ops.full_like(inp, value=_number(value, "full_like", "value"))


def ones_like(inp: Operand) -> Tensor:
    """Ones of the shape and dtype of another tensor.

    Example:
        >>> F.ones_like(Tensor([3, 4]))
        Tensor([1 1], dtype=int32, device=xpux:0)
    """
    return full_like(inp, 1)


def zeros_like(inp: Operand) -> Tensor:
    """Zeros of the shape and dtype of another tensor.

    Example:
        >>> F.zeros_like(Tensor([3, 4]))
        Tensor([0 0], dtype=int32, device=xpux:0)
    """
    return full_like(inp, 0)
