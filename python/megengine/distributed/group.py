# SPDX-License-Identifier: Apache-2.0
"""Which processes work together, and which of them this one is."""

import atexit
import contextlib
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from .. import _mge, random
from ..core._wrap import as_device
from ..device import set_default_device, what_is_xpu
from ..random.rng import seed_of_time
from ._connection import time_limit
from .launch import Launch, find_launch
from .meeting import Meeting, meet
from .server import Client


@dataclass
class _Process:
    rank: int
    world_size: int
    device: int
    backend: str
    device_type: str
    server: tuple[str, int]
    meeting: Meeting | None = None  # a single process has no meeting
    machine_ranks: list[int] | None = None
    has_nccl: bool = False


_process: _Process | None = None


def _this() -> _Process:
    assert _process is not None, "please call init_process_group first"
    return _process


class Group:
    """Processes that take part in an operation.

    Args:
        proc_ranks: their ranks, root first. This process must be among them.
    Raises:
        AssertionError: ``init_process_group`` was not called, a rank does not exist or is repeated,
            or this process is not among them.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> group = Group([0])
        >>> group.rank, group.size, group.key
        (0, 1, '0')
        >>> Group([0, 1])
        Traceback (most recent call last):
            ...
        AssertionError: [Group] the ranks must be distinct and below 1, got [0, 1]
        >>> group.comp_node, group.is_single_machine
        (cpu0:2, True)
    """

    def __init__(self, proc_ranks: Sequence[int]) -> None:
        self.reset(proc_ranks)

    def __getstate__(self) -> dict:
        # The reader of a file may have more or fewer processes.
        is_world = self.proc_ranks == list(range(get_world_size()))
        return {"proc_ranks": [] if is_world else self.proc_ranks}

    def __setstate__(self, state: dict) -> None:
        # MegEngine stores None for the group of all processes.
        self.proc_ranks = state.get("proc_ranks") or []

    def reset(self, proc_ranks: Sequence[int]) -> None:
        """Give the group other processes.

        Example:
            >>> init_process_group("localhost", 0, 1, 0, 0)
            >>> group = Group([])  # all processes
            >>> group.reset([0])
            >>> group.size
            1
        """
        self.proc_ranks = list(proc_ranks)
        if self.proc_ranks:
            self.check(self.proc_ranks)

    def check(self, proc_ranks: Sequence[int]) -> None:
        """Refuse ranks that cannot be a group's.

        Raises:
            AssertionError: a rank is not below the number of processes, or there twice, or this
                process is not among them.
        Example:
            >>> init_process_group("localhost", 0, 1, 0, 0)
            >>> Group([]).check([0])
        """
        process, ranks = _this(), list(proc_ranks)
        is_right = all(isinstance(r, int) and 0 <= r < process.world_size for r in ranks)
        assert is_right and len(set(ranks)) == len(ranks), (
            f"[Group] the ranks must be distinct and below {process.world_size}, got {ranks}"
        )
        assert process.rank in ranks, (
            f"[Group] this is process {process.rank}, which is not among {ranks}"
        )

    def _ranks(self) -> list[int]:
        # The group of all processes, loaded from a file, has no ranks.
        return self.proc_ranks or list(range(_this().world_size))

    @property
    def size(self) -> int:
        """Number of processes."""
        return len(self._ranks())

    @property
    def key(self) -> str:
        """A name that all processes of the group have for it."""
        return ",".join(map(str, self.proc_ranks if _process is None else self._ranks()))

    @property
    def rank(self) -> int:
        """Which process of the group this one is."""
        return self._ranks().index(_this().rank)

    @property
    def comp_node(self):
        """The device of this process."""
        process = _this()
        return as_device(f"{process.device_type}{process.device}:2")

    @property
    def is_single_machine(self) -> bool:
        """Whether all run on this machine, as far as ``launcher`` knows."""
        process = _this()
        return process.world_size == 1 or set(self._ranks()) <= set(process.machine_ranks or [])


WORLD = Group([])


def _as_group(group: Group | None) -> Group:
    """A group; None means the group of all processes.

    Raises:
        TypeError: it has another type, such as a list of ranks.
    """
    if group is None:
        return WORLD
    if not isinstance(group, Group):
        raise TypeError(f"[distributed] group must be a Group, as new_group returns, got {group!r}")
    return group


