# SPDX-License-Identifier: Apache-2.0
"""Memory that Tensors share with arrays of other libraries.

A Tensor that was made here keeps the memory: what is written to it (``x[...] = 1``, ``x += 1``, an
optimizer's step) the other side sees, and the other way round. Data that may only be read is shared
until the Tensor is given another value. A write between a forward and a backward pass leaves the
gradient as it is: recordings copy the shared values that gradients need.
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
        stream: which stream of a GPU waits for its value: its address, None or 1 for the default
            stream, -1 for none. None on a CPU.
    Returns:
        PyCapsule of the form without a version, to be used once.
    Raises:
        BufferError: it cannot be handed out so.
    Example:
        >>> from_dlpack(to_dlpack(Tensor([1.0, 2.0])))
        Tensor([1. 2.], device=xpux:0)
    """
    return tensor.__dlpack__(stream=stream)


def from_dlpack(ext_tensor, stream=None, *, copy: bool | None = None) -> Tensor:
    """A Tensor with the memory of another library's array.

    Args:
        ext_tensor: an object with ``__dlpack__``, or a capsule that nobody has used.
        stream: of a capsule with memory of a GPU the stream that makes its value: its address,
            None or 1 for the default stream, -1 for none. Objects are told ours and wait
            themselves, unless it is -1. None on a CPU.
        copy: True for memory of its own, False to raise where the memory cannot be shared; None
            copies where the elements are not dense, which on a GPU raises.
    Returns:
        Tensor on the default CPU, or on the GPU where the memory lies.
    Raises:
        BufferError: Tensors cannot have its dtype or device, or it would have to be copied.
        TypeError: it is neither.
        ValueError: the capsule has been used, or is another one.
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
    told = {}
    if kind == _CUDA:
        told["stream"] = -1 if stream == -1 else _stream_of(number)
    elif stream not in (None, -1):
        raise BufferError(f"[from_dlpack] a CPU has no streams, got {stream!r}")
    elif kind not in (_CPU, _CUDA_HOST):
        raise BufferError(
            f"[from_dlpack] the data lies on a device of type {kind}; copy it to the CPU"
        )
    try:
        capsule = ext_tensor.__dlpack__(max_version=(1, 0), **told)
    except TypeError:  # of a library that knows no versions
        capsule = ext_tensor.__dlpack__(**told)
    return _mge.from_dlpack(capsule, copy, -1 if told else None)


def _stream_of(number: int) -> int:
    """That of a GPU's queue, which the producer lets wait for the data."""
    try:
        return _mge.stream_address(f"gpu{number}")
    except RuntimeError as error:
        raise BufferError(
            f"[from_dlpack] the data lies on a device of type {_CUDA}, number {number}: {error}"
        ) from None


def from_numpy(array: np.ndarray) -> Tensor:
    """A Tensor with the memory of an array.

    Args:
        array: dense, of a dtype that Tensors have.
    Returns:
        Tensor on the default CPU. Of an array that is read only it has the memory until it is given
        another value.
    Raises:
        TypeError: it is no array, or its elements have another machine's byte order.
        BufferError: Tensors cannot have its dtype.
        ValueError: it is not dense.
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
        raise BufferError("[from_numpy] NumPy hands bfloat16 out as uint16; use Tensor(array)")
    return from_dlpack(array, copy=False)
