# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules, by which array libraries take a tensor's memory, with or without a version."""

from __future__ import annotations

import ctypes
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int32, c_int64, c_uint8, c_void_p
from math import prod
from typing import NamedTuple

from .struct import LiteDataType, LiteDeviceType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

    from ._layout import LiteLayout

# The protocol's numbers of devices.
DEVICES = {LiteDeviceType.LITE_CPU: 1, LiteDeviceType.LITE_CUDA: 2}
_READ_ONLY, _COPIED = 1, 2
# By LiteDataType: the protocol's code (0 signed, 1 unsigned, 2 floating) and bits.
_TYPES = {
    LiteDataType.LITE_FLOAT: (2, 32),
    LiteDataType.LITE_HALF: (2, 16),
    LiteDataType.LITE_INT: (0, 32),
    LiteDataType.LITE_INT16: (0, 16),
    LiteDataType.LITE_INT8: (0, 8),
    LiteDataType.LITE_UINT8: (1, 8),
    LiteDataType.LITE_UINT: (1, 32),
    LiteDataType.LITE_UINT16: (1, 16),
    LiteDataType.LITE_INT64: (0, 64),
}


class _View(Structure):
    _fields_ = [
        ("data", c_void_p),
        ("device_type", c_int32),
        ("device_id", c_int32),
        ("ndim", c_int32),
        ("code", c_uint8),
        ("bits", c_uint8),
        ("lanes", ctypes.c_uint16),
        ("shape", POINTER(c_int64)),
        ("strides", POINTER(c_int64)),
        ("byte_offset", ctypes.c_uint64),
    ]


_Deleter = CFUNCTYPE(None, c_void_p)


class _Managed(Structure):
    _fields_ = [("view", _View), ("context", c_void_p), ("deleter", _Deleter)]


class _ManagedVersioned(Structure):
    _fields_ = [
        ("major", ctypes.c_uint32),
        ("minor", ctypes.c_uint32),
        ("context", c_void_p),
        ("deleter", _Deleter),
        ("flags", ctypes.c_uint64),
        ("view", _View),
    ]


_NAMES: dict[type, bytes] = {_Managed: b"dltensor", _ManagedVersioned: b"dltensor_versioned"}

# By the address of the struct: the struct with what it points to and what keeps the memory.
_handed_out: dict[int, Any] = {}


def _let_go(address: int) -> None:
    _handed_out.pop(address, None)


_delete = _Deleter(_let_go)

_Destructor = ctypes.PYFUNCTYPE(None, c_void_p)
_api = ctypes.pythonapi
_new = ctypes.PYFUNCTYPE(ctypes.py_object, c_void_p, c_char_p, _Destructor)(("PyCapsule_New", _api))
# They take the address of a capsule: one that is being destroyed may not become an object again.
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, c_void_p, c_char_p)(("PyCapsule_IsValid", _api))
_pointer = ctypes.PYFUNCTYPE(c_void_p, c_void_p, c_char_p)(("PyCapsule_GetPointer", _api))


def _end(capsule: int) -> None:
    for name in _NAMES.values():  # whoever takes the memory renames the capsule
        if _is_valid(capsule, name):
            _let_go(_pointer(capsule, name))


_destroy = _Destructor(_end)


class Memory(NamedTuple):
    """Elements that a keeper holds until the consumer is done with them.

    Attributes:
        address: of the first element.
        place: the protocol's number of the device's type, and that of the device.
        layout: shape and type of the elements.
        strides: elements from one to the next in each dimension; None: there are no gaps.
        keeper: the memory lives as long as it does.
    """

    address: int | None
    place: tuple[int, int]
    layout: LiteLayout
    strides: Sequence[int] | None
    keeper: Any


def capsule_of(
    memory: Memory, max_version: tuple[int, int] | None, is_read_only: bool, is_copied: bool
) -> Any:
    """Return a capsule for memory.

    Args:
        memory: the memory.
        max_version: the consumer's; None: it knows the form without a version only.
        is_read_only: nobody may write there.
        is_copied: nobody else has the memory.
    Raises:
        BufferError: it is read-only, which a capsule without a version cannot say.
    """
    is_versioned = max_version is not None and max_version[0] >= 1
    if is_read_only and not is_versioned:
        raise BufferError(
            "[LiteTensor] the memory is read-only, which a consumer before version 1 of DLPack is "
            "not told; ask for a copy"
        )
    managed: Any = _ManagedVersioned() if is_versioned else _Managed()
    shape = memory.layout.shapes
    strides = memory.strides or [prod(shape[i + 1 :]) for i in range(len(shape))]
    extents, steps = (c_int64 * len(shape))(*shape), (c_int64 * len(shape))(*strides)
    code, bits = _TYPES[LiteDataType(memory.layout.data_type)]
    managed.view = _View(
        memory.address if prod(shape) else None,
        *memory.place,
        len(shape),
        code,
        bits,
        1,
        extents,
        steps,
        0,
    )
    managed.deleter = _delete
    if is_versioned:
        managed.major = 1
        managed.flags = _READ_ONLY * is_read_only | _COPIED * is_copied
    where = ctypes.addressof(managed)
    _handed_out[where] = managed, extents, steps, memory.keeper
    return _new(where, _NAMES[type(managed)], _destroy)
