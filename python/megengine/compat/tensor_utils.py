# SPDX-License-Identifier: Apache-2.0
"""Functions that MegEngine's tests and some user code import, under MegEngine's names."""

import contextlib
from collections.abc import Iterable

import numpy as np

from .. import _mge
from ..core.nesting import array_of
from ..core.operands import is_whole
from ..core.tensor.dtype import is_integer
from ..core.tensor.shape_arguments import known_or_symbolic
from ..core.tracing_state import is_recorded
from ..tensor import Tensor
from . import amp


def _items(x) -> Iterable:
    """The numbers of a shape: of a tensor, an array, or a container of numbers and tensors."""
    if isinstance(x, Tensor):
        return _numbers(x)
    return (
        item for entry in np.atleast_1d(array_of(x, "shape", object)) for item in _numbers(entry)
    )


def _numbers(entry) -> list:
    return np.atleast_1d(entry.numpy()).tolist() if isinstance(entry, Tensor) else [entry]


def make_shape_tuple(shape) -> tuple[int, ...]:
    """A shape as a tuple of ints.

    Args:
        shape: an int, a vector or scalar of integers (also a Tensor), or a sequence of them.
    Raises:
        TypeError: an element is not an integer.
    Example:
        >>> make_shape_tuple((Tensor(2), 3))
        (2, 3)
    """
    sizes = tuple(_items(shape))
    if not all(isinstance(size, int | np.integer) for size in sizes):
        raise TypeError(f"[make_shape_tuple] a shape consists of whole numbers, got {shape!r}")
    return tuple(map(int, sizes))


def astensor1d(x, *reference, dtype=None, device=None) -> Tensor:
    """A Tensor of rank 1.

    Args:
        x: a Tensor, or numbers and Tensors of rank 0 or 1, which are joined.
        reference: Tensors, the first of which sets the device; None: the default device. If one is
            a variable of a ``Network``, so is the result.
        dtype: dtype of the result; None: that of ``x``.
        device: device of the result.
    Example:
        >>> astensor1d((Tensor(2), 3)).numpy()
        array([2, 3], dtype=int32)
    """
    if not isinstance(x, Tensor):
        x = _joined(x)
    if device is None and reference:
        device = reference[0].device
    x = x if x.ndim == 1 else x.reshape(-1)
    x = x if dtype is None or x.dtype == dtype else x.astype(dtype)
    graphs = [getattr(one, "graph", None) for one in reference if one._is_symbolic]
    if graphs and graphs[0] is not None and not x._is_symbolic:
        x = graphs[0].variable(graphs[0].add_constant(x, ""))
    return x if device is None or x.device == device else x.to(device)


def _joined(x) -> Tensor:
    """Numbers and Tensors as one Tensor, which follows sizes that a trace records."""
    if isinstance(x, list | tuple) and is_recorded(*x) and not any(map(_is_real, x)):
        return known_or_symbolic(x, "astensor1d")[1]
    return Tensor(np.array(list(_items(x))))


def _is_real(value) -> bool:
    return not is_integer(value.dtype) if isinstance(value, Tensor) else not is_whole(value)


def isscalar(x) -> bool:
    """Whether a value has no axes: a number, or a Tensor of rank 0.

    Example:
        >>> isscalar(Tensor(1.0)), isscalar(Tensor([1.0]))
        (True, False)
    """
    return x.ndim == 0 if isinstance(x, Tensor) else np.isscalar(x)


def _normalize_axis(ndim: int, axis: int | Iterable[int], reverse: bool = False) -> int | list[int]:
    """Axes counted from the front, in ascending (or descending) order.

    Raises:
        AssertionError: one is out of bounds, or there twice.
    """

    def counted(one: int) -> int:
        assert -ndim <= one < ndim, f"axis {one} is out of bounds for tensor of dimension {ndim}"
        return one % ndim

    if not isinstance(axis, Iterable):
        return counted(axis)
    axes = sorted({counted(one) for one in axis}, reverse=reverse)
    assert len(axes) == len(list(axis)), f"axis {axis} contains duplicated indices"
    return axes


