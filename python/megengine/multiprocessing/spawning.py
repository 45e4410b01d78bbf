# SPDX-License-Identifier: Apache-2.0
"""Several processes that run one function; their failures are raised in the caller."""

import contextlib
import math
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
_SECONDS_TO_LOOK = 1  # longest wait at once: a signal just before a wait does not interrupt it


class ProcessRaisedError(RuntimeError):
    """A process raised an error; the message contains its traceback.

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


_handler_before = None  # handler of SIGINT while processes are started


@contextlib.contextmanager
def _interrupted_later() -> Iterator[None]:
    """Delay Ctrl-C to the end of the block, so that no process is started without being
    recorded."""
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

    Example:
        >>> import megengine.multiprocessing as mp
        >>> context = mp.spawn(abs, nprocs=2, join=False, start_method="fork")
        >>> len(context.processes)
        2
        >>> while not context.join():
        ...     pass
        >>> len(context.pids())
        2
    """

    def __init__(self) -> None:
        self.processes: list = []
        self._errors: dict = {}  # pipes of processes that may still report an error

    def _add(self, process, errors: connection.Connection) -> None:
        self._errors[len(self.processes)] = errors
        self.processes.append(process)

    def pids(self) -> list[int]:
        """Their numbers."""
        return [process.pid for process in self.processes]

    def join(self, timeout: float | None = None) -> bool:
        """Wait until all have ended; when one fails, or at Ctrl-C, the others are ended.

        Args:
            timeout: seconds to wait; None: no limit.
        Returns:
            Whether all have ended.
        Raises:
            ProcessRaisedError: a process raised an error.
            ProcessExitedError: a process ended otherwise.
        """
        try:
            return self._wait(timeout)
        except KeyboardInterrupt:
            self._end_all()
            raise

    def _wait(self, timeout: float | None) -> bool:
        end = None if timeout is None else time.monotonic() + timeout
        while running := [p.sentinel for p in self.processes if p.exitcode is None]:
            left = math.inf if end is None else max(0, end - time.monotonic())
            # A process may report its error and yet not end.
            awaited = [*running, *self._errors.values()]
            if not connection.wait(awaited, min(left, _SECONDS_TO_LOOK)) and left == 0:
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
        """The error that a process has reported; its pipe is closed at its end."""
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
        fn: called as ``fn(index, *args)``; defined in a module, so that it can be pickled.
        args: its further arguments; Tensors and Modules in shared memory are shared by all
            processes.
        nprocs: number of processes.
        join: wait for them.
        daemon: end them when this process ends.
        start_method: ``"spawn"``, ``"fork"`` or ``"forkserver"``.
    Returns:
        None; without ``join`` a context to wait with.
    Raises:
        ProcessRaisedError: a process raised an error; the others are ended.
        ProcessExitedError: a process ended otherwise; the others are ended.
    Example:
        >>> import megengine.multiprocessing as mp
        >>> mp.spawn(pow, args=(2,), nprocs=2, start_method="fork")  # pow(0, 2) and pow(1, 2)
    """
    context = multiprocessing.get_context(start_method)
    started = ProcessContext()
    try:
        with _interrupted_later():
            for index in range(nprocs):
                receiver, sender = context.Pipe(duplex=False)
                arguments = (fn, index, args, sender)
                process = context.Process(target=_run, args=arguments, daemon=daemon)
                process.start()
                sender.close()
                started._add(process, receiver)
        if not join:
            return started
        started.join()
    except BaseException:
        started._end_all()
        raise
    return None
