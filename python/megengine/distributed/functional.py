# SPDX-License-Identifier: Apache-2.0
"""Data between the processes of a group.

All processes of the group call the same functions in the same order, with Tensors of one shape and
dtype. A process at another function gets a RuntimeError, as do processes that wait for a process
that has ended. Sums are added in the order of the ranks, so all processes have the same bits.
Gradients are propagated to the processes that provided the values, so each process has to call
``backward``. A trace records the operators. All raise AssertionError before ``init_process_group``,
and TypeError if ``group`` is not a ``Group``. Tensors of quantised dtypes are sent as steps and
cannot be summed.
"""

from collections.abc import Callable, Sequence

import numpy as np

from .. import _mge
from ..autodiff.recording import active_recordings
from ..core.tensor.dtype import is_bfloat16, is_quantize, quantised_dtype_of
from ..tensor import Tensor
from .group import WORLD, Group, _as_group, _this, get_rank, new_group

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


def _collective(mode: str, inp: Tensor, group: Group | None, device: str | None) -> Tensor:
    group = _as_group(group)
    ranks, rank = group._ranks(), group.rank
    result = _mge.ops.collective(inp, mode=mode, ranks=ranks, rank=rank)
    return result if device in (None, "") else result.to(device)


def _check_axis(shape: Sequence[int], axis: int) -> None:
    rank = max(len(shape), 1)
    assert -rank <= axis < rank, f"there is no axis {axis} of a Tensor of shape {tuple(shape)}"


def _axis_first(inp: Tensor, axis: int) -> Tensor:
    """Move an axis to the front; a number becomes a vector of one element."""
    _check_axis(inp._tuple_shape, axis)
    if not inp.ndim:
        return _mge.ops.reshape(inp, shape=[1])
    return inp if axis == 0 else _mge.ops.transpose(inp, pattern=_pattern(inp.ndim, axis))


def _axis_back(inp: Tensor, axis: int) -> Tensor:
    if axis == 0:
        return inp
    pattern = _pattern(inp.ndim, axis)
    return _mge.ops.transpose(inp, pattern=[pattern.index(i) for i in range(inp.ndim)])


def _pattern(ndim: int, axis: int) -> list[int]:
    axis %= ndim
    return [axis, *(i for i in range(ndim) if i != axis)]


def _check_cut(shape: Sequence[int], axis: int, group: Group | None) -> None:
    _check_axis(shape, axis)
    parts = _as_group(group).size
    extent = shape[axis] if shape else 1
    assert extent % parts == 0, (
        f"axis {axis} has {extent} elements, which {parts} processes cannot share equally"
    )


def _broadcast_data(group: Group, value: Callable):
    """Broadcast plain data from the first process of a group to all."""
    process, data = _this(), value() if group.rank == 0 else None
    meeting = process.meeting
    source = meeting.name_of(group._ranks()[0])
    return meeting.client.bcast_val(data, f"{meeting.name} {group.key}", group.size, source)


def _as_data(dtype) -> str | dict:
    """A dtype in a form that processes can exchange."""
    if is_quantize(dtype):
        return dict(dtype.metadata["mgb_dtype"])
    return "bfloat16" if is_bfloat16(dtype) else np.dtype(dtype).name


def _zeros(shape: Sequence[int], dtype: str | dict) -> Tensor:
    """Zeros of a dtype received from another process."""
    if isinstance(dtype, str):
        return _mge.ops.full(shape=shape, value=0.0, dtype=dtype)
    quantised = quantised_dtype_of(dtype["name"], dtype["scale"], dtype.get("zero_point"))
    steps = _mge.ops.full(shape=shape, value=0.0, dtype=np.dtype(quantised).name)
    return steps._meant_as(quantised)


