# SPDX-License-Identifier: Apache-2.0
"""Shapes and types of elements, as C programs lay them out."""

from __future__ import annotations

from ctypes import c_int, c_size_t
from math import prod
from operator import index

from ._check import Struct, named
from ._numpy import np
from .struct import LiteDataType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

MAX_DIM = 7

# NumPy's names and the bytes of an element, by LiteDataType.
_TYPES = {
    LiteDataType.LITE_FLOAT: ("float32", 4),
    LiteDataType.LITE_HALF: ("float16", 2),
    LiteDataType.LITE_INT: ("int32", 4),
    LiteDataType.LITE_INT16: ("int16", 2),
    LiteDataType.LITE_INT8: ("int8", 1),
    LiteDataType.LITE_UINT8: ("uint8", 1),
    LiteDataType.LITE_UINT: ("uint32", 4),
    LiteDataType.LITE_UINT16: ("uint16", 2),
    LiteDataType.LITE_INT64: ("int64", 8),
    LiteDataType.LITE_BOOL: ("bool", 1),
    LiteDataType.LITE_DOUBLE: ("float64", 8),
}
# Arrays are float64 by default, mostly by mistake, so the types that MegEngine lacks have no name.
_UNNAMED = (LiteDataType.LITE_BOOL, LiteDataType.LITE_DOUBLE)
_NAMES = [name for kind, (name, _) in _TYPES.items() if kind not in _UNNAMED]


class UnknownDataTypeError(RuntimeError, KeyError):
    """Lite has no such element type; MegEngine's package raises KeyError for it."""

    __str__ = RuntimeError.__str__  # a KeyError's is in quotation marks


def data_type_of(dtype: Any) -> LiteDataType:
    """The LiteDataType of a dtype, name or type.

    Args:
        dtype: a LiteDataType, a name like ``"int8"``, a NumPy dtype or scalar type; None: float32.
    Raises:
        UnknownDataTypeError: MegEngine Lite has no such type, and it is no LiteDataType.
    """
    if dtype is None:
        return LiteDataType.LITE_FLOAT
    name: Any = dtype
    try:
        if isinstance(dtype, int) and not isinstance(dtype, bool):
            return LiteDataType(dtype)
        if dtype not in _NAMES:
            name = np.dtype(dtype).name
        return LiteDataType(_NAMES.index(name))
    except (TypeError, ValueError):
        raise UnknownDataTypeError(
            f"[LiteLayout] dtype is one of {', '.join(_NAMES)}, as text, NumPy dtype or "
            f"LiteDataType; got {dtype!r}"
        ) from None


def lite_dtype_2_numpy(dtype: LiteDataType) -> type[np.generic]:
    """The scalar type of NumPy for a type of elements.

    Args:
        dtype: one of LiteDataType.
    Raises:
        AssertionError: it is something else.
    Example:
        >>> lite_dtype_2_numpy(LiteDataType.LITE_INT8)
        <class 'numpy.int8'>
    """
    if not isinstance(dtype, LiteDataType):
        raise AssertionError(f"[lite_dtype_2_numpy] dtype is a LiteDataType, got {dtype!r}")
    return np.dtype(_TYPES[dtype][0]).type


class LiteLayout(Struct):
    """The shape of a tensor and the type of its elements; two of equal contents are equal.

    Args:
        shape: up to 7 numbers; None or empty: not set yet.
        dtype: ``"int8"`` and the like, a LiteDataType, a NumPy dtype or scalar type; None: float32.
            Bool and float64, which inputs and outputs of networks may have, need a LiteDataType.
    Attributes:
        ndim: number of dimensions.
        data_type: number of the LiteDataType.
    Raises:
        AssertionError: the shape has more than 7 numbers, or one that is negative or has more than
            64 bits.
        RuntimeError: there is no such type; the exception is a KeyError, too.
        TypeError: a size is not an integer.
    Example:
        >>> layout = LiteLayout([1, 3, 224, 224], "uint8")
        >>> layout.shapes, layout.ndim, layout.dtype
        ([1, 3, 224, 224], 4, <class 'numpy.uint8'>)
    """

    _fields_ = [("_shapes", c_size_t * MAX_DIM), ("ndim", c_size_t), ("data_type", c_int)]

    ndim: int
    data_type: int

    def __init__(self, shape: Sequence[int] | None = None, dtype: Any = None) -> None:
        super().__init__(data_type=data_type_of(dtype))
        if shape is not None:
            self.shapes = shape

    @property
    def shapes(self) -> list[int]:
        """The sizes of the dimensions."""
        return list(self._shapes[: self.ndim])

    @shapes.setter
    def shapes(self, shape: Sequence[int]) -> None:
        sizes = [index(size) for size in shape]
        if len(sizes) > MAX_DIM or any(c_size_t(size).value != size for size in sizes):
            raise AssertionError(
                f"[LiteLayout] a shape has up to {MAX_DIM} sizes, none negative or of more than"
                f" 64 bits; got {sizes}"
            )
        self._shapes[: len(sizes)] = sizes
        self.ndim = len(sizes)

    @property
    def dtype(self) -> type[np.generic]:
        """The scalar type of NumPy for the elements."""
        return lite_dtype_2_numpy(LiteDataType(self.data_type))

    @property
    def _nbytes(self) -> int:
        """Size in bytes of a tensor without gaps."""
        return prod(self.shapes) * _TYPES[LiteDataType(self.data_type)][1] if self.ndim else 0

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, LiteLayout):
            return NotImplemented
        return self.data_type == other.data_type and self.shapes == other.shapes

    # It may change.
    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        known = named(LiteDataType, self.data_type)
        dtype = self.dtype if isinstance(known, LiteDataType) else known
        return repr({"shapes": self.shapes, "ndim": self.ndim, "data_type": dtype})
