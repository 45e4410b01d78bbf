# SPDX-License-Identifier: Apache-2.0
"""Which processes work together, and which of them this one is."""

import atexit
import contextlib
import hmac
import ipaddress
import secrets
import socket
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from .. import _mge, random
from ..core._wrap import as_device
from ..device import set_default_device
from ..random.rng import seed_of_time
from .server import Client

_PATIENCE_SECONDS = 300  # until the slowest process has come


@dataclass
class _Process:
    rank: int
    world_size: int
    device: int
    backend: str
    device_type: str
    server: tuple[str, int]
    client: Client | None = None  # of one process there is none
    meeting: str = ""  # its name at the server, where others may have met before
    machine_ranks: list[int] | None = None


_process: _Process | None = None


def _this() -> _Process:
    assert _process is not None, "please call init_process_group first"
    return _process


class Group:
    """Processes that take part in an operation.

    Args:
        proc_ranks: their ranks; the first one is that of the root. This process is among them.
    Raises:
        AssertionError: ``init_process_group`` was not called, a rank is that of no process or there
            twice, or this process is not among them.
    Example:
        >>> init_process_group("localhost", 0, 1, 0, 0)
        >>> group = Group([0])
        >>> group.rank, group.size, group.key
        (0, 1, '0')
        >>> Group([0, 1])
        Traceback (most recent call last):
            ...
        AssertionError: [Group] the ranks have to be different ones below 1, got [0, 1]
    """

    def __init__(self, proc_ranks: Sequence[int]) -> None:
        self.reset(proc_ranks)

    def __getstate__(self) -> dict:
        # Who reads a file may have more processes, or fewer.
        is_world = self.proc_ranks == list(range(get_world_size()))
        return {"proc_ranks": [] if is_world else self.proc_ranks}

    def __setstate__(self, state: dict) -> None:
        # Of all processes MegEngine's has None.
        self.proc_ranks = state.get("proc_ranks") or []

    def reset(self, proc_ranks: Sequence[int]) -> None:
        """Give the group other processes."""
        self.proc_ranks = list(proc_ranks)
        if self.proc_ranks:
            self.check(self.proc_ranks)

    def check(self, proc_ranks: Sequence[int]) -> None:
        """Refuse ranks that cannot be a group's.

        Raises:
            AssertionError: a rank is not below the number of processes, or there twice, or this
                process is not among them.
        """
        process, ranks = _this(), list(proc_ranks)
        is_right = all(isinstance(r, int) and 0 <= r < process.world_size for r in ranks)
        assert is_right and len(set(ranks)) == len(ranks), (
            f"[Group] the ranks have to be different ones below {process.world_size}, got {ranks}"
        )
        assert process.rank in ranks, (
            f"[Group] this is process {process.rank}, which is not among {ranks}"
        )

    def _ranks(self) -> list[int]:
        # That of all processes, from a file, knows of none.
        return self.proc_ranks or list(range(_this().world_size))

    @property
    def size(self) -> int:
        """How many processes there are."""
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
        """Whether all run on the machine of this one, as far as ``launcher`` has told."""
        process = _this()
        return process.world_size == 1 or set(self._ranks()) <= set(process.machine_ranks or [])


WORLD = Group([])


def _as_group(group: Group | None) -> Group:
    """A group; None is that of all processes.

    Raises:
        TypeError: it is something else, such as a list of ranks.
    """
    if group is None:
        return WORLD
    if not isinstance(group, Group):
        raise TypeError(
            f"[distributed] group is a Group, as new_group makes it of ranks, got {group!r}"
        )
    return group


