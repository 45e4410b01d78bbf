# SPDX-License-Identifier: Apache-2.0
"""The dtypes of Tensors, among them those that NumPy does not have."""

import numpy as np

from ... import _mge

bfloat16 = _mge.bfloat16

_BITS = {"bfloat16": 16}


_NAMES = ("bool", "uint8", "int8", "uint16", "int16", "int32", "float16", "float32")


def checked_dtype(dtype):
    """A dtype that Tensors can have.

    Args:
        dtype: name, NumPy dtype or type.
    Returns:
        What operators take.
    Raises:
        TypeError: it is not a dtype.
        RuntimeError: Tensors cannot have it.
    Example:
        >>> checked_dtype(np.float32)
        'float32'
    """
    if is_bfloat16(dtype):
        return "bfloat16"
    name = np.dtype(dtype).name
    if name not in _NAMES:
        raise RuntimeError(f"[dtype] Tensors cannot have {name}; allowed are {_NAMES} and bfloat16")
    return name


def get_dtype_bit(dtype_name: str) -> int:
    """Bits of one element.

    Args:
        dtype_name: for example ``"float32"``.
    Returns:
        Number of bits.
    Raises:
        TypeError: there is no such dtype.
    Example:
        >>> get_dtype_bit("float32")
        32
    """
    return _BITS.get(dtype_name) or np.dtype(dtype_name).itemsize * 8


def is_bfloat16(dtype) -> bool:
    """Whether a dtype is bfloat16.

    Example:
        >>> is_bfloat16(bfloat16)
        True
    """
    if isinstance(dtype, str):
        return dtype == "bfloat16"
    metadata = getattr(dtype, "metadata", None) or {}
    return metadata.get("mgb_dtype", {}).get("name") == "bfloat16"


def is_integer(dtype) -> bool:
    """Whether values of a dtype are integers: bool and bfloat16 are none.

    Example:
        >>> is_integer("uint8"), is_integer(bfloat16)
        (True, False)
    """
    return not is_bfloat16(dtype) and np.dtype(dtype).kind in "iu"


def is_differentible_dtype(dtype) -> bool:
    """Whether gradients flow through values of a dtype: the floating ones.

    Example:
        >>> is_differentible_dtype("int32")
        False
    """
    return is_bfloat16(dtype) or np.issubdtype(np.dtype(dtype), np.floating)


def is_dtype_equal(dtype1, dtype2) -> bool:
    """Whether two dtypes are the same.

    Example:
        >>> is_dtype_equal("float32", np.float32)
        True
    """
    return is_bfloat16(dtype1) == is_bfloat16(dtype2) and (
        is_bfloat16(dtype1) or np.dtype(dtype1) == np.dtype(dtype2)
    )
