# SPDX-License-Identifier: Apache-2.0
"""The worker processes of a ``DataLoader``.

Each worker has a pipe. It gets numbered tasks and sends back numbered results; the loader gives
tasks round robin, keeps at most two per worker in flight and puts the results in order. The end of
a worker is seen by waiting on its sentinel beside its pipe, so a killed worker never means a hang.
"""

import contextlib
import itertools
import multiprocessing
import os
import queue
import random
import socket
import struct
import threading
import time
import traceback
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from multiprocessing import connection
from typing import NoReturn

import numpy as np

_TASKS_PER_WORKER = 2
_STOP_SECONDS = 5.0  # time limit for a worker to end


@dataclass(frozen=True)
class WorkerInfo:
    """Which worker this process is."""

    idx: int  # number of the worker
    worker: int  # number of workers
    seed: int  # seed of its random numbers


_info: WorkerInfo | None = None


def get_worker_info() -> WorkerInfo | None:
    """Information about this worker process; None outside of workers.

    Returns:
        ``idx``, ``worker`` (how many there are) and ``seed``, read-only; or None.
    Example:
        >>> get_worker_info() is None
        True
    """
    return _info


@dataclass
class _Failure:
    """An error that a worker met."""

    kind: str
    text: str


def _tasks_of(pipe) -> queue.SimpleQueue:
    """The tasks that arrive through a pipe; None at its end.

    A separate thread reads the pipe: the loader blocks until the pipe has space for a task, and a
    worker until its batch is read, so a single thread would deadlock.
    """
    tasks: queue.SimpleQueue = queue.SimpleQueue()

    def receive() -> None:
        while True:
            try:
                task = pipe.recv()
            except (EOFError, OSError):
                task = None
            tasks.put(task)
            if task is None:
                return

    threading.Thread(target=receive, daemon=True).start()
    return tasks


def _serve(loader, index: int, seed: int, pipe, loaders_ends: list) -> None:
    """The main loop of a worker, until its pipe ends."""
    global _info
    for end in loaders_ends:
        end.close()  # otherwise the pipe of a dead loader would stay open here
    random.seed(seed)
    np.random.seed(seed % 2**32)
    if loader.is_stream:
        _info = WorkerInfo(index, loader.num_workers, seed)
    stream = None
    for number, task in iter(_tasks_of(pipe).get, None):
        try:
            if loader.is_stream and loader.parallel_stream:
                stream = loader.stream_batches() if stream is None else stream
                result = ("end", None)
                for batch in stream:
                    result = ("batch", batch)
                    break
            elif loader.is_stream:
                result = ("batch", loader.stream_batch(task))
            else:
                result = ("batch", loader.make_batch([loader.dataset[k] for k in task]))
        except Exception as error:
            result = ("failure", _Failure(type(error).__name__, traceback.format_exc()))
        try:
            pipe.send((number, *result))
        except (BrokenPipeError, ConnectionResetError):
            return
        except Exception as error:
            failure = _Failure(type(error).__name__, traceback.format_exc())
            pipe.send((number, "failure", failure))


def _limit_waits(pipe, seconds: float) -> None:
    """Make reads and writes of a pipe fail with BlockingIOError after a time without progress.

    A stopped worker may have sent a part of a batch, or may not read a large task.
    """
    limit = struct.pack("@ll", *divmod(max(1, round(seconds * 1e6)), 10**6))
    with socket.socket(fileno=os.dup(pipe.fileno())) as end:
        for option in (socket.SO_RCVTIMEO, socket.SO_SNDTIMEO):
            end.setsockopt(socket.SOL_SOCKET, option, limit)


