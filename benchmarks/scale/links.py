# SPDX-License-Identifier: Apache-2.0
"""Runs commands in network namespaces of this machine whose links have a limited rate.

Needs root, `ip` and `tc`. Each namespace has one link to a bridge, which `tc tbf` limits in both
directions.
"""

import contextlib
import os
import subprocess
from collections.abc import Iterator, Sequence

NET = "10.77.0"


def _run(*command: str) -> None:
    subprocess.run(command, check=True, capture_output=True)


def _limit(rate: str, device: str, inside: Sequence[str] = ()) -> None:
    queue = ("root", "tbf", "rate", rate, "burst", "256kb", "latency", "400ms")
    _run(*inside, "tc", "qdisc", "add", "dev", device, *queue)


@contextlib.contextmanager
def namespaces(count: int, rate: str | None) -> Iterator[list[str]]:
    """Make namespaces with the addresses 10.77.0.1 and following.

    Args:
        count: number of namespaces.
        rate: of each link in the words of `tc`, such as "1gbit"; None: not limited.
    """
    bridge, names = f"mge{os.getpid()}", [f"mge{os.getpid()}-{i}" for i in range(count)]
    try:
        _run("ip", "link", "add", bridge, "type", "bridge")
        _run("ip", "link", "set", bridge, "up")
        for i, name in enumerate(names):
            outer, inside = f"v{i}x{os.getpid()}", ("ip", "netns", "exec", name)
            _run("ip", "netns", "add", name)
            _run("ip", "link", "add", outer, "type", "veth", "peer", "name", "eth0", "netns", name)
            _run("ip", "link", "set", outer, "master", bridge, "up")
            _run(*inside, "ip", "link", "set", "lo", "up")
            _run(*inside, "ip", "addr", "add", f"{NET}.{i + 1}/24", "dev", "eth0")
            _run(*inside, "ip", "link", "set", "eth0", "up")
            if rate:
                _limit(rate, outer)
                _limit(rate, "eth0", inside)
        yield names
    finally:
        for name in names:
            subprocess.run(("ip", "netns", "del", name), capture_output=True, check=False)
        subprocess.run(("ip", "link", "del", bridge), capture_output=True, check=False)


def run_in(names: Sequence[str], command: Sequence[str], seconds: float = 600) -> str:
    """Run one process in each namespace; give the output of the first.

    Each has torchrun's variables, one thread, and a processor of its own, where it runs before
    ordinary processes. If there are more processes than processors, they share them fairly.
    """
    processors = sorted(os.sched_getaffinity(0))
    processes = []
    for rank, name in enumerate(names):
        variables = {
            "RANK": str(rank),
            "WORLD_SIZE": str(len(names)),
            "LOCAL_RANK": str(rank),
            "MASTER_ADDR": f"{NET}.1",
            "MASTER_PORT": "29511",
            "MGE_DISTRIBUTED_SECRET": "a secret of this benchmark",
            "MGE_THREADS": "1",
        }
        processor = str(processors[rank % len(processors)])
        policy = ("chrt", "-f", "5") if len(names) <= len(processors) else ()
        line = ("ip", "netns", "exec", name, *policy, "taskset", "-c", processor)
        processes.append(
            subprocess.Popen(
                (*line, *command),
                env={**os.environ, **variables},
                stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
                text=True,
                start_new_session=True,
            )
        )
        with (
            contextlib.suppress(OSError),
            open(f"/proc/{processes[-1].pid}/autogroup", "w") as file,
        ):
            file.write("-20")
    try:
        output, _ = processes[0].communicate(timeout=seconds)
        codes = [process.wait(timeout=60) for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    if any(codes):
        raise RuntimeError(f"processes have ended with codes {codes}")
    return output
