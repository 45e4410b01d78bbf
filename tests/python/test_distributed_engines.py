# SPDX-License-Identifier: Apache-2.0
"""Processes that exchange over each engine, started by each launcher."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import all_collectives
import numpy as np
import pytest
from process_groups import find_mpirun, require_engine, start_by_variables

import megengine as mge
import megengine.distributed as dist
import megengine.distributed.functional as F
from megengine import _mge
from megengine.distributed.launch import Launch, find_launch

SCRIPT = Path(__file__).with_name("all_collectives.py")


@pytest.mark.parametrize("n", [2, 3, 4])
@pytest.mark.parametrize("engine", ["gloo", "openmpi", "mpich"])
def test_every_engine_gives_the_bits_of_one_process(tmp_path, engine, n):
    command = [sys.executable, str(SCRIPT), engine, str(tmp_path / "found")]
    if engine == "gloo":
        require_engine(engine)
        processes = start_by_variables(command, n)
    else:
        processes = [subprocess.Popen([*find_mpirun(engine), "-n", str(n), *command])]
    assert [process.wait(timeout=300) for process in processes] == [0] * len(processes)
    all_collectives.require_expected(tmp_path / "found", n)


def test_a_script_that_no_launcher_started_is_alone(tmp_path):
    output = tmp_path / "found"
    subprocess.run([sys.executable, SCRIPT, "auto", output], check=True, timeout=120)
    assert (tmp_path / "found.0.npz").exists()


def on_gloo(work, n=2, **options):
    require_engine("gloo")
    return dist.launcher(work, n_gpus=n, backend="gloo", **options)()


def test_ctrl_c_ends_a_wait(monkeypatch):
    def work():
        if dist.get_rank() == 1:
            time.sleep(5)
            return 0.0
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
        begin = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            F.all_reduce_sum(mge.Tensor([1.0])).numpy()
        return time.monotonic() - begin

    assert on_gloo(work)[0] < 4


def test_gradients_go_through_gloo():
    def work():
        rank = dist.get_rank()
        x = mge.Parameter(np.float32([1, 2]) * (rank + 1))
        manager = mge.autodiff.GradManager().attach(x, callbacks=[dist.make_allreduce_cb("sum")])
        with manager:
            manager.backward((x * x).sum())
        return x.grad.numpy().tolist()

    assert on_gloo(work) == [[6.0, 12.0]] * 2


def test_unknown_engine():
    with pytest.raises(ValueError, match="there is no engine 'carrier'.*gloo, openmpi"):
        _mge.open_engine("carrier", "127.0.0.1", 0, 2)
    with pytest.raises(RuntimeError, match="open_engine was not called"):
        _mge.join_processes([], 1, 1, [], "")


TORCHRUN = {
    "RANK": "1",
    "WORLD_SIZE": "4",
    "LOCAL_RANK": "1",
    "MASTER_ADDR": "node7",
    "MASTER_PORT": "29500",
}
SLURM = {
    "SLURM_PROCID": "5",
    "SLURM_NTASKS": "8",
    "SLURM_LOCALID": "1",
    "SLURM_JOB_ID": "77",
    "SLURM_STEP_ID": "0",
    "SLURM_STEP_NODELIST": "node[07-08,11]",
}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({}, Launch(0, 1, 0)),
        (TORCHRUN, Launch(1, 4, 1, "", "node7", 29500)),
        (
            TORCHRUN | {"TORCHELASTIC_USE_AGENT_STORE": "True"},
            Launch(1, 4, 1, "", "node7", 29501),
        ),
        (
            {
                "OMPI_COMM_WORLD_RANK": "3",
                "OMPI_COMM_WORLD_SIZE": "4",
                "OMPI_COMM_WORLD_LOCAL_RANK": "1",
                "SLURM_PROCID": "0",
                "SLURM_NTASKS": "2",
                "SLURM_STEP_ID": "0",
            },
            Launch(3, 4, 1, "openmpi"),
        ),
        ({"PMI_RANK": "0", "PMI_SIZE": "2", "MPI_LOCALRANKID": "0"}, Launch(0, 2, 0, "mpich")),
        (SLURM, Launch(5, 8, 1, "", "node07", 20077)),
        ({name: SLURM[name] for name in SLURM if name != "SLURM_STEP_ID"}, Launch(0, 1, 0)),
        (SLURM | {"SLURM_STEP_NODELIST": "a,b"}, Launch(5, 8, 1, "", "a", 20077)),
    ],
)
def test_launchers_are_read_from_the_environment(environment, expected):
    assert find_launch(environment) == expected


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        (TORCHRUN | {"RANK": "4"}, "RANK is 4 and WORLD_SIZE 4; the rank must be below"),
        (TORCHRUN | {"RANK": "one"}, "RANK is 'one'; it must be a number"),
        (
            {k: v for k, v in TORCHRUN.items() if k != "MASTER_ADDR"},
            "RANK and WORLD_SIZE are set, but not MASTER_ADDR",
        ),
        (
            {k: v for k, v in TORCHRUN.items() if k != "MASTER_PORT"},
            "MASTER_PORT is not set; it must be a number",
        ),
        (
            TORCHRUN | {"OMPI_COMM_WORLD_RANK": "2", "OMPI_COMM_WORLD_SIZE": "4"},
            "torchrun's variables say process 1 of 4, Open MPI's say process 2 of 4",
        ),
    ],
)
def test_contradicting_variables_are_refused(environment, message):
    with pytest.raises(ValueError, match=message):
        find_launch(environment)


def test_some_arguments_alone_are_refused(monkeypatch):
    monkeypatch.setattr(dist.group, "_process", None)
    with pytest.raises(TypeError, match="world_size must be an integer, got None"):
        dist.init_process_group("localhost", 0)
