# SPDX-License-Identifier: Apache-2.0
"""Data that tensors are given: arrays, lists, pointers and addresses."""

from __future__ import annotations

import sys
from ctypes import ArgumentError, c_size_t, c_void_p, cast

from ._numpy import np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any


def require(holds: Any, message: str) -> None:
    if not holds:
        raise AssertionError(f"[LiteTensor] {message}")


def sizes(numbers: Iterable[int]) -> Any:
    values = [int(number) for number in numbers]
    require(
        all(c_size_t(value).value == value for value in values),
        f"start, end and step are not negative and have 64 bits, got {values}",
    )
    return (c_size_t * len(values))(*values)


def is_swapped(kind: type) -> bool:
    """Whether elements of a type of ctypes have another machine's byte order."""
    while isinstance(getattr(kind, "_type_", None), type):
        kind = kind._type_  # type: ignore[attr-defined]
    native = getattr(kind, f"__ctype_{sys.byteorder[0]}e__", kind)
    return native is not kind or hasattr(kind, "_swappedbytes_")


def address_of(data: Any) -> int:
    """The address given as an int, a pointer or a ctypes array."""
    try:
        if isinstance(data, str):  # ctypes would take the memory of its letters
            raise TypeError
        address = data if isinstance(data, int) else cast(data, c_void_p).value or 0
    except (TypeError, ArgumentError):
        raise TypeError(
            f"[LiteTensor] data is an array of NumPy, a pointer of ctypes or an address; "
            f"got {type(data).__name__}"
        ) from None
    if is_swapped(type(data)):
        raise TypeError(
            "[LiteTensor] elements at a pointer have this machine's byte order; got a "
            f"{type(data).__name__}"
        )
    require(address, "data is a null pointer")
    return address


def array_of(data: Any, is_copied: bool = False) -> np.ndarray | None:
    """The data as an array of NumPy with elements of this machine's byte order.

    Args:
        data: an array, or something else.
        is_copied: elements are copied, so they may be converted as well.
    Returns:
        The array; None when the data is not an array.
    Raises:
        AssertionError: it has gaps.
        TypeError: its elements are objects, or need a conversion without a copy.
    """
    if not hasattr(data, "__array_interface__") and not (is_copied and hasattr(data, "__array__")):
        return None
    array = np.asarray(data)
    if array.dtype.hasobject:
        raise TypeError("[LiteTensor] the array holds objects of Python; astype makes them numbers")
    if not array.dtype.isnative:
        if not is_copied:
            raise TypeError(
                f"[LiteTensor] elements of {array.dtype.str!r} have another machine's byte order "
                "and cannot be shared; set_data_by_copy converts them"
            )
        array = array.astype(array.dtype.newbyteorder("="), order="K")
    require(
        array.flags.c_contiguous,
        "the array is not contiguous; numpy.ascontiguousarray(array) makes one that is",
    )
    return array


def converted(numbers: Sequence[Any], dtype: np.dtype) -> np.ndarray:
    """The numbers of a list as elements of a type; an error if one is out of its range."""
    values = np.array(numbers).ravel()
    if values.dtype.kind not in "biuf":
        raise TypeError(f"[LiteTensor] data is a list of numbers, got {numbers!r}")
    if dtype.kind == "b":
        return values.astype(dtype)
    finite = values[np.isfinite(values)]
    limits = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    is_exact = dtype.kind == "f" or finite.size == values.size
    if not is_exact or np.any(finite < limits.min) or np.any(finite > limits.max):
        raise RuntimeError(f"[LiteTensor] a number in data is out of the range of {dtype}")
    return values.astype(dtype)
