# SPDX-License-Identifier: Apache-2.0
"""Pickling of Tensors for other processes through shared memory.

On a CPU the memory is a file, whose descriptor is sent. GPU memory remains the sender's, which
keeps it until no other process uses it.
"""

from multiprocessing import reduction

from .. import _mge
from ..tensor import Parameter, Tensor


class SenderGoneError(RuntimeError):
    """A Tensor was received after the process that sent it had ended.

    Example:
        >>> import megengine.multiprocessing as mp
        >>> issubclass(mp.SenderGoneError, RuntimeError)
        True
    """


def _received(descriptor) -> int:
    try:
        return descriptor.detach()
    except (OSError, EOFError) as error:
        raise SenderGoneError(
            "[multiprocessing] the process that sent this Tensor has ended before it was received;"
            " make it wait (an Event, a join of the receiver) until the others have received it"
        ) from error


def _rebuilt(cls, descriptor, size, offset, dtype, shape, device, name, grad) -> Tensor:
    tensor = cls([], name=name or None)
    _mge.open_shared(tensor, _received(descriptor), size, offset, dtype, shape, device)
    tensor.grad = grad
    return tensor


def _rebuilt_on_gpu(cls, descriptor, lent, dtype, shape, device, name, grad) -> Tensor:
    tensor = cls([], name=name or None)
    where, *block = lent
    _mge.open_lent(tensor, _received(descriptor), *block, dtype, shape, where, device)
    tensor.grad = grad
    return tensor


def _reduced_on_gpu(tensor: Tensor):
    where, descriptor, *block = _mge.lend_memory(tensor)
    return _rebuilt_on_gpu, (
        type(tensor),
        reduction.DupFd(descriptor),
        (where, *block),
        tensor.dtype,
        tensor._tuple_shape,
        str(tensor.device),
        tensor.name,
        tensor.grad,
    )


def _reduced(tensor: Tensor):
    if tensor._meaning is not None or not _mge.can_share(tensor):
        return tensor.__reduce_ex__(2)
    if not tensor._is_on_host:
        return _reduced_on_gpu(tensor)
    _mge.share_memory(tensor)
    descriptor, size, offset = _mge.shared_part(tensor)
    return _rebuilt, (
        type(tensor),
        reduction.DupFd(descriptor),
        size,
        offset,
        tensor.dtype,
        tensor._tuple_shape,
        str(tensor.device),
        tensor.name,
        tensor.grad,
    )


def register() -> None:
    """Make queues, pipes and processes send Tensors so."""
    for kind in (Tensor, Parameter):
        reduction.ForkingPickler.register(kind, _reduced)
