# SPDX-License-Identifier: Apache-2.0
"""One unchanged script under the launchers of clusters gives the bits of one process.

test_distributed_engines.py has mpirun.
"""

import os
import shutil
import subprocess
import sys
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


def test_torchrun(tmp_path):
    torchrun = shutil.which("torchrun") or shutil.which("torchrun", path=ROOT / "build/peers/bin")
    if torchrun is None:
        pytest.skip("PyTorch is not installed")
    command = (torchrun, "--nproc-per-node", 2, "--no-python", sys.executable)
    run(*command, SCRIPT, "auto", tmp_path / "found")
    all_collectives.require_expected(tmp_path / "found", 2)


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
