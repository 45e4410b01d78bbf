# SPDX-License-Identifier: Apache-2.0
"""``python -m megengine.distributed.launch``: starts a script in several processes of a machine."""

import argparse
import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Sequence

RESTARTS = "MGE_RESTARTS"  # variable with the number of restarts so far
_RESTART_COUNTS = (RESTARTS, "TORCHELASTIC_RESTART_COUNT", "SLURM_RESTART_COUNT")
GRACE_SECONDS = 5  # time for a process to end after a signal
_LOOK_SECONDS = 0.05  # interval between checks of processes
_PR_SET_PDEATHSIG = 1  # option of prctl(2): the signal that a process gets when its parent ends


def get_restart_count() -> int:
    """How often the launcher has started the processes again after a failure.

    ``launcher``, ``megengine.distributed.launch``, torchrun, Slurm and Ray Train report it.

    Example:
        >>> get_restart_count()
        0
    """
    given = (os.environ.get(name) for name in _RESTART_COUNTS)
    return int(next(filter(None, given), 0))


def _parsed(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m megengine.distributed.launch",
        description="Start a script in several processes of this machine, as torchrun does. If "
        "one fails, the others are ended, and all are started again up to --max-restarts times.",
    )
    parser.add_argument(
        "-n", "--processes", type=int, default=1, help="number of processes (default: 1)"
    )
    parser.add_argument(
        "--max-restarts", type=int, default=0, help="number of restarts after failures (default: 0)"
    )
    parser.add_argument(
        "--port", type=int, default=0, help="port of the first process; 0 chooses a free one"
    )
    parser.add_argument(
        "-m", "--module", action="store_true", help="SCRIPT is the name of a module"
    )
    parser.add_argument("script")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="arguments of the script")
    options = parser.parse_args(arguments)
    if options.processes < 1:
        parser.error(f"--processes must be at least 1, got {options.processes}")
    if options.max_restarts < 0:
        parser.error(f"--max-restarts must be at least 0, got {options.max_restarts}")
    return options


def free_port() -> int:
    """A port of this machine that nothing uses now."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        return listening.getsockname()[1]


def end_with_parent() -> None:
    """End this process when its parent ends, where the system supports that."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, ctypes.c_ulong(signal.SIGTERM))


def _started(options: argparse.Namespace, restarts: int) -> list[subprocess.Popen]:
    count, port = options.processes, options.port or free_port()
    module = ["-m"] if options.module else []
    command = [sys.executable, *module, options.script, *options.arguments]
    common = {
        "WORLD_SIZE": str(count),
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        RESTARTS: str(restarts),
    }
    if count > 1 and "MGE_THREADS" not in os.environ:
        common["MGE_THREADS"] = str(max(1, len(os.sched_getaffinity(0)) // count))
    processes: list[subprocess.Popen] = []
    try:
        for rank in range(count):
            own = {"RANK": str(rank), "LOCAL_RANK": str(rank)}
            environment = {**os.environ, **common, **own}
            processes.append(subprocess.Popen(command, env=environment, preexec_fn=end_with_parent))
    except BaseException:
        _end(processes)
        raise
    return processes


def _first_failure(processes: list[subprocess.Popen]) -> tuple[int, int] | None:
    """Rank and code of the first process that fails; None if all end with code 0."""
    while True:
        codes = [process.poll() for process in processes]
        for rank, code in enumerate(codes):
            if code:
                return rank, code
        if all(code == 0 for code in codes):
            return None
        time.sleep(_LOOK_SECONDS)


def _end(processes: list[subprocess.Popen]) -> None:
    for process in processes:
        if process.poll() is None:
            process.terminate()
            process.send_signal(signal.SIGCONT)  # a stopped process ends, too
    end = time.monotonic() + GRACE_SECONDS
    for process in processes:
        try:
            process.wait(max(0, end - time.monotonic()))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class _Terminated(Exception):
    pass


def _raise_terminated(number: int, _frame) -> None:
    raise _Terminated(number)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the launcher.

    Args:
        arguments: of the command line; None: those of this process.
    Returns:
        The exit code: 0, that of the first process that failed in the last attempt, or 128 plus the
        number of the signal that ended it.
    """
    options = _parsed(arguments)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, _raise_terminated)
    processes: list[subprocess.Popen] = []
    try:
        for restarts in range(options.max_restarts + 1):
            processes = _started(options, restarts)
            failure = _first_failure(processes)
            _end(processes)
            if failure is None:
                return 0
            rank, code = failure
            is_last = restarts == options.max_restarts
            then = "" if is_last else f"; restart {restarts + 1} of {options.max_restarts}"
            print(f"[launch] process {rank} ended with exit code {code}{then}", file=sys.stderr)
    except _Terminated as terminated:
        code = -terminated.args[0]
    finally:
        _end(processes)
    return code if code > 0 else 128 - code
