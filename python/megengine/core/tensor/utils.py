# SPDX-License-Identifier: Apache-2.0
"""What MegEngine's own tests and some of its users' code take from here, under its names."""

from collections.abc import Iterable

import numpy as np

from ... import _mge
from ...tensor import Tensor


def _items(x) -> Iterable:
    """The numbers of a shape: of a tensor or an array, or of what holds numbers and tensors."""
    if isinstance(x, Tensor):
        return _numbers(x)
    return (item for entry in np.atleast_1d(np.asarray(x, object)) for item in _numbers(entry))


def _numbers(entry) -> list:
    return np.atleast_1d(entry.numpy()).tolist() if isinstance(entry, Tensor) else [entry]


def make_shape_tuple(shape) -> tuple[int, ...]:
    """A shape as a tuple of ints.

    Args:
        shape: ints, or vectors and scalars (Tensors too) of whole numbers, or such a one.
    Raises:
        TypeError: something in it is no whole number.
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
        reference: Tensors, the first of which has the device; None: the default one.
        dtype: of the result; None: that of ``x``.
        device: of the result.
    Example:
        >>> astensor1d((Tensor(2), 3)).numpy()
        array([2, 3], dtype=int32)
    """
    if not isinstance(x, Tensor):
        x = Tensor(np.array(list(_items(x))))
    if device is None and reference:
        device = reference[0].device
    x = x.reshape(-1)
    x = x if dtype is None else x.astype(dtype)
    return x if device is None or x.device == device else x.to(device)


def isscalar(x) -> bool:
    """Whether something has no axes: a number, or a Tensor or array of rank 0.

    Example:
        >>> isscalar(Tensor(1.0)), isscalar(Tensor([1.0]))
        (True, False)
    """
    return x.ndim == 0 if isinstance(x, Tensor) else np.ndim(x) == 0


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


def convert_single_value(v, *, dtype=None, device=None) -> Tensor:
    """A value as a Tensor, which a Tensor is already.

    Args:
        v: Tensor, number or array.
        dtype: of the new Tensor, or what a Tensor is cast to.
        device: of the new Tensor.
    """
    if isinstance(v, Tensor):
        return v if dtype is None or v.dtype == dtype else v.astype(dtype)
    return Tensor(v, dtype=dtype, device=device)


def result_type(*args) -> np.dtype:
    """The dtype that operands of an operator have in common.

    Args:
        args: Tensors, arrays and numbers.
    Example:
        >>> result_type(Tensor([1]), Tensor([1.0]))
        dtype('float32')
    """
    tensors = [one for one in args if isinstance(one, Tensor | np.ndarray)]
    found = [convert_single_value(one).reshape(-1)[:0] for one in tensors or args]
    return np.dtype(_mge.ops.concat(found).dtype)


def convert_inputs(*args, device=None) -> tuple:
    """Operands as Tensors of the dtype that they have in common; None stays.

    Args:
        args: Tensors, arrays and numbers; a float makes integers float32.
        device: of the new Tensors.
    Example:
        >>> convert_inputs(Tensor([1]), 0.5, None)
        (Tensor([1.], device=xpux:0), Tensor(0.5, device=xpux:0), None)
    """
    dtype = result_type(*(one for one in args if one is not None))
    if dtype.kind != "f" and any(isinstance(one, float) for one in args):
        dtype = np.dtype("float32")
    return tuple(
        None if one is None else convert_single_value(one, dtype=dtype, device=device)
        for one in args
    )
