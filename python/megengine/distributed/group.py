# SPDX-License-Identifier: Apache-2.0
"""Which processes work together, and which of them this one is."""

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ..core._wrap import as_device
from ..core.not_available import NotAvailableError


@dataclass
class _Process:
    device: int
    backend: str
    device_type: str


_process: _Process | None = None


def _this() -> _Process:
    assert _process is not None, "please call init_process_group first"
    return _process


class Group:
    """Processes that take part in an operation.

    Args:
        proc_ranks: their ranks, of which there is one, 0.
    Raises:
        AssertionError: ``init_process_group`` was not called, or a rank is none.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> group = Group([0])
        >>> group.rank, group.size, group.key
        (0, 1, '0')
        >>> Group([0, 1])
        Traceback (most recent call last):
            ...
        AssertionError: [Group] the ranks have to be [0], got [0, 1]: there is one process
    """

    def __init__(self, proc_ranks: Sequence[int]) -> None:
        self.reset(proc_ranks)

    def __setstate__(self, state: dict) -> None:
        # Of all processes MegEngine's has None.
        self.proc_ranks = state.get("proc_ranks") or []

    def reset(self, proc_ranks: Sequence[int]) -> None:
        """Give the group other processes."""
        self.proc_ranks = list(proc_ranks)
        if self.proc_ranks:
            self.check(self.proc_ranks)

    def check(self, proc_ranks: Sequence[int]) -> None:
        """Refuse ranks that no process has.

        Raises:
            AssertionError: a rank is not below the number of processes, or there twice.
        """
        _this()
        assert list(proc_ranks) == [0], (
            f"[Group] the ranks have to be [0], got {list(proc_ranks)}: there is one process"
        )

    @property
    def size(self) -> int:
        """How many processes there are."""
        _this()
        return 1

    @property
    def key(self) -> str:
        """A name that all processes of the group have for it."""
        return ",".join(map(str, self.proc_ranks))

    @property
    def rank(self) -> int:
        """Which process of the group this one is."""
        _this()
        return 0

    @property
    def comp_node(self):
        """The device of this process."""
        process = _this()
        return as_device(f"{process.device_type}{process.device}:2")

    @property
    def is_single_machine(self) -> bool:
        """Whether all run on one machine."""
        _this()
        return True


WORLD = Group([])


def init_process_group(
    master_ip: str,
    port: int,
    world_size: int,
    rank: int,
    device: int,
    backend: str | None = "auto",
    device_type: str = "xpu",
) -> None:
    """Say that this process is one of several that train together.

    Args:
        master_ip: machine of the first process.
        port: of that machine.
        world_size: how many processes there are; 1.
        rank: which of them this is.
        device: number of the device that it works on.
        backend: what carries the data; one process needs none.
        device_type: kind of the device.
    Raises:
        TypeError: an argument is of another type.
        ValueError: ``rank`` is not below ``world_size``.
        NotAvailableError: there is more than one process.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> dist.get_world_size(), dist.get_rank()
        (1, 0)
    """
    global _process
    numbers = {"port": port, "world_size": world_size, "rank": rank, "device": device}
    for name, value in numbers.items():
        if not isinstance(value, int):
            raise TypeError(f"[init_process_group] {name} is a whole number, got {value!r}")
    if not isinstance(master_ip, str):
        raise TypeError(f"[init_process_group] master_ip is a text, got {master_ip!r}")
    if not 0 <= rank < world_size:
        raise ValueError(f"[init_process_group] rank is below {world_size}, got {rank}")
    refuse_several("init_process_group", world_size)
    _process = _Process(device, str(backend), device_type)
    WORLD.reset([0])


def refuse_several(who: str, count: int) -> None:
    """Refuse more than one process.

    Raises:
        NotAvailableError: there are more.
    """
    if count > 1:
        raise NotAvailableError(
            f"[{who}] training by {count} processes is not available in this version of"
            " megengine: use one process, whose threads share the work"
        )


def is_distributed() -> bool:
    """Whether ``init_process_group`` was called.

    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> is_distributed()
        True
    """
    return _process is not None


def get_rank() -> int:
    """Which process this is, counted from 0.

    Example:
        >>> if get_rank() == 0:
        ...     print("only the first process logs and saves")
        only the first process logs and saves
    """
    return 0


def get_world_size() -> int:
    """How many processes there are.

    Example:
        >>> get_world_size()
        1
    """
    return 1


def get_local_device_id() -> int:
    """The number of the device that this process works on.

    Raises:
        AssertionError: ``init_process_group`` was not called.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, device=0)
        >>> get_local_device_id()
        0
    """
    return _this().device


def get_backend() -> str:
    """What carries the data.

    Raises:
        AssertionError: ``init_process_group`` was not called.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0, backend="nccl")
        >>> get_backend()
        'nccl'
    """
    return _this().backend


@contextlib.contextmanager
def override_backend(new_backend: str) -> Iterator[None]:
    """Another backend within a ``with`` block.

    Args:
        new_backend: its name.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0, backend="nccl")
        >>> with override_backend("shm"):
        ...     get_backend()
        'shm'
        >>> get_backend()
        'nccl'
    """
    process = _this()
    before, process.backend = process.backend, new_backend
    try:
        yield
    finally:
        process.backend = before


def new_group(proc_ranks: Sequence[int]) -> Group:
    """A group of some of the processes.

    Args:
        proc_ranks: their ranks.
    Raises:
        AssertionError: ``init_process_group`` was not called, or there is no such process.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> new_group([0]).size
        1
    """
    return Group(proc_ranks)


def group_barrier(group: Group = WORLD) -> None:
    """Wait for the other processes of a group, of which there are none.

    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> group_barrier()
    """


def group_start() -> None:
    """Begin operations that go to the other processes together; with one process, nothing goes.

    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> dist.group_start()
        >>> sums = [dist.functional.all_reduce_sum(Tensor(x)) for x in (1.0, 2.0)]
        >>> dist.group_end()
        >>> sums
        [Tensor(1.0, device=xpux:0), Tensor(2.0, device=xpux:0)]
    """


def group_end() -> None:
    """End what ``group_start`` began.

    Example:
        >>> group_start()
        >>> group_end()
    """