class Workers:
    """The workers of one iteration over a loader.

    Args:
        loader: the DataLoader.
        seed: worker i seeds its random numbers with ``seed + i``.
    """

    def __init__(self, loader, seed: int):
        self._loader = loader
        self._pipes = []
        self._processes = []
        context = multiprocessing.get_context("fork")
        for index in range(loader.num_workers):
            here, there = context.Pipe()
            if loader.timeout:
                _limit_waits(here, loader.timeout)
            self._pipes.append(here)
            process = context.Process(
                target=_serve,
                args=(loader, index, seed + index, there, list(self._pipes)),
                daemon=True,
            )
            process.start()
            there.close()
            self._processes.append(process)

    def batches(self) -> Iterator:
        """The batches in order.

        Raises:
            RuntimeError: a worker met an error, ended, or took longer than the time limit.
        """
        tasks = self._tasks()
        waiting: deque = deque()  # (number, worker) of the pending tasks, in order
        arrived: dict = {}
        self._alive = list(range(len(self._pipes)))
        self._fill(tasks, waiting)
        while waiting:
            number, worker = waiting.popleft()
            while number not in arrived:
                self._receive(worker, arrived)
            kind, value = arrived.pop(number)
            if kind == "failure":
                raise RuntimeError(
                    f"Caught {value.kind} in DataLoader worker process {worker}.\n"
                    f"Original {value.text}"
                )
            if kind == "end":
                if worker in self._alive:
                    self._alive.remove(worker)
                continue
            self._fill(tasks, waiting)
            yield value

    def _tasks(self) -> Iterator:
        """Lists of indices, or of samples of a stream; endless if the workers read the stream."""
        if not self._loader.is_stream:
            return iter(self._loader.sampler)
        if self._loader.parallel_stream:
            return itertools.repeat(None)
        return self._loader.stream_samples()

    def _fill(self, tasks: Iterator, waiting: deque) -> None:
        limit = _TASKS_PER_WORKER * len(self._pipes)
        while len(waiting) < limit and self._alive:
            task = next(tasks, StopIteration)
            if task is StopIteration:
                return
            number = getattr(self, "_next_number", 0)
            self._next_number = number + 1
            worker = self._alive[number % len(self._alive)]
            self._send(worker, (number, task))
            waiting.append((number, worker))

    def _send(self, worker: int, task) -> None:
        try:
            self._pipes[worker].send(task)
        except BlockingIOError:
            self._raise_timeout(worker)
        except (BrokenPipeError, ConnectionResetError):
            self._raise_ended(worker)

    def _receive(self, worker: int, arrived: dict) -> None:
        """Wait until a worker sends something, ends, or its time is over."""
        pipe, process = self._pipes[worker], self._processes[worker]
        ready = connection.wait([pipe, process.sentinel], self._loader.timeout or None)
        if not ready:
            self._raise_timeout(worker)
        if pipe not in ready:
            self._raise_ended(worker)
        try:
            number, kind, value = pipe.recv()
        except BlockingIOError:
            self._raise_timeout(worker)
        except (EOFError, OSError):  # OSError: the worker ended while it sent a batch
            self._raise_ended(worker)
        arrived[number] = (kind, value)

    def _raise_timeout(self, worker: int) -> NoReturn:
        raise RuntimeError(
            f"DataLoader timeout: worker {worker} made no progress within"
            f" {self._loader.timeout} seconds"
        )

    def _raise_ended(self, worker: int) -> NoReturn:
        process = self._processes[worker]
        process.join(_STOP_SECONDS)
        raise RuntimeError(
            f"DataLoader worker (pid {process.pid}) exited unexpectedly with exit code"
            f" {process.exitcode}"
        )

    def stop(self) -> None:
        """End all workers."""
        for pipe in self._pipes:
            os.set_blocking(pipe.fileno(), False)  # a stopped worker does not read
            with contextlib.suppress(OSError):
                pipe.send(None)
            pipe.close()
        deadline = time.monotonic() + _STOP_SECONDS
        for process in self._processes:
            if self._loader.timeout:  # it may hang: do not be patient
                process.terminate()
            process.join(max(0.0, deadline - time.monotonic()))
            if process.is_alive():
                process.kill()
                process.join()