def init_process_group(
    master_ip: str | None = None,
    port: int | None = None,
    world_size: int | None = None,
    rank: int | None = None,
    device: int | None = None,
    backend: str | None = "auto",
    device_type: str = "xpu",
    *,
    timeout: float | None = None,
) -> None:
    """Make this process one of several that train together; waits for the others.

    Without arguments, the variables of the launcher are used: torchrun (or another launcher that
    sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT), mpirun of Open MPI or MPICH, or srun. A
    process without a launcher is alone.

    Processes on other machines, or of other users, need the same ``MGE_DISTRIBUTED_SECRET``. The
    given device becomes the default device, and each process gets different random numbers.

    An exchange raises RuntimeError in all processes if they call different operations, or with
    different shapes or dtypes, if one of them has ended or failed, or if it does not answer in
    time. The last exchanges are then written to the files ``PREFIX.RANK.json`` if
    ``MGE_DISTRIBUTED_RECORD`` names a prefix; the signal SIGUSR2 writes them, too.

    Args:
        master_ip, port: the ``Server`` through which the processes find each other.
        world_size, rank: number of processes, and of this one, from 0.
        device: number of its device; None: the process's number on its machine.
        backend: engine that carries the data: ``gloo``, ``openmpi`` or ``mpich``. Any other name,
            such as ``auto``, selects the launcher's engine, else Gloo. ``nccl`` adds NCCL for the
            exchanges of GPUs; on other devices it means ``auto``.
        device_type: type of the device.
        timeout: seconds without an answer after which an exchange fails; None:
            ``MGE_DISTRIBUTED_TIMEOUT``, else 1800.
    Raises:
        TypeError: an argument has another type, or only some of the first four are given.
        ValueError: ``rank`` is not below ``world_size``, ``timeout`` is not above 0, or variables
            of launchers contradict each other.
        AssertionError: ``init_process_group`` was called before.
        ConnectionError: there is no server, or it has another secret.
        RuntimeError: the engine is not installed, other processes have not connected within five
            minutes, or they use another engine or version.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.init_process_group("localhost", 0, 1, 0, 0)
        >>> dist.get_world_size(), dist.get_rank()
        (1, 0)
    """
    global _process
    launch, is_served = _launch_of(master_ip, port, world_size, rank)
    process = _new_process(launch, device, str(backend), device_type)
    if launch.world_size > 1:
        _join(process, launch, is_served, timeout)
    if backend == "nccl" and "gpu" in (device_type, what_is_xpu()) and device_type != "cpu":
        _mge.open_nccl(_nccl_library(), time_limit(timeout))
        process.has_nccl = True
    _process = process
    WORLD.reset(range(launch.world_size))


def _launch_of(
    master_ip: str | None, port: int | None, world_size: int | None, rank: int | None
) -> tuple[Launch, bool]:
    """The place of this process, and whether somebody runs the server for it."""
    given = {"master_ip": master_ip, "port": port, "world_size": world_size, "rank": rank}
    if all(value is None for value in given.values()):
        return find_launch(), False
    for name, value in given.items():
        kind, words = (str, "a string") if name == "master_ip" else (int, "an integer")
        if not isinstance(value, kind):
            raise TypeError(f"[init_process_group] {name} must be {words}, got {value!r}")
    if not 0 <= rank < world_size:
        raise ValueError(f"[init_process_group] rank must be below {world_size}, got {rank}")
    return Launch(rank, world_size, rank, "", master_ip, port), True


def _new_process(launch: Launch, device: int | None, backend: str, device_type: str) -> _Process:
    device = launch.local_rank if device is None else device
    if not isinstance(device, int):
        raise TypeError(f"[init_process_group] device must be an integer, got {device!r}")
    assert _process is None or _process.world_size == 1, (
        "[init_process_group] this process is already in a group; call it once"
    )
    server = launch.master_ip or "localhost", launch.port
    return _Process(launch.rank, launch.world_size, device, backend, device_type, server)