def Const(value, dtype=None, device=None) -> Tensor:  # noqa: N802
    """A Tensor of a value that does not change."""
    return Tensor(value, dtype=dtype, device=device)


_convert_inputs_enabled = True


def get_convert_inputs() -> bool:
    """Whether ``convert_inputs`` does something."""
    return _convert_inputs_enabled


def set_convert_inputs(flag: bool) -> bool:
    """Say whether ``convert_inputs`` does something.

    Operators give their operands a common dtype in any case.

    Returns:
        The previous setting.
    """
    global _convert_inputs_enabled
    before, _convert_inputs_enabled = _convert_inputs_enabled, bool(flag)
    return before


def convert_single_value(v, *, dtype=None, device=None) -> Tensor:
    """A value as a Tensor, which a Tensor is already.

    Args:
        v: Tensor, number or array.
        dtype: dtype of the new Tensor, or the dtype to which a Tensor is cast.
        device: device of the new Tensor.
    """
    if isinstance(v, Tensor):
        return v if dtype is None or v.dtype == dtype else v.astype(dtype)
    return Tensor(v, dtype=dtype, device=device)


def cast_tensors(*args, promote: bool = False) -> tuple:
    """Tensors in the low precision of ``megengine.amp``; None is kept.

    Args:
        args: Tensors and Nones.
        promote: take the high precision.
    """
    dtype = amp.high_prec_dtype if promote else amp.low_prec_dtype
    return tuple(None if one is None else one.astype(dtype) for one in args)


def result_type(*args) -> np.dtype:
    """The common dtype of Tensors and dtypes by NumPy's rules; other values are ignored.

    Args:
        args: Tensors, and whatever NumPy takes for a dtype.
    Example:
        >>> result_type(Tensor([1], dtype="int8"), "int16")
        dtype('int16')
    """
    found = [one.dtype for one in args if isinstance(one, Tensor)]
    for one in args:
        if not isinstance(one, Tensor):
            with contextlib.suppress(TypeError):
                found.append(np.dtype(one))
    return np.result_type(*found)


def _category(one: Tensor) -> int:
    """0 for bool, 1 for integers, 2 for floating dtypes."""
    return {"b": 0, "i": 1, "u": 1}.get(one.dtype.kind, 2)


def dtype_promotion(args) -> np.dtype:
    """The dtype that operands of an operator have in common.

    Args:
        args: Tensors, arrays and numbers; arrays and numbers count only if their category (bool,
            integer, floating) is above the Tensors'.
    Example:
        >>> dtype_promotion([Tensor([1]), 0.5])
        dtype('float32')
    """
    tensors = [one for one in args if isinstance(one, Tensor)]
    others = [Tensor(one) for one in args if not isinstance(one, Tensor | type(None))]
    highest = max(map(_category, tensors), default=-1)
    above = [one for one in others if _category(one) > highest]
    return np.dtype(_mge.ops.concat(*(one.reshape(-1)[:0] for one in above or tensors)).dtype)


def get_device(args):
    """The device of the first Tensor, or the default one.

    Args:
        args: Tensors, arrays and numbers.
    Example:
        >>> get_device([1.0, Tensor([2.0])])
        xpux:0
    """
    return next((one.device for one in args if isinstance(one, Tensor)), Tensor(0).device)


def convert_inputs(*args, device=None) -> tuple:
    """Operands as Tensors of their common dtype; None is kept.

    Args:
        args: Tensors, arrays and numbers; a float makes integers float32.
        device: of the new Tensors.
    Example:
        >>> convert_inputs(Tensor([1]), 0.5, None)
        (Tensor([1.], device=xpux:0), Tensor(0.5, device=xpux:0), None)
    """
    if not _convert_inputs_enabled:
        return args
    dtype = dtype_promotion([one for one in args if one is not None])
    return tuple(
        None if one is None else convert_single_value(one, dtype=dtype, device=device)
        for one in args
    )
