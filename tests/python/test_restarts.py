# SPDX-License-Identifier: Apache-2.0
"""Processes that a launcher starts again after a failure."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import megengine as mge
import megengine.distributed as dist
import megengine.module as M
import megengine.optimizer as optim
from megengine.autodiff import GradManager
from megengine.distributed import checkpoint

pytestmark = pytest.mark.usefixtures("no_process_group")


def launched(work, count=2, **options):
    return dist.launcher(work, n_gpus=count, device_type="cpu", **options)


def test_all_processes_start_again_when_one_fails():
    def work():
        restarts = dist.get_restart_count()
        total = dist.functional.all_reduce_sum(mge.Tensor(1.0)).numpy()
        if dist.get_rank() == 1 and restarts == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if dist.get_rank() == 0 and restarts == 1:
            raise ValueError("out of luck")
        dist.group_barrier()
        return restarts, float(total)

    assert launched(work, max_restarts=2)() == [(2, 2.0)] * 2
    with pytest.raises(AssertionError, match="exit with code"):
        launched(work, max_restarts=1)()
    assert dist.get_restart_count() == 0


def test_one_process_starts_again_too():
    def work():
        if dist.get_restart_count() == 0:
            os._exit(3)
        return dist.get_world_size()

    assert launched(work, 1, max_restarts=1)() == [1]


def test_wrong_numbers_are_refused():
    with pytest.raises(ValueError, match="max_restarts must be at least 0, .* got -1"):
        launched(print, max_restarts=-1)
    with pytest.raises(ValueError, match="0 for processes on several machines, got 2"):
        launched(print, world_size=4, max_restarts=2)


def train(folder, steps, dies_at=()):
    """Trains, and kills a process at steps, the k-th of them after k restarts."""
    mge.random.seed(3 + dist.get_rank())
    net = M.Sequential(M.Linear(8, 16), M.Dropout(0.2), M.Linear(16, 1))
    dist.bcast_list_(net.tensors())
    optimizer = dist.ShardedOptimizer(optim.Adam, net.parameters(), lr=0.01)
    manager = GradManager().attach(net.parameters(), callbacks=[dist.make_allreduce_cb("mean")])
    found = checkpoint.load(folder, net, optimizer) if folder else None
    for step in range(0 if found is None else found["step"], steps):
        random = np.random.default_rng([step, dist.get_rank()])
        x = mge.Tensor(random.standard_normal((4, 8)).astype(np.float32))
        with manager:
            manager.backward((net(x) ** 2).mean())
        if dies_at[dist.get_restart_count() :][:1] == (step,) and dist.get_rank() == step % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        optimizer.step().clear_grad()
        if folder and step % 3 == 2:
            checkpoint.save(folder, step + 1, net, optimizer)
    return [p.numpy() for p in net.parameters()]


def test_training_with_failures_gives_the_bits_of_training_without(tmp_path):
    expected = launched(train)(None, 12)
    deaths = (1, 4, 5, 11)
    found = launched(train, max_restarts=len(deaths))(tmp_path / "run", 12, deaths)
    for mine, wanted in zip(found, expected, strict=True):
        for a, b in zip(mine, wanted, strict=True):
            np.testing.assert_array_equal(a, b)


def resources():
    """Descriptors, threads and resident kilobytes of this process."""
    status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
    size = int(status["VmRSS"].split()[0])
    return len(os.listdir("/proc/self/fd")), len(os.listdir("/proc/self/task")), size


@pytest.mark.skipif("MGE_SANITIZED" in os.environ, reason="the sanitizer keeps freed memory")
def test_many_failures_leave_nothing_behind():
    failures = 100 if os.environ.get("MGE_NIGHTLY") else 20

    def fail():
        if dist.get_rank() == dist.get_restart_count() % 2:
            os.kill(os.getpid(), signal.SIGKILL)
        dist.functional.all_reduce_sum(mge.Tensor(np.ones(1000, np.float32))).numpy()

    with pytest.raises(AssertionError, match="exit with code"):
        launched(fail, max_restarts=9)()
    before = resources()
    with pytest.raises(AssertionError, match="exit with code"):
        launched(fail, max_restarts=failures - 1)()
    end = time.monotonic() + 60
    while (after := resources())[1] > before[1] and time.monotonic() < end:
        time.sleep(0.01)  # Python's join returns shortly before the system has ended the thread
    # There may be fewer: threads of earlier tests end meanwhile.
    assert after[0] <= before[0] and after[1] <= before[1], (before, after)
    assert after[2] <= before[2] + 2000, (before, after)


SCRIPT = """
import os, signal, sys, time
import megengine as mge
import megengine.distributed as dist

dist.init_process_group()
rank, restarts = dist.get_rank(), dist.get_restart_count()
if sys.argv[1] == "hang":
    open(f"{sys.argv[2]}.{rank}", "w").write(str(os.getpid()))
    time.sleep(1000)
if rank == 1 and restarts < int(sys.argv[1]):
    os._exit(7)
total = dist.functional.all_reduce_sum(mge.Tensor(rank + 1.0))
sys.stdout.write(f"total {float(total)} restarts {restarts}\\n")
"""


def launch(*arguments):
    return [sys.executable, "-m", "megengine.distributed.launch", *map(str, arguments)]


def run(*arguments):
    return subprocess.run(
        launch(*arguments), capture_output=True, text=True, timeout=120, check=False
    )


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "train.py"
    path.write_text(SCRIPT)
    return path


def test_the_command_starts_a_script_again(script):
    done = run("-n", 2, "--max-restarts", 2, script, 2)
    assert done.returncode == 0, done.stderr
    assert sorted(done.stdout.splitlines()) == ["total 3.0 restarts 2"] * 2
    lines = [line for line in done.stderr.splitlines() if line.startswith("[launch]")]
    assert lines == [
        "[launch] process 1 ended with exit code 7; restart 1 of 2",
        "[launch] process 1 ended with exit code 7; restart 2 of 2",
    ]
    assert "RuntimeWarning" not in done.stderr


def test_the_command_fails_as_the_last_attempt(script):
    done = run("-n", 2, "--max-restarts", 1, script, 5)
    assert done.returncode == 7
    assert "[launch] process 1 ended with exit code 7\n" in done.stderr
    for arguments, text in (
        (("-n", 0, script), "--processes must be at least 1, got 0"),
        (("--max-restarts", -1, script), "--max-restarts must be at least 0, got -1"),
    ):
        done = run(*arguments)
        assert done.returncode == 2 and text in done.stderr


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_processes_end_with_the_command(script, tmp_path, number):
    marks = [tmp_path / f"pid.{rank}" for rank in range(2)]
    process = subprocess.Popen(launch("-n", 2, script, "hang", tmp_path / "pid"))
    end = time.monotonic() + 60
    while not all(mark.exists() and mark.read_text() for mark in marks):
        assert time.monotonic() < end and process.poll() is None
        time.sleep(0.05)
    pids = [int(mark.read_text()) for mark in marks]
    process.send_signal(number)
    assert process.wait(timeout=30) == (143 if number == signal.SIGTERM else -number)
    while any(map(is_alive, pids)):
        assert time.monotonic() < end
        time.sleep(0.05)