def _join(process: _Process, launch: Launch, is_served: bool, timeout: float | None) -> None:
    """Meet the other processes, and prepare this one for work beside them."""
    record = os.environ.get("MGE_DISTRIBUTED_RECORD", "")
    process.meeting = meet(launch, process.backend, is_served, timeout, record)
    process.server = process.meeting.server
    if record:
        _write_record_on_signal()
    atexit.register(_leave, process)
    set_default_device(f"{process.device_type}{process.device}")
    random.seed(seed_of_time() + launch.rank)


def _nccl_library() -> str:
    """The file of NCCL in NVIDIA's Python package, or its name for the system's search."""
    with contextlib.suppress(ModuleNotFoundError):
        spec = importlib.util.find_spec("nvidia.nccl")
        for folder in (spec and spec.submodule_search_locations) or ():
            path = Path(folder, "lib", "libnccl.so.2")
            if path.exists():
                return str(path)
    return "libnccl.so.2"


def _write_record_on_signal() -> None:
    """Make SIGUSR2 write the last exchanges, unless the program uses the signal itself."""
    is_main = threading.current_thread() is threading.main_thread()
    if is_main and signal.getsignal(signal.SIGUSR2) == signal.SIG_DFL:
        signal.signal(signal.SIGUSR2, lambda *_: _mge.write_flight_record())


def _leave(process: _Process, error: BaseException | None = None) -> None:
    """Tell the others, which may wait for a value of this process, that it ends."""
    if process.meeting is None:
        return
    error = getattr(sys, "last_value", None) if error is None else error
    has_failed = error is not None and not (isinstance(error, SystemExit) and not error.code)
    process.meeting.leave(f"{type(error).__name__}: {error}" if has_failed else "")


def _set_machine_ranks(ranks: list[int]) -> None:
    _this().machine_ranks = ranks


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
    return 0 if _process is None else _process.rank


def get_world_size() -> int:
    """The number of processes.

    Example:
        >>> get_world_size()
        1
    """
    return 1 if _process is None else _process.world_size


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
    """Name of the engine that carries the data.

    A single process has none; its backend is the requested name.

    Raises:
        AssertionError: ``init_process_group`` was not called.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0, backend="nccl")
        >>> get_backend()
        'nccl'
    """
    process = _this()
    if process.meeting is None:
        return process.backend
    return "nccl" if process.has_nccl else process.meeting.engine


@contextlib.contextmanager
def override_backend(new_backend: str) -> Iterator[None]:
    """Another backend within a ``with`` block.

    It has no effect on several processes, whose engine is chosen once.

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


def get_client() -> Client:
    """The client of the server through which the processes connected.

    Raises:
        AssertionError: ``init_process_group`` was not called, or there is one process.
    Example:
        >>> import megengine.distributed as dist
        >>> def work():
        ...     if get_rank() == 0:
        ...         get_client().user_set("name", "digits")
        ...     return get_client().user_get("name")
        >>> dist.launcher(work, n_gpus=2)()
        ['digits', 'digits']
    """
    meeting = _this().meeting
    assert meeting is not None, "[get_client] a group of one process has no server"
    return meeting.client


def get_py_server_addr() -> tuple[str, int]:
    """Machine and port of that server.

    Raises:
        AssertionError: ``init_process_group`` was not called.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> get_py_server_addr()
        ('localhost', 0)
    """
    return _this().server


get_mm_server_addr = get_py_server_addr  # MegEngine has another server for data


def new_group(proc_ranks: Sequence[int]) -> Group:
    """A group of some of the processes.

    Args:
        proc_ranks: their ranks, root first.
    Raises:
        AssertionError: as for ``Group``.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> new_group([0]).size
        1
    """
    return Group(proc_ranks)


def group_barrier(group: Group | None = WORLD) -> None:
    """Wait for the other processes of a group.

    Args:
        group: the processes; None: all.
    Raises:
        TypeError: ``group`` is not a ``Group``.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> group_barrier()
    """
    group = _as_group(group)
    if get_world_size() > 1:
        nothing = _mge.ops.full(shape=[0])
        _mge.ops.collective(nothing, mode="all_gather", ranks=group._ranks(), rank=group.rank)


def group_start() -> None:
    """Begin operations that need not go one after the other: here each still does.

    So if two processes send to each other, one has to receive first, within a group too.

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
    """End the block begun by ``group_start``.

    Example:
        >>> group_start()
        >>> group_end()
    """
