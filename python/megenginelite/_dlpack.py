# SPDX-License-Identifier: Apache-2.0
"""DLPack capsules, by which array libraries take a tensor's memory.

NumPy makes the capsules, from an array over the memory. Consumers may release them on any thread
and while an exception is raised, which Python functions do not support. The device is corrected
afterwards.
"""

from __future__ import annotations

from ctypes import (
    POINTER,
    Structure,
    c_char_p,
    c_int32,
    c_uint64,
    c_void_p,
    cast,
    py_object,
    pythonapi,
)

from .struct import LiteDeviceType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    import numpy as np

# The protocol's numbers of devices.
DEVICES = {LiteDeviceType.LITE_CPU: 1, LiteDeviceType.LITE_CUDA: 2}
CPU = (DEVICES[LiteDeviceType.LITE_CPU], 0)


class _View(Structure):
    """The beginning of a DLTensor."""

    _fields_ = [("data", c_void_p), ("device_type", c_int32), ("device_id", c_int32)]


class _ViewVersioned(Structure):
    """The beginning of a DLManagedTensorVersioned."""

    _fields_ = [
        ("version", c_uint64),
        ("context", c_void_p),
        ("deleter", c_void_p),
        ("flags", c_uint64),
        ("view", _View),
    ]


def capsule_of(array: np.ndarray, place: tuple[int, int], max_version: Any) -> Any:
    """Return a capsule for the memory of an array, which lives until the consumer is done.

    Args:
        array: its address may be a device address.
        place: the protocol's number of the device's type, and that of the device.
        max_version: the newest version that the consumer knows; None: only unversioned capsules.
    Raises:
        BufferError: the array is read-only, which an unversioned capsule cannot express.
    """
    try:
        capsule = array.__dlpack__(max_version=max_version)
    except TypeError:  # NumPy before 2.1 has no versions
        capsule = array.__dlpack__()
    if place != CPU:
        view = _view_of(capsule)
        view.device_type, view.device_id = place
    return capsule


def _view_of(capsule: Any) -> _View:
    pointer_of = pythonapi.PyCapsule_GetPointer
    pointer_of.restype, pointer_of.argtypes = c_void_p, [py_object, c_char_p]
    if "dltensor_versioned" in repr(capsule):
        address = pointer_of(capsule, b"dltensor_versioned")
        view: _View = cast(address, POINTER(_ViewVersioned)).contents.view
        return view
    return cast(pointer_of(capsule, b"dltensor"), POINTER(_View)).contents
