# SPDX-License-Identifier: Apache-2.0
"""Starting the processes that train together."""

import functools
import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing.connection import Connection, wait

from .. import _mge
from ..device import what_is_xpu
from ..logger import get_logger
from . import group
from .helper import get_device_count_by_fork
from .run import GRACE_SECONDS, RESTARTS, end_with_parent
from .server import Server

_LOOK_SECONDS = 0.5  # interval between checks of processes that have not reported their end


def _end_with(parent: int) -> None:
    """End this process as ``_end`` does when its parent ends."""
    end_with_parent()
    if os.getppid() != parent:  # before the system knew
        os.kill(os.getpid(), signal.SIGTERM)


def _share_processors(processes: int) -> None:
    """Limit the threads of this process to its share of the processors, unless the user has set
    a number."""
    if "MGE_THREADS" not in os.environ:
        _mge.set_threads(max(1, _mge.get_threads() // processes))


class _ProcessFailure(AssertionError):
    """A process has not ended with code 0."""


class launcher:
    """Run a function in several processes, each with its own rank and device.

    The processes are forked from this one, which must not have used a GPU before, and end with it.
    A single process is this one, after ``init_process_group``.

    Args:
        func: the function; without it, the result is a decorator.
        n_gpus: number of processes on this machine; None: one for each GPU, or one without a GPU,
            whose threads share the work.
        world_size: number of processes on all machines; None: those of this machine.
        rank_start: rank of the first process here.
        master_ip: machine of the first process.
        port: port on that machine, through which processes connect; 0: a free one, if all are on
            this machine. Processes on other machines need the same ``MGE_DISTRIBUTED_SECRET``.
        device_type: type of the devices. Processes on a CPU share its processors: each has its
            share of the threads, unless ``MGE_THREADS`` sets a number.
        backend: engine that carries the data, as for ``init_process_group``.
        max_restarts: how often all processes are started again after one has failed. The function
            begins anew; it loads the last checkpoint (``distributed.checkpoint``). Only if all
            processes are on this machine.
    Raises:
        AssertionError: there is no port although the first process is on another machine; or, in a
            call, a process has failed: ``"subprocess 1 exit with code 3"``. The others are ended.
        ValueError: ``max_restarts`` is negative, or given for processes on several machines.
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
        max_restarts: int = 0,
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
            "[launcher] the first process is on another machine: give the port of its server"
        )
        if max_restarts < 0 or (max_restarts and not self._is_alone()):
            raise ValueError(
                f"[launcher] max_restarts must be at least 0, and 0 for processes on several "
                f"machines, got {max_restarts}"
            )
        self.max_restarts = max_restarts
        functools.update_wrapper(self, func)

    def __call__(self, *args, **kwargs) -> list:
        """Return the function's results in the processes of this machine."""
        if self.world_size == 1 and not self.max_restarts:
            self._join(0, self.port)
            return [self.func(*args, **kwargs)]
        for restarts in range(self.max_restarts):
            try:
                return self._run(args, kwargs, restarts)
            except _ProcessFailure as failure:
                get_logger().warning(
                    "%s; restart %d of %d", failure, restarts + 1, self.max_restarts
                )
        return self._run(args, kwargs, self.max_restarts)

    def _run(self, args: tuple, kwargs: dict, restarts: int) -> list:
        """Run the function once in all processes."""
        server = self._serve() if self.rank_start == 0 else None
        port = self.port if server is None else server.py_server_port
        context = multiprocessing.get_context("fork")  # a function may be a local one
        processes, results = [], []
        try:
            for device in range(self.n_gpus):
                receiver, sender = context.Pipe(duplex=False)
                process = context.Process(
                    target=self._work,
                    args=(device, port, os.getpid(), sender, restarts, args, kwargs),
                )
                process.start()
                sender.close()
                processes.append(process)
                results.append(receiver)
            return self._collect(processes, results)
        finally:
            _end(processes)
            for receiver in results:
                receiver.close()
            if server is not None:
                server.close()

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
        self,
        device: int,
        port: int,
        parent: int,
        result: Connection,
        restarts: int,
        args: tuple,
        kwargs: dict,
    ) -> None:
        """The main function of each process."""
        _end_with(parent)
        os.environ[RESTARTS] = str(restarts)
        if "cpu" in (self.device_type, what_is_xpu()):
            _share_processors(self.n_gpus)
        self._join(device, port)
        try:
            result.send(self.func(*args, **kwargs))
            _mge.synchronize()
        except BaseException as error:
            group._leave(group._this(), error)
            raise
        if self.world_size > self.n_gpus:
            group.group_barrier()  # the machine of the first process has the server
        group._leave(group._this())  # such a process skips the functions registered with atexit

    def _collect(self, processes: list, receivers: list[Connection]) -> list:
        results: dict[int, object] = {}
        running = dict(enumerate(processes))
        while running:
            unread = [r for r in receivers if not r.closed]
            # Children of a process may keep its sentinel open, so its end is only a hint.
            wait([*unread, *(p.sentinel for p in running.values())], _LOOK_SECONDS)
            for i, process in list(running.items()):
                code = process.exitcode  # read first: an ended process sends no more
                _take(receivers[i], i, results)
                if code is not None:
                    if code != 0:
                        raise _ProcessFailure(
                            f"subprocess {i + self.rank_start} exit with code {code}"
                        )
                    del running[i]
        if len(results) < len(processes):
            get_logger().warning("subprocess exited with code 0 but did not return a value")
        return [results.get(i) for i in range(self.n_gpus)]


def _take(receiver: Connection, i: int, results: dict) -> None:
    """The result of a process, if it sent one; its children may keep the other end open."""
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
    end = time.monotonic() + GRACE_SECONDS
    for process in processes:
        while process.is_alive() and time.monotonic() < end:
            time.sleep(0.01)  # join with a timeout would also wait for the process's children
        if process.is_alive():
            process.kill()
        process.join()
        process.close()
