# SPDX-License-Identifier: Apache-2.0
"""Common part of the tests of LiteTensor."""

import numpy as np

from megenginelite import LiteDeviceType, LiteTensor

CPU = LiteDeviceType.LITE_CPU


def counted(*shape, dtype="int32"):
    """An array 0, 1, 2, … and a tensor with a copy of it."""
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    tensor = LiteTensor()
    tensor.set_data_by_copy(array)
    return array, tensor


def address_of(tensor):
    return tensor.get_ctypes_memory().value
