# SPDX-License-Identifier: Apache-2.0
"""Processes that exchange over each engine, started by each launcher."""

import os
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import megengine as mge
import megengine.distributed as dist
import megengine.distributed.functional as F
from megengine import _mge
from megengine.distributed.launch import Launch, find_launch

SCRIPT = """
import hashlib, pathlib, sys
import numpy as np
import megengine as mge
import megengine.distributed as dist
import megengine.distributed.functional as F

dist.init_process_group(backend=sys.argv[1])
n, rank = dist.get_world_size(), dist.get_rank()
x = mge.Tensor(np.random.RandomState(rank).randn(1000 * n, 3).astype("float32"))
small = mge.Tensor(np.float32([rank, 0.1]))
digest = hashlib.sha256()
for call in (
    F.all_reduce_sum, F.all_reduce_max, F.all_reduce_min, F.broadcast, F.all_gather, F.all_to_all,
    F.reduce_scatter_sum, F.scatter,
):
    digest.update(call(x).numpy().tobytes())
for call in (F.all_reduce_sum, F.broadcast, F.all_gather):
    digest.update(call(small).numpy().tobytes())
for call in (F.reduce_sum, F.gather):
    value = call(x)
    if rank == 0:
        digest.update(value.numpy().tobytes())
dist.group_barrier()
line = f"{dist.get_backend()} {rank} {n} {digest.hexdigest()}"
pathlib.Path(f"{sys.argv[0]}.{rank}").write_text(line)  # a launcher mixes what processes print
"""


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


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def run_all(script, commands, environments):
    """Runs commands side by side; gives the words that the script's processes wrote, by rank."""
    processes = [
        subprocess.Popen(command, env={**os.environ, **variables})
        for command, variables in zip(commands, environments, strict=True)
    ]
    assert [process.wait(timeout=120) for process in processes] == [0] * len(processes)
    written = sorted(script.parent.glob(f"{script.name}.*"))
    words = [path.read_text().split() for path in written]
    for path in written:
        path.unlink()
    return words


def free_port():
    server = dist.Server()
    return server.py_server_port


def started_by_variables(script, engine, n):
    port = free_port()
    environments = [
        {
            "RANK": str(rank),
            "WORLD_SIZE": str(n),
            "LOCAL_RANK": str(rank),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        for rank in range(n)
    ]
    return run_all(script, [[sys.executable, script, engine]] * n, environments)


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("engine", ["gloo", "openmpi", "mpich"])
def test_every_engine_matches_the_mesh_bitwise(script, engine, n):
    expected = started_by_variables(script, "mesh", n)
    assert len(expected) == n
    if engine == "gloo":
        require_engine(engine)
        lines = started_by_variables(script, engine, n)
    else:
        command = [*find_mpirun(engine), "-n", str(n), sys.executable, str(script), "auto"]
        lines = run_all(script, [command], [{}])
    assert [line[0] for line in lines] == [engine] * n
    assert [line[1:] for line in lines] == [line[1:] for line in expected]


def test_script_without_launcher_is_a_group_of_one(script):
    (line,) = run_all(script, [[sys.executable, script, "auto"]], [{}])
    assert line[1:3] == ["0", "1"]


@pytest.mark.parametrize("engine", ["openmpi", "mpich"])
def test_mpi_ends_all_processes_when_one_fails(tmp_path, engine):
    path = tmp_path / "train.py"
    path.write_text(
        "import megengine as mge, megengine.distributed as dist\n"
        "dist.init_process_group()\n"
        "if dist.get_rank() == 1:\n"
        "    raise RuntimeError('out of luck')\n"
        "dist.functional.all_reduce_sum(mge.Tensor([1.0])).numpy()\n"
    )
    command = [*find_mpirun(engine), "-n", "2", sys.executable, str(path)]
    begin = time.monotonic()
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and "out of luck" in done.stderr
    assert time.monotonic() - begin < 30


def on_gloo(work, n=2, **options):
    require_engine("gloo")
    return dist.launcher(work, n_gpus=n, backend="gloo", **options)()


def message_of(call):
    try:
        call()
    except RuntimeError as error:
        return str(error)
    return "no error"


def test_gloo_reports_different_exchanges():
    def work():
        x = mge.Tensor(np.zeros(3 + dist.get_rank(), "float32"))
        first = message_of(lambda: F.all_reduce_sum(x).numpy())
        return first, message_of(lambda: F.all_reduce_sum(x).numpy())

    for first, second in on_gloo(work):
        assert "is at another exchange" in first or "is gone" in first
        assert "has failed before" in second
    messages = [first for first, _ in on_gloo(work)]
    assert any("with 12 bytes" in m or "with 8 bytes" in m or "with 4 bytes" in m for m in messages)


def test_survivors_of_a_killed_process_get_an_error():
    def work():
        F.all_reduce_sum(mge.Tensor([1.0])).numpy()
        if dist.get_rank() == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        begin = time.monotonic()
        message = message_of(lambda: F.all_reduce_sum(mge.Tensor([1.0])).numpy())
        assert "is gone" in message or "another exchange" in message, message
        assert time.monotonic() - begin < 10
        return message

    with pytest.raises(AssertionError, match="subprocess 2 exit with code -9"):
        on_gloo(work, 3)


def test_a_silent_process_is_named(monkeypatch):
    monkeypatch.setenv("MGE_DISTRIBUTED_TIMEOUT", "1.5")

    def work():
        if dist.get_rank() == 1:
            time.sleep(4)
            return ""
        return message_of(lambda: F.all_reduce_sum(mge.Tensor([1.0])).numpy())

    first, _ = on_gloo(work)
    assert "no answer from process 1 for 1.5 s (MGE_DISTRIBUTED_TIMEOUT)" in first


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
        _mge.join_processes([], 1, 1)


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
        (TORCHRUN | {"RANK": "4"}, "RANK is 4 and WORLD_SIZE 4; the rank has to be below"),
        (TORCHRUN | {"RANK": "one"}, "RANK is 'one'; it has to be a number"),
        (
            {k: v for k, v in TORCHRUN.items() if k != "MASTER_ADDR"},
            "RANK and WORLD_SIZE are set, but not MASTER_ADDR",
        ),
        (
            {k: v for k, v in TORCHRUN.items() if k != "MASTER_PORT"},
            "MASTER_PORT is not set; it has to be a number",
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
    with pytest.raises(TypeError, match="world_size is a whole number, got None"):
        dist.init_process_group("localhost", 0)
