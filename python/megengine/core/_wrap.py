# SPDX-License-Identifier: Apache-2.0
"""Devices, under the names that MegEngine has for them here."""

from typing import Any

from .._mge import Device


def as_device(obj: Any) -> Device:
    """A device from its name, or the device itself.

    Example:
        >>> as_device("cpu0").logical_name
        'cpu0:0'
    """
    return obj if isinstance(obj, Device) else Device(str(obj))
