# SPDX-License-Identifier: Apache-2.0
"""Two dumps of all values compared: ``mge-dump iodiff``.

python -m megengine.tools.compare_binary_iodump FOLDER FOLDER --max-err 1e-3 --stop-on-error
"""

import struct
import sys
from typing import BinaryIO

import numpy as np

from ..core.counted import counted
from ..files.opening import open_input
from .native import run_and_exit

# By MegEngine's number of a dtype; quantised dtypes are mapped to their integers.
_DTYPES = {
    0: "float32",
    1: "uint8",
    2: "int8",
    3: "int16",
    4: "int32",
    9: "float16",
    12: "bool",
    13: "uint16",
    100000: "uint8",
    100001: "int32",
    100002: "int8",
    100005: "int16",
}
_HEADER = struct.Struct("<3I7I")  # length of the name, dtype, capacity of axes, sizes


def load_tensor_binary(fobj: str | BinaryIO) -> tuple[np.ndarray, str]:
    """Read one value of a binary I/O dump.

    Args:
        fobj: path, or a file at the beginning of the value.
    Returns:
        The array, and its name.
    Raises:
        ValueError: it is truncated, or its dtype is unknown.
        OSError: it cannot be read.
    Example:
        >>> from io import BytesIO
        >>> header = _HEADER.pack(1, 0, 7, 2, 0, 0, 0, 0, 0, 0)
        >>> load_tensor_binary(BytesIO(header + b"x" + np.float32([1, 2]).tobytes()))
        (array([1., 2.], dtype=float32), 'x')
    """
    if not hasattr(fobj, "read"):
        with open_input(fobj) as file:
            return load_tensor_binary(file)
    header = fobj.read(_HEADER.size)
    if len(header) < _HEADER.size:
        raise ValueError(f"[load_tensor_binary] a header of {len(header)} bytes is cut off")
    length, dtype, rank, *extents = _HEADER.unpack(header)
    if dtype not in _DTYPES or rank != len(extents):
        raise ValueError(f"[load_tensor_binary] dtype {dtype} with {rank} axes is not known")
    shape = [extent for extent in extents if extent]
    name = fobj.read(length).decode("utf-8", "replace")
    data = np.frombuffer(fobj.read(), _DTYPES[dtype])
    if data.size != np.prod(shape, dtype=np.int64):
        raise ValueError(
            f"[load_tensor_binary] {counted(data.size, 'element')} for the shape {shape}"
        )
    return data.reshape(shape), name


def check(v0: np.ndarray, v1: np.ndarray, name: str, max_err: float) -> None:
    """Compare two values.

    Args:
        v0: one.
        v1: the other.
        name: for the message.
        max_err: largest difference over the larger magnitude, or over 1 where that is smaller.
    Raises:
        AssertionError: they differ, or one of them is not finite.
    Example:
        >>> check(np.ones(2), np.ones(2) + 1e-5, "x", 1e-3)
    """
    assert v0.shape == v1.shape, f"{name} shape mismatch: {v0.shape} vs {v1.shape}"
    v0, v1 = v0.astype(np.float32), v1.astype(np.float32)
    sums = v0.sum(), v1.sum()
    assert np.isfinite(sums).all(), f"{name} not finite: sum={sums[0]} vs sum={sums[1]}"
    errors = np.abs(v0 - v1) / np.maximum(np.maximum(np.abs(v0), np.abs(v1)), 1)
    wrong = np.argwhere(errors > max_err)
    if len(wrong):
        at = tuple(int(i) for i in wrong[0])
        raise AssertionError(
            f"{name} not equal: shape={v0.shape} nonequal_idx={at}"
            f" v0={v0[at]} v1={v1[at]} err={errors[at]}"
        )


def main() -> None:
    """Run the tool with this program's command line.

    Raises:
        SystemExit: always, with its exit code: 7 when the dumps differ.
    """
    run_and_exit("mge-dump", ["iodiff", *sys.argv[1:]])


if __name__ == "__main__":
    main()