def _one_sided(
    mode: str, inp: Tensor | None, group: Group, device: str | None, axis: int = 0
) -> Tensor:
    """Broadcast the first process's value to all, or distribute its parts along an axis.

    The others do not know its shape and dtype, and whether it needs a gradient.
    """
    if group.size == 1:
        inp = _axis_first(inp, axis) if mode == "scatter" else inp
        return _collective(mode, inp, group, device)
    data = _broadcast_data(
        group,
        lambda: {
            "shape": list(inp._tuple_shape),
            "dtype": _as_data(inp.dtype),
            "recordings": [r.name for r in active_recordings() if _mge.is_recorded(inp)],
        },
    )
    recordings = [r for r in active_recordings() if r.name in data["recordings"]]
    shape = data["shape"]
    if mode == "scatter":
        _check_cut(shape, axis, group)  # by all: the others would wait for one that refuses alone
        extent = shape.pop(axis) if shape else 1
        shape.insert(0, extent // group.size)
    if group.rank != 0:
        inp = _zeros(shape, data["dtype"])
        inp = inp if device in (None, "") else inp.to(device)
        for recording in recordings:
            recording.follow(inp)
    elif mode == "scatter":
        inp = _axis_first(inp, axis)
    result = _collective(mode, inp, group, device)
    _keep(recordings, result)
    return result


def _keep(recordings: list, result: Tensor) -> None:
    """Its gradient is an exchange that no process may leave out, whatever comes of the result."""
    for recording in recordings:
        recording.keep(result)


def _to_first(mode: str, inp: Tensor, group: Group | None, device: str | None) -> Tensor | None:
    """Collect the values of all in the first process."""
    group = _as_group(group)
    recordings = [r for r in active_recordings() if _mge.is_recorded(inp)]
    result = _collective(mode, inp, group, device)
    if group.size > 1:
        _keep(recordings, result)
    return result if group.rank == 0 else None


def collective_comm(
    inp: Tensor, mode: str, group: Group | None = WORLD, device: str | None = None
) -> Tensor:
    """Run a collective operator by MegEngine's name for it.

    Args:
        inp: Tensor of the same shape on all processes.
        mode: in lower or upper case, or one of ``core.ops.builtin.CollectiveComm.Mode``:
            ``"ALL_REDUCE_SUM"``, ``"ALL_REDUCE_MAX"``, ``"ALL_REDUCE_MIN"``, ``"REDUCE_SUM"``,
            ``"BROADCAST"``, ``"ALL_GATHER"``, ``"GATHER"``, ``"REDUCE_SCATTER_SUM"``,
            ``"SCATTER"``, ``"ALL_TO_ALL"``. Tensors are split or joined along the first axis.
        group: the processes; None: all.
        device: device of the result; None: that of ``inp``.
    Returns:
        The result; an empty Tensor on the other processes if only the first one gets it.
    Raises:
        RuntimeError: there is no such mode.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> collective_comm(Tensor([1.0, 2.0]), "ALL_REDUCE_SUM")
        Tensor([1. 2.], device=xpux:0)
    """
    mode, group = mode.lower(), _as_group(group)
    if mode == "scatter" and group.rank != 0:
        _check_cut(inp._tuple_shape, 0, group)
        inp = inp[: inp._tuple_shape[0] // group.size]
    return _collective(mode, inp, group, device)


def reduce_sum(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None
) -> Tensor | None:
    """The sum of the processes' Tensors, on the first of them.

    Args:
        inp: Tensor of the same shape on all processes.
        group: the processes; None: all.
        device: device of the result; None: that of ``inp``.
    Returns:
        The sum; None on the other processes.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> reduce_sum(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _to_first("reduce_sum", inp, group, device)


def broadcast(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The first process's Tensor; see ``reduce_sum``.

    Args:
        inp: Tensor of the first process; ignored on the others.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> broadcast(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _one_sided("broadcast", inp, _as_group(group), device)


def _bcast_param(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """``broadcast`` of a Tensor with a known shape and without a gradient."""
    if inp._quantised is not None:
        return broadcast(inp, group, device)  # processes may have found other scales
    return _collective("broadcast", inp, group, device)


def all_gather(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None, axis: int = 0
) -> Tensor:
    """The processes' Tensors joined along an axis; see ``reduce_sum``.

    Raises:
        AssertionError: there is no such axis.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_gather(Tensor([[1.0, 2.0]]), axis=1)
        Tensor([[1. 2.]], device=xpux:0)
    """
    return _axis_back(_collective("all_gather", _axis_first(inp, axis), group, device), axis)


def reduce_scatter_sum(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None, axis: int = 0
) -> Tensor:
    """The process's part, along an axis, of the sum; see ``reduce_sum``.

    Raises:
        AssertionError: there is no such axis, or it cannot be split into equal parts for all
            processes.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> reduce_scatter_sum(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    _check_cut(inp._tuple_shape, axis, group)
    part = _collective("reduce_scatter_sum", _axis_first(inp, axis), group, device)
    return _axis_back(part, axis)


def all_reduce_sum(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The sum of the processes' Tensors, on all of them; see ``reduce_sum``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_reduce_sum(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _collective("all_reduce_sum", inp, group, device)


def all_reduce_max(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The largest elements of the processes' Tensors, on all of them; see ``reduce_sum``.

    The gradient goes to each process that has the largest one.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_reduce_max(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _collective("all_reduce_max", inp, group, device)


def all_reduce_min(inp: Tensor, group: Group | None = WORLD, device: str | None = None) -> Tensor:
    """The least elements of the processes' Tensors, on all of them; see ``all_reduce_max``.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_reduce_min(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    return _collective("all_reduce_min", inp, group, device)


def gather(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None, axis: int = 0
) -> Tensor | None:
    """The processes' Tensors joined along an axis, on the first of them; see ``reduce_sum``.

    Returns:
        The joined Tensor; None on the other processes.
    Raises:
        AssertionError: there is no such axis.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> gather(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    joined = _to_first("gather", _axis_first(inp, axis), group, device)
    return None if joined is None else _axis_back(joined, axis)


def scatter(
    inp: Tensor, group: Group | None = WORLD, device: str | None = None, axis: int = 0
) -> Tensor:
    """The process's part, along an axis, of the first one's Tensor; see ``broadcast``.

    Raises:
        AssertionError: there is no such axis, or it cannot be split into equal parts for all
            processes.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> scatter(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    group = _as_group(group)
    return _axis_back(_one_sided("scatter", inp, group, device, axis), axis)


def all_to_all(
    inp: Tensor,
    group: Group | None = WORLD,
    device: str | None = None,
    split_axis: int = 0,
    concat_axis: int = 0,
) -> Tensor:
    """Exchange parts between all processes: split along one axis, joined along another; see
    ``reduce_sum``.

    Raises:
        AssertionError: there is no such axis, or it cannot be split into equal parts for all
            processes.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> all_to_all(Tensor([1.0, 2.0]))
        Tensor([1. 2.], device=xpux:0)
    """
    _check_cut(inp._tuple_shape, split_axis, group)
    mixed = _collective("all_to_all", _axis_first(inp, split_axis), group, device)
    if split_axis == concat_axis or not inp.ndim:
        return _axis_back(mixed, split_axis)
    count = _as_group(group).size
    parts = _mge.ops.split(mixed, sizes=[mixed._tuple_shape[0] // count] * count)
    return _mge.ops.concat(*(_axis_back(p, split_axis) for p in parts), axis=concat_axis)


def remote_send(inp: Tensor, dest_rank: int) -> None:
    """Send a Tensor to a process, which calls ``remote_recv``.

    If its gradient is needed, ``backward`` waits for the gradient from the other process.

    Args:
        inp: the Tensor.
        dest_rank: rank of the receiver.
    Raises:
        AssertionError: there is no such process, or it is this one.
    Example:
        >>> import megengine.distributed as dist
        >>> def work():
        ...     if dist.get_rank() == 0:
        ...         return remote_send(Tensor([1.0, 2.0]), 1)
        ...     return remote_recv(0).numpy().tolist()
        >>> dist.launcher(work, n_gpus=2)()
        [None, [1.0, 2.0]]
    """
    _one_sided("broadcast", inp, new_group([get_rank(), dest_rank]), None)


def remote_recv(src_rank: int, device: str | None = None, inp: Tensor | None = None) -> Tensor:
    """Wait for a Tensor that a process sends by ``remote_send``.

    Args:
        src_rank: rank of the sender.
        device: device of the result; None: the default device.
        inp: ignored, because the sender knows shape and dtype.
    Raises:
        AssertionError: there is no such process, or it is this one.
    Example:
        >>> import megengine.distributed as dist
        >>> def work():
        ...     if dist.get_rank() == 0:
        ...         return remote_send(Tensor(3), 1)
        ...     return int(remote_recv(0))
        >>> dist.launcher(work, n_gpus=2)()
        [None, 3]
    """
    return _one_sided("broadcast", None, new_group([src_rank, get_rank()]), device)
