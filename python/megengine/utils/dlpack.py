# SPDX-License-Identifier: Apache-2.0
"""Memory that Tensors share with arrays of other libraries.

A Tensor that is made here shares the memory: writes of one side (``x[...] = 1``, ``x += 1``, an
optimizer's step) are visible to the other. Read-only data is shared until the Tensor gets another
value. A write between a forward and a backward pass does not change the gradient: recordings copy
the shared values that gradients need.
"""

import numpy as np

from .. import _mge
from ..core.tensor.dtype import is_bfloat16
from ..tensor import Tensor

_CPU, _CUDA, _CUDA_HOST = 1, 2, 3


def to_dlpack(tensor: Tensor, stream=None):
    """A capsule of DLPack with the memory of a Tensor.

    Args:
        tensor: the Tensor, on a CPU or GPU.
        stream: the GPU stream that waits for its value: its address, None or 1 for the default
            stream, -1 to skip the wait. None on a CPU.
    Returns:
        Unversioned PyCapsule, which can be used once.
    Raises:
        BufferError: it cannot be exported so.
    Example:
        >>> from_dlpack(to_dlpack(Tensor([1.0, 2.0])))
        Tensor([1. 2.], device=xpux:0)
    """
    return tensor.__dlpack__(stream=stream)


def from_dlpack(ext_tensor, stream=None, *, copy: bool | None = None) -> Tensor:
    """A Tensor with the memory of another library's array.

    Args:
        ext_tensor: an object with ``__dlpack__``, or an unused capsule.
        stream: for a capsule with GPU memory, the stream that computes its value: its address, None
            or 1 for the default stream, -1 to skip the wait. Objects get our stream and wait
            themselves, unless it is -1. None on a CPU.
        copy: True: always copy; False: an error if the memory cannot be shared; None: copy if the
            elements are not contiguous, which is an error on a GPU.
    Returns:
        Tensor on the default CPU, or on the GPU of the memory.
    Raises:
        BufferError: Tensors do not support its dtype or device, or it needs a copy.
        TypeError: it has another type.
        ValueError: the capsule has been used, or is of another kind.
    Example:
        >>> array = np.zeros(2, np.float32)
        >>> x = from_dlpack(array)
        >>> x[0] = 5
        >>> array
        array([5., 0.], dtype=float32)
    """
    if type(ext_tensor).__name__ == "PyCapsule":
        return _mge.from_dlpack(ext_tensor, copy, stream)
    if not hasattr(ext_tensor, "__dlpack__"):
        raise TypeError(f"[from_dlpack] a {type(ext_tensor).__name__} has no __dlpack__")
    kind, number = _CPU, 0
    if hasattr(ext_tensor, "__dlpack_device__"):
        kind, number = map(int, ext_tensor.__dlpack_device__())
    arguments = {}
    if kind == _CUDA:
        arguments["stream"] = -1 if stream == -1 else _stream_of(number)
    elif stream not in (None, -1):
        raise BufferError(f"[from_dlpack] a CPU has no streams, got {stream!r}")
    elif kind not in (_CPU, _CUDA_HOST):
        raise BufferError(
            f"[from_dlpack] the data is on a device of type {kind}; copy it to the CPU"
        )
    try:
        capsule = ext_tensor.__dlpack__(max_version=(1, 0), **arguments)
    except TypeError:  # from a library without versions
        capsule = ext_tensor.__dlpack__(**arguments)
    return _mge.from_dlpack(capsule, copy, -1 if arguments else None)


def _stream_of(number: int) -> int:
    """The stream of a GPU's queue, which the producer makes wait for the data."""
    try:
        return _mge.stream_address(f"gpu{number}")
    except RuntimeError as error:
        raise BufferError(
            f"[from_dlpack] the data is on a device of type {_CUDA}, number {number}: {error}"
        ) from None


def from_numpy(array: np.ndarray) -> Tensor:
    """A Tensor with the memory of an array.

    Args:
        array: contiguous array of a dtype that Tensors support.
    Returns:
        Tensor on the default CPU. It shares the memory of a read-only array until it gets another
        value.
    Raises:
        TypeError: it is not an array, or its elements have another byte order.
        BufferError: Tensors do not support its dtype.
        ValueError: it is not contiguous.
    Example:
        >>> array = np.zeros(2, np.float32)
        >>> x = from_numpy(array)
        >>> array[1] = 7
        >>> x
        Tensor([0. 7.], device=xpux:0)
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"[from_numpy] expected an array, got {type(array).__name__}")
    if not array.dtype.isnative:
        raise TypeError(
            f"[from_numpy] elements of {array.dtype.str!r} have another machine's byte order and"
            " cannot be shared; use Tensor(array), which converts a copy"
        )
    if not array.flags.c_contiguous or not array.flags.aligned:
        raise ValueError(
            "[from_numpy] only dense arrays can be shared; use np.ascontiguousarray, or"
            " Tensor(array), which copies"
        )
    if is_bfloat16(array.dtype):
        raise BufferError("[from_numpy] NumPy does not share bfloat16; use Tensor(array)")
    return from_dlpack(array, copy=False)
