# SPDX-License-Identifier: Apache-2.0
"""One unchanged script under the launchers of clusters gives the bits of one process.

test_distributed_engines.py has mpirun.
"""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import all_collectives
import numpy as np
import pytest
from process_groups import require_engine
from slurm_cluster import running_slurm

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("all_collectives.py")
RAY_JOBS = Path(__file__).with_name("ray_training.py")


@pytest.fixture(autouse=True)
def gloo():
    require_engine("gloo")


def run(*command, **options):
    done = subprocess.run(
        [*map(str, command)], capture_output=True, text=True, timeout=300, **options
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    return done.stdout


def test_our_command(tmp_path):
    command = (sys.executable, "-m", "megengine.distributed.launch", "-n", 3)
    run(*command, SCRIPT, "auto", tmp_path / "found")
    all_collectives.require_expected(tmp_path / "found", 3)


@pytest.fixture
def torchrun():
    found = shutil.which("torchrun") or shutil.which("torchrun", path=ROOT / "build/peers/bin")
    if found is None:
        pytest.skip("PyTorch is not installed")
    return [found, "--nproc-per-node", 2, "--no-python"]


def test_torchrun(torchrun, tmp_path):
    run(*torchrun, sys.executable, SCRIPT, "auto", tmp_path / "found")
    all_collectives.require_expected(tmp_path / "found", 2)


# Process 1 fails until there were so many restarts.
FAILING = """
import os, sys
import megengine as mge
import megengine.distributed as dist

dist.init_process_group()
if dist.get_rank() == 1 and dist.get_restart_count() < int(sys.argv[1]):
    os._exit(7)
total = dist.functional.all_reduce_sum(mge.Tensor(dist.get_rank() + 1.0))
line = f"total {float(total)} restarts {dist.get_restart_count()}\\n"
sys.stdout.write(line)
"""


def test_torchrun_starts_processes_again(torchrun, tmp_path):
    (tmp_path / "failing.py").write_text(FAILING)
    command = (*torchrun, "--max-restarts", 2, sys.executable, tmp_path / "failing.py", 2)
    assert sorted(run(*command).splitlines()) == ["total 3.0 restarts 2"] * 2


@pytest.mark.skipif("MGE_NIGHTLY" not in os.environ, reason="Slurm waits two minutes: nightly")
def test_slurm_starts_a_job_again(tmp_path):
    (tmp_path / "failing.py").write_text(FAILING)
    (tmp_path / "job.sh").write_text(
        "#!/bin/sh\n"
        f"srun -n 2 --output {tmp_path}/found '{sys.executable}' {tmp_path}/failing.py 1 ||"
        " scontrol requeue $SLURM_JOB_ID\n"
    )
    with running_slurm() as environment:
        variables = os.environ | environment
        command = ("sbatch", "-n", 2, "--requeue", f"--output={tmp_path}/log", "--parsable")
        run(*command, tmp_path / "job.sh", env=variables)
        found, end = tmp_path / "found", time.monotonic() + 400
        while not found.exists() or found.read_text().count("total") < 2:
            assert time.monotonic() < end, (tmp_path / "log").read_text()
            time.sleep(0.2)
    lines = [line for line in found.read_text().splitlines() if "total" in line]
    assert lines == ["total 3.0 restarts 1"] * 2


def test_srun(tmp_path):
    with running_slurm() as environment:
        command = ("srun", "-n", 2, sys.executable)
        run(*command, SCRIPT, "auto", tmp_path / "found", env=os.environ | environment)
    all_collectives.require_expected(tmp_path / "found", 2)


@pytest.fixture
def run_ray(ray_python, ray_variables):
    package = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release")) / "python"
    path = {"PYTHONPATH": f"{package}:{RAY_JOBS.parent}"}

    def run_job(*arguments):
        run(ray_python, RAY_JOBS, *arguments, env=os.environ | ray_variables | path)

    return run_job


def test_ray_train(run_ray, tmp_path):
    run_ray("collectives", tmp_path / "found")
    all_collectives.require_expected(tmp_path / "found", 2)


def test_ray_train_starts_workers_again(run_ray, tmp_path):
    """A worker is killed twice; the run ends with the bits of one without failures."""
    run_ray("restarts", tmp_path)
    for rank in range(2):
        with np.load(tmp_path / f"whole.{rank}.npz") as expected:
            found = np.load(tmp_path / f"killed.{rank}.npz")
            assert int(found["restarts"]) == 2 and int(expected["restarts"]) == 0
            for name in ("weight", "bias"):
                assert found[name].tobytes() == expected[name].tobytes()
