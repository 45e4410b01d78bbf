# SPDX-License-Identifier: Apache-2.0
"""Several processes that run one function, and whose failure is the caller's."""

import contextlib
import multiprocessing
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from multiprocessing import connection
from typing import Any

_SECONDS_TO_END = 3  # for all processes together; then they are killed


class ProcessRaisedError(RuntimeError):
    """A process raised an error, whose traceback is in the message.

    Example:
        >>> import megengine.multiprocessing as mp
        >>> try:
        ...     mp.spawn(divmod, args=(0,), nprocs=1, start_method="fork")  # divmod(0, 0)
        ... except mp.ProcessRaisedError as error:
        ...     "ZeroDivisionError" in str(error)
        True
    """


class ProcessExitedError(RuntimeError):
    """A process ended without saying why: by a signal, or an exit code other than 0.

    Example:
        >>> import os
        >>> import megengine.multiprocessing as mp
        >>> try:
        ...     mp.spawn(os._exit, nprocs=2, start_method="fork")  # exit codes 0 and 1
        ... except mp.ProcessExitedError:
        ...     print("ended by itself")
        ended by itself
    """


_handler_before = None  # of SIGINT, while processes are started


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    """Ctrl-C waits for the end of the block: no process is started that nobody knows of."""
    global _handler_before
    before = signal.getsignal(signal.SIGINT)
    if before is None or threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    _handler_before = before
    signal.signal(signal.SIGINT, lambda number, _: came.append(number))
    try:
        yield
    finally:
        _handler_before = None
        signal.signal(signal.SIGINT, before)
    if came:
        signal.raise_signal(signal.SIGINT)


def _run(function: Callable, index: int, args: tuple, errors) -> None:
    if _handler_before is not None:  # forked in the block above
        signal.signal(signal.SIGINT, _handler_before)
    try:
        function(index, *args)
    except KeyboardInterrupt:
        sys.exit(1)
    except Exception:
        errors.send(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """Processes that ``spawn`` started.

    Args:
        processes: the processes.
        errors: for each the end of a pipe where its traceback comes out.
    Example:
        >>> import megengine.multiprocessing as mp
        >>> context = mp.spawn(abs, nprocs=2, join=False, start_method="fork")
        >>> len(context.processes)
        2
        >>> while not context.join():
        ...     pass
    """

    def __init__(self, processes: list, errors: list):
        self.processes = processes
        self._errors = dict(enumerate(errors))  # of those that may still say something

    def pids(self) -> list[int]:
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait until all have ended; when one fails, or at Ctrl-C, the others are ended.

        Args:
            timeout: seconds to wait at most; None for as long as it takes.
        Returns:
            Whether all have ended.
        Raises:
            ProcessRaisedError: one raised an error.
            ProcessExitedError: one ended otherwise.
        """
        try:
            return self._wait(timeout)
        except KeyboardInterrupt:
            self._end_all()
            raise

    def _wait(self, timeout: float | None) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        while running := [p.sentinel for p in self.processes if p.exitcode is None]:
            left = None if end is None else max(0, end - time.monotonic())
            # A process may say what it died of and still not come to its end.
            if not connection.wait([*running, *self._errors.values()], left):
                return False
            self._raise_failure()
        self._raise_failure()
        return True

    def _raise_failure(self) -> None:
        for index, process in enumerate(self.processes):
            trace = self._trace(index)
            code = process.exitcode
            if trace is None and not code:
                continue
            self._end_all()
            if trace is not None:
                raise ProcessRaisedError(f"[spawn] process {index} raised an error:\n{trace}")
            how = f"was ended by signal {-code}" if code < 0 else f"ended with exit code {code}"
            raise ProcessExitedError(f"[spawn] process {index} {how}")

    def _trace(self, index: int) -> str | None:
        """What a process has said; its pipe is closed when it has ended."""
        pipe = self._errors.get(index)
        if pipe is None or not pipe.poll():
            return None
        try:
            return pipe.recv()
        except EOFError:
            del self._errors[index]
            return None

    def _end_all(self) -> None:
        for end in ("terminate", "kill"):
            for process in self.processes:
                if process.exitcode is None:
                    getattr(process, end)()
            limit = time.monotonic() + _SECONDS_TO_END
            for process in self.processes:
                process.join(max(0, limit - time.monotonic()))


def spawn(
    fn: Callable,
    args: tuple = (),
    nprocs: int = 1,
    join: bool = True,
    daemon: bool = False,
    start_method: str = "spawn",
) -> Any:
    """Run a function in several processes.

    Args:
        fn: called as ``fn(index, *args)``; of a module, so that it can be pickled.
        args: its further arguments; Tensors and Modules in shared memory are the same in all.
        nprocs: how many processes.
        join: wait for them.
        daemon: end them when this process ends.
        start_method: ``"spawn"``, ``"fork"`` or ``"forkserver"``.
    Returns:
        None; without ``join`` what to wait with.
    Raises:
        ProcessRaisedError: a process raised an error; the others are ended.
        ProcessExitedError: a process ended otherwise; the others are ended.
    Example:
        >>> import megengine.multiprocessing as mp
        >>> mp.spawn(pow, args=(2,), nprocs=2, start_method="fork")  # pow(0, 2) and pow(1, 2)
    """
    context = multiprocessing.get_context(start_method)
    processes, errors = [], []
    try:
        with _interrupted_later():
            for index in range(nprocs):
                receiver, sender = context.Pipe(duplex=False)
                arguments = (fn, index, args, sender)
                process = context.Process(target=_run, args=arguments, daemon=daemon)
                process.start()
                sender.close()
                processes.append(process)
                errors.append(receiver)
    except KeyboardInterrupt:
        ProcessContext(processes, errors)._end_all()
        raise
    started = ProcessContext(processes, errors)
    if not join:
        return started
    started.join()
    return None
