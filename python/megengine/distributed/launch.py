# SPDX-License-Identifier: Apache-2.0
"""Rank and number of processes from the environment variables of the launcher.

``python -m megengine.distributed.launch`` is a launcher itself (``run.py``).
"""

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Launch:
    """The place of a process among those that were started together.

    Args:
        rank: number of the process, from 0.
        world_size: number of processes.
        local_rank: number of the process among those of its machine.
        engine: engine that the launcher implies; empty without one.
        master_ip: machine of the first process; empty if the engine determines it.
        port: port at which the first process serves the others; 0 if the engine determines it.
    """

    rank: int
    world_size: int
    local_rank: int
    engine: str = ""
    master_ip: str = ""
    port: int = 0


@dataclass(frozen=True)
class _Launcher:
    """The variables of one launcher."""

    name: str
    rank: str
    world_size: str
    local_rank: str
    engine: str = ""

    def is_in(self, environment: Mapping[str, str]) -> bool:
        return self.rank in environment and self.world_size in environment


_LAUNCHERS = (
    _Launcher("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    _Launcher(
        "Open MPI",
        "OMPI_COMM_WORLD_RANK",
        "OMPI_COMM_WORLD_SIZE",
        "OMPI_COMM_WORLD_LOCAL_RANK",
        "openmpi",
    ),
    _Launcher("MPICH", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "mpich"),
)
# In an allocation these are also set for scripts that srun did not start, so they are last.
_SLURM = _Launcher("Slurm", "SLURM_PROCID", "SLURM_NTASKS", "SLURM_LOCALID")


def find_launch(environment: Mapping[str, str] = os.environ) -> Launch:
    """The place of this process, read from the environment.

    The following launchers are detected, in this order: torchrun and others that set the same
    variables (RANK, WORLD_SIZE, LOCAL_RANK, MASTER_ADDR, MASTER_PORT), Open MPI, MPICH and srun. A
    process without a launcher is alone.

    Args:
        environment: the variables.
    Raises:
        ValueError: a variable is missing or not a number, or two launchers disagree.
    Example:
        >>> find_launch({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "4"}).engine
        'openmpi'
        >>> find_launch({}).world_size
        1
    """
    found = [launcher for launcher in _LAUNCHERS if launcher.is_in(environment)]
    if not found and _SLURM.is_in(environment) and "SLURM_STEP_ID" in environment:
        found = [_SLURM]
    if not found:
        return Launch(0, 1, 0)
    launches = [_read(launcher, environment) for launcher in found]
    for launcher, launch in zip(found[1:], launches[1:], strict=True):
        first = launches[0]
        if (launch.rank, launch.world_size) != (first.rank, first.world_size):
            raise ValueError(
                f"[init_process_group] {found[0].name}'s variables say process {first.rank} of "
                f"{first.world_size}, {launcher.name}'s say process {launch.rank} of "
                f"{launch.world_size}; unset the variables of the launcher that was not used"
            )
    return launches[0]


def _read(launcher: _Launcher, environment: Mapping[str, str]) -> Launch:
    rank = _number(launcher.rank, environment)
    world_size = _number(launcher.world_size, environment)
    if not 0 <= rank < world_size:
        raise ValueError(
            f"[init_process_group] {launcher.rank} is {rank} and {launcher.world_size} "
            f"{world_size}; the rank must be below the number of processes"
        )
    local_rank = _number(launcher.local_rank, environment, rank)
    if launcher.engine or world_size == 1:
        return Launch(rank, world_size, local_rank, launcher.engine)
    find_master = _slurm_master if launcher is _SLURM else _torchrun_master
    return Launch(rank, world_size, local_rank, "", *find_master(environment))


def _number(name: str, environment: Mapping[str, str], default: int | None = None) -> int:
    text = environment.get(name)
    if text is None and default is not None:
        return default
    try:
        return int(text or "")
    except ValueError:
        state = "is not set" if text is None else f"is {text!r}"
        raise ValueError(f"[init_process_group] {name} {state}; it must be a number") from None


def _torchrun_master(environment: Mapping[str, str]) -> tuple[str, int]:
    if "MASTER_ADDR" not in environment:
        raise ValueError(
            "[init_process_group] RANK and WORLD_SIZE are set, but not MASTER_ADDR and "
            "MASTER_PORT, the address of the first process"
        )
    port = _number("MASTER_PORT", environment)
    # torchrun's own agent already serves at that port.
    is_taken = environment.get("TORCHELASTIC_USE_AGENT_STORE") == "True"
    return environment["MASTER_ADDR"], port + 1 if is_taken else port


def _slurm_master(environment: Mapping[str, str]) -> tuple[str, int]:
    if "MASTER_ADDR" in environment:
        return _torchrun_master(environment)
    job = _number("SLURM_JOB_ID", environment) + _number("SLURM_STEP_ID", environment)
    return _first_host(environment.get("SLURM_STEP_NODELIST", "localhost")), 20000 + job % 20000


def _first_host(hosts: str) -> str:
    """The first of hosts as Slurm abbreviates them: node[07-09,12] or a,b."""
    prefix, bracket, rest = hosts.partition("[")
    if not bracket or "," in prefix:
        return prefix.partition(",")[0]
    return prefix + rest.partition("]")[0].partition(",")[0].partition("-")[0]


if __name__ == "__main__":
    from .run import main  # which is needed only here

    sys.exit(main())
