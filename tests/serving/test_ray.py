# SPDX-License-Identifier: Apache-2.0
"""Models in Ray: each row exactly once, also with a worker that is killed."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from server_processes import direct, environment

JOBS = Path(__file__).with_name("ray_jobs.py")


@pytest.fixture
def run_job(ray_python, ray_variables, tmp_path):
    def run(kind, model):
        done = subprocess.run(
            [ray_python, JOBS, kind, model, tmp_path],
            capture_output=True,
            text=True,
            timeout=300,
            env=environment() | ray_variables,
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]

    return run


def expected_scores(model, count):
    rows = [np.random.RandomState(i).rand(3, 16, 16) for i in range(count)]
    return direct(model, {"data": np.stack(rows).astype("float32")})[1]["score"]


def test_each_row_of_a_data_set_has_one_output(models, run_job, tmp_path):
    run_job("batches", models["classifier"])
    found = np.load(tmp_path / "scores.npz")
    order = np.argsort(found["id"])
    assert found["id"][order].tolist() == list(range(240))
    expected = expected_scores(models["classifier"], 240)
    assert np.allclose(found["score"][order], expected, rtol=1e-5, atol=1e-7)


def test_replicas_of_ray_serve_answer_while_one_dies(models, run_job, tmp_path):
    run_job("serve", models["classifier"])
    found = json.loads((tmp_path / "answers.json").read_text())
    expected = expected_scores(models["classifier"], 60)
    assert np.allclose(found, expected, rtol=1e-5, atol=1e-7)
