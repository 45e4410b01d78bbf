# SPDX-License-Identifier: Apache-2.0
"""Data between the processes of a group: with one process, each gives a copy of what it is given.

Gradients go through. All raise AssertionError before ``init_process_group``; ``remote_send`` and
``remote_recv`` can be imported, but have nobody to talk to.
"""

from .. import _mge
from ..core.not_available import NotAvailableError
from ..tensor import Tensor
from .group import WORLD, Group

__all__ = [
    "all_gather",
    "all_reduce_max",
    "all_reduce_min",
    "all_reduce_sum",
    "all_to_all",
    "broadcast",
    "gather",
    "reduce_scatter_sum",
    "reduce_sum",
    "remote_recv",
    "remote_send",
    "scatter",
]


def _alone(inp: Tensor, group: Group | None, device: str | None) -> Tensor:
    assert (WORLD if group is None else group).size == 1
    result = _mge.ops.copy(inp)
    return result if device in (None, "") else result.to(device)


def reduce_sum(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The sum of the processes' Tensors, on the first of them.

    Args:
        inp: of one shape on all processes.
        group: the processes.
        device: where the result lives; None: where ``inp`` does.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> reduce_sum(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _alone(inp, group, device)


def broadcast(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The first process's Tensor; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> broadcast(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _alone(inp, group, device)


def all_gather(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None, axis: int = 0
) -> Tensor:
    """The processes' Tensors joined along an axis; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_gather(Tensor([[1.0, 2.0]]), axis=1)
        Tensor([[1. 2.]], device=xpux:0)
    """
    return _alone(inp, group, device)


def reduce_scatter_sum(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None, axis: int = 0
) -> Tensor:
    """The process's part, along an axis, of the sum; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> reduce_scatter_sum(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _alone(inp, group, device)


def all_reduce_sum(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The sum of the processes' Tensors; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> loss = all_reduce_sum(Tensor(0.5)) / dist.get_world_size()
        >>> loss
        Tensor(0.5, device=xpux:0)
    """
    return _alone(inp, group, device)


def all_reduce_max(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The largest of the processes' elements; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_reduce_max(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _alone(inp, group, device)


def all_reduce_min(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The smallest of the processes' elements; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_reduce_min(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _alone(inp, group, device)


def gather(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None, axis: int = 0
) -> Tensor:
    """The processes' Tensors joined along an axis, on the first of them; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> gather(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _alone(inp, group, device)


def scatter(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None, axis: int = 0
) -> Tensor:
    """The process's part, along an axis, of the first one's Tensor; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> scatter(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _alone(inp, group, device)


def all_to_all(
    inp: Tensor,
    group: Group | None = WORLD,
    device: str | None = None,
    split_axis: int = 0,
    concat_axis: int = 0,
) -> Tensor:
    """Parts of all processes' Tensors, exchanged; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_to_all(Tensor([[1.0], [2.0]]), split_axis=0, concat_axis=1)
        Tensor([[1.]
         [2.]], device=xpux:0)
    """
    return _alone(inp, group, device)


def remote_send(inp: Tensor, dest_rank: int) -> None:
    """Send a Tensor to another process, of which there is none.

    Raises:
        NotAvailableError: always.
    Example:
        >>> try:
        ...     remote_send(Tensor([1.0]), 1)
        ... except NotAvailableError as error:
        ...     print(error)
        [remote_send] there are no other processes in this version
    """
    raise NotAvailableError("[remote_send] there are no other processes in this version")


def remote_recv(src_rank: int, device: str | None = None, inp: Tensor | None = None) -> Tensor:
    """A Tensor from another process, of which there is none.

    Raises:
        NotAvailableError: always.
    Example:
        >>> try:
        ...     remote_recv(1)
        ... except NotAvailableError as error:
        ...     print(error)
        [remote_recv] there are no other processes in this version
    """
    raise NotAvailableError("[remote_recv] there are no other processes in this version")