def init_process_group(
    master_ip: str,
    port: int,
    world_size: int,
    rank: int,
    device: int,
    backend: str | None = "auto",
    device_type: str = "xpu",
) -> None:
    """Make this process one of several that train together; waits for the others.

    Processes on other machines, or of other users, need the same ``MGE_DISTRIBUTED_SECRET``. An
    exchange that gets no answer for ``MGE_DISTRIBUTED_TIMEOUT`` seconds (1800) is a RuntimeError.
    Its default device is the given one from now on, and its random numbers are not theirs.

    Args:
        master_ip: machine of the ``Server`` through which the processes find each other.
        port: the server's port.
        world_size: how many processes there are.
        rank: which of them this is.
        device: number of the device that it works on.
        backend: a name that ``get_backend`` tells. Whatever it is, data goes through the host's
            memory and connections by TCP, each process with each.
        device_type: kind of the device.
    Raises:
        TypeError: an argument is of another type.
        ValueError: ``rank`` is not below ``world_size``.
        AssertionError: this process belongs to several already.
        ConnectionError: there is no server, or it has another secret.
        RuntimeError: other processes have not come within five minutes.
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
    assert _process is None or _process.world_size == 1, (
        "[init_process_group] this process belongs to several already; it can be called once"
    )
    process = _Process(rank, world_size, device, str(backend), device_type, (master_ip, port))
    if world_size > 1:
        process.client = _meet(process)
        atexit.register(_leave, process)
        set_default_device(f"{device_type}{device}")
        random.seed(seed_of_time() + rank)
    _process = process
    WORLD.reset(range(world_size))


def _meet(process: _Process) -> Client:
    """Connect with the other processes, which the server tells where they are."""
    client, is_first = Client(*process.server), process.rank == 0
    name = secrets.token_hex(32) if is_first else None
    try:
        name = _asked(0, client.bcast_val, name, "token", process.world_size)
        process.meeting = name
        _connect(process, client)
    except BaseException:
        if is_first:  # those who come now would take it for that of the next meeting
            with contextlib.suppress(OSError, RuntimeError):
                client.take_back("token")
        raise
    return client


def _name_of(process: _Process, rank: int) -> str:
    """The name of a process of a meeting; those of an earlier one may still leave the server."""
    return f"{process.meeting}: process {rank}"


def _tokens(client: Client, process: _Process) -> list[str]:
    """By rank, what this process and that one prove themselves by, once and to each other."""

    def token(other: int) -> str:
        pair = "{} {} {}".format(process.meeting, *sorted((process.rank, other)))
        return hmac.new(client._secret, pair.encode(), "sha256").hexdigest()

    return [token(other) for other in range(process.world_size)]


def _connect(process: _Process, client: Client) -> None:
    """Connect with the others of this meeting."""
    size, rank, meeting = process.world_size, process.rank, process.meeting

    def told_by_all(what: str, mine):
        # The server may know what processes have told that met there before these.
        client.user_set(f"{meeting} {what} {rank}", mine)
        keys = [f"{meeting} {what} {other}" for other in range(size)]
        return [_asked(other, client.user_get, key) for other, key in enumerate(keys)]

    with socket.create_connection(process.server, _PATIENCE_SECONDS) as to_server:
        host, server = to_server.getsockname()[0], to_server.getpeername()[0]
    hosts = told_by_all("host", host)
    ports = told_by_all("port", _mge.listen_for_processes(_listening_host(host, hosts)))
    # Who reaches the server by loopback is on its machine.
    hosts = [server if _is_loopback(other) else other for other in hosts]
    _mge.connect_processes(
        rank,
        list(zip(hosts, ports, strict=True)),
        _tokens(client, process),
        _PATIENCE_SECONDS,
        client._time_limit,
    )


def _asked(other: int, ask: Callable, *arguments):
    """What a process tells."""
    try:
        return ask(*arguments, patience=_PATIENCE_SECONDS)
    except RuntimeError:
        raise RuntimeError(
            f"[init_process_group] process {other} has not come within {_PATIENCE_SECONDS} s"
        ) from None


def _is_loopback(host: str) -> bool:
    return ipaddress.ip_address(host).is_loopback


def _listening_host(mine: str, hosts: list[str]) -> str:
    """Where a process listens: at its address, or, where others do not reach that, at all."""
    is_unreachable = _is_loopback(mine) and not all(map(_is_loopback, hosts))
    return "0.0.0.0" if is_unreachable else mine


def _leave(process: _Process) -> None:
    """Tell those who wait for what this process would say."""
    with contextlib.suppress(OSError):  # the server may have ended before
        process.client.leave(_name_of(process, process.rank))


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
    """How many processes there are.

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


def get_client() -> Client:
    """What speaks with the server through which the processes met.

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
    client = _this().client
    assert client is not None, "[get_client] one process has no server"
    return client


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
        proc_ranks: their ranks; the first one is that of the root.
    Raises:
        AssertionError: as of ``Group``.
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
        TypeError: ``group`` is something else.
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

    So of two processes that send to each other, one has to receive first, within a group too.

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
