# SPDX-License-Identifier: Apache-2.0
"""Starting the processes that train together."""

import ctypes
import functools
import multiprocessing
import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait

from .. import _mge
from ..device import what_is_xpu
from ..logger import get_logger
from . import group
from .helper import get_device_count_by_fork
from .server import Server

_GRACE_SECONDS = 5  # that a process has to end when it is told to
_LOOK_SECONDS = 0.5  # between looks at processes that have not said that they ended
_PR_SET_PDEATHSIG = 1  # of prctl(2): the signal that a process gets when its parent ends


def _end_with(parent: int) -> None:
    """Be ended as ``_end`` does it when the process that started this one is gone."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM))
    if os.getppid() != parent:  # before the system knew
        os.kill(os.getpid(), signal.SIGTERM)


def _share_processors(processes: int) -> None:
    """Threads of this process, when so many share the processors and the user has not said."""
    if "MGE_THREADS" not in os.environ:
        _mge.set_threads(max(1, _mge.get_threads() // processes))


class launcher:
    """Make a function run in several processes, each with a rank and a device of its own.

    The processes are forked from this one, which must not have used a GPU before, and end with it.
    One process alone is this one, after ``init_process_group``.

    Args:
        func: the function; without it, what is made is a decorator.
        n_gpus: processes on this machine; None: one for each GPU; one where there is none, whose
            threads share the work.
        world_size: processes on all machines; None: those of this machine.
        rank_start: rank of the first process here.
        master_ip: machine of the first process.
        port: of that machine, through which processes find each other; 0: a free one, where all
            are on this machine. Processes on other machines need the same
            ``MGE_DISTRIBUTED_SECRET``.
        device_type: kind of the devices. Processes on a CPU share its processors: each has its part
            of the threads, unless ``MGE_THREADS`` says how many.
        backend: a name that ``get_backend`` tells.
    Raises:
        AssertionError: there is no port, though the first process is on another machine; when it is
            called, a process has failed: ``"subprocess 1 exit with code 3"``. The others are ended.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.launcher(lambda x: (dist.get_rank(), x))(3)
        [(0, 3)]
        >>> dist.launcher(lambda x: (dist.get_rank(), x), n_gpus=2)(3)
        [(0, 3), (1, 3)]
    """

    def __new__(cls, *args, **kwargs):
        if not args:
            return functools.partial(cls, **kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        func: Callable,
        n_gpus: int | None = None,
        world_size: int | None = None,
        rank_start: int = 0,
        master_ip: str = "localhost",
        port: int = 0,
        device_type: str = "xpu",
        backend: str = "auto",
    ) -> None:
        self.func = func
        self.n_gpus = max(1, get_device_count_by_fork("gpu")) if n_gpus is None else n_gpus
        self.world_size = self.n_gpus if world_size is None else world_size
        self.rank_start = rank_start
        self.master_ip = master_ip
        self.port = port
        self.device_type = device_type
        self.backend = backend
        assert rank_start == 0 or port != 0, (
            "[launcher] the first process is on another machine: name the port of its server"
        )
        functools.update_wrapper(self, func)

    def __call__(self, *args, **kwargs) -> list:
        """What the function returned, in each process of this machine."""
        if self.world_size == 1:
            self._join(0, self.port)
            return [self.func(*args, **kwargs)]
        server = self._serve() if self.rank_start == 0 else None
        port = self.port if server is None else server.py_server_port
        context = multiprocessing.get_context("fork")  # a function may be a local one
        processes, results = [], []
        try:
            for device in range(self.n_gpus):
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=self._work, args=(device, port, os.getpid(), sender, args, kwargs)
                )
                process.start()
                sender.close()
                processes.append(process)
                results.append(receiver)
            return self._collect(processes, results)
        finally:
            _end(processes)

    def _serve(self) -> Server:
        return Server(self.port, "127.0.0.1" if self._is_alone() else "0.0.0.0")

    def _is_alone(self) -> bool:
        """True if no process runs on another machine: the server need not be reachable there."""
        return self.world_size == self.n_gpus

    def _join(self, device: int, port: int) -> None:
        ranks = range(self.rank_start, self.rank_start + self.n_gpus)
        host = "localhost" if self._is_alone() else self.master_ip
        group.init_process_group(
            host, port, self.world_size, ranks[device], device, self.backend, self.device_type
        )
        group._set_machine_ranks(list(ranks))

    def _work(
        self, device: int, port: int, parent: int, result: Connection, args: tuple, kwargs: dict
    ) -> None:
        """What each process does."""
        _end_with(parent)
        if "cpu" in (self.device_type, what_is_xpu()):
            _share_processors(self.n_gpus)
        self._join(device, port)
        result.send(self.func(*args, **kwargs))
        _mge.synchronize()
        group._leave(group._this())  # what atexit knows is not done at the end of such a process
        if self.world_size > self.n_gpus:
            group.group_barrier()  # the machine of the first process has the server

    def _collect(self, processes: list, receivers: list[Connection]) -> list:
        results: dict[int, object] = {}
        running = dict(enumerate(processes))
        while running:
            unread = [r for r in receivers if not r.closed]
            # What a process has started may hold its sentinel: its end is no more than a hint.
            wait([*unread, *(p.sentinel for p in running.values())], _LOOK_SECONDS)
            for i, process in list(running.items()):
                code = process.exitcode  # first: who has ended sends no more
                _take(receivers[i], i, results)
                if code is not None:
                    assert code == 0, f"subprocess {i + self.rank_start} exit with code {code}"
                    del running[i]
        if len(results) < len(processes):
            get_logger().warning("subprocess exited with code 0 but did not return a value")
        return [results.get(i) for i in range(self.n_gpus)]


def _take(receiver: Connection, i: int, results: dict) -> None:
    """The result of a process, if there is one; what it started may hold the other end."""
    try:
        if not receiver.closed and receiver.poll():
            results[i] = receiver.recv()
    except (EOFError, OSError):  # it has ended, perhaps in the middle of its result
        receiver.close()


def _end(processes: list) -> None:
    for process in processes:
        if process.is_alive():
            process.terminate()
            os.kill(process.pid, signal.SIGCONT)  # a stopped process ends, too
    end = time.monotonic() + _GRACE_SECONDS
    for process in processes:
        while process.is_alive() and time.monotonic() < end:
            time.sleep(0.01)  # join with a limit waits for what the process has started, too
        if process.is_alive():
            process.kill()
        process.join()
