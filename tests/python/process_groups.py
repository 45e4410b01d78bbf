# SPDX-License-Identifier: Apache-2.0
"""Functions that tests run in several processes of this machine."""

import os
import shutil
import subprocess

import numpy as np
import pytest

import megengine as mge
import megengine.distributed as dist


def in_processes(count, work, *arguments):
    """The results of a function in several processes, each on a CPU device."""
    return dist.launcher(work, n_gpus=count, device_type="cpu")(*arguments)


def mine(shape=(6,)):
    """Process r has 10 r, 10 r + 1, …."""
    count = int(np.prod(shape))
    return mge.Tensor(np.arange(count, dtype=np.float32).reshape(shape) + 10 * dist.get_rank())


def require_engine(engine):
    """Skips the test unless the build has the plugin of an engine."""
    folder = os.environ.get("MGE_BUILD_DIR", "")
    if not os.path.exists(os.path.join(folder, "lib", f"libmge_{engine}.so")):
        pytest.skip(f"this build has no engine {engine}")


def find_mpirun(engine):
    """The command that starts processes of an MPI."""
    require_engine(engine)
    command = shutil.which(f"mpirun.{engine}")
    if command is None:
        pytest.skip(f"{engine} is not installed")
    extra = ["--allow-run-as-root", "--oversubscribe"] if engine == "openmpi" else []
    return [command, *extra]


def place_of(rank, n, port):
    """The variables that torchrun sets."""
    place = {"RANK": rank, "WORLD_SIZE": n, "LOCAL_RANK": rank, "MASTER_PORT": port}
    return {"MASTER_ADDR": "127.0.0.1"} | {name: str(value) for name, value in place.items()}


def free_port():
    server = dist.Server()
    return server.py_server_port


def start_by_variables(command, n, **options):
    """Starts processes as torchrun does."""
    port = free_port()
    return [
        subprocess.Popen(command, env=os.environ | place_of(rank, n, port), **options)
        for rank in range(n)
    ]
