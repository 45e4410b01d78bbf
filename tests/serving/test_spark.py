# SPDX-License-Identifier: Apache-2.0
"""The pandas UDF for Spark: each row exactly once, also with a worker that is killed."""

import os
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from server_processes import ROOT, direct, dump_rows, environment

SPARK_PYTHON = Path(os.environ.get("MGE_SPARK_PYTHON", ROOT / "build/spark-venv/bin/python"))
EXAMPLE = ROOT / "examples/serving/spark_batches.py"
JOBS = Path(__file__).with_name("spark_jobs.py")


@pytest.mark.parametrize("master", ["local[2,4]", "local-cluster[2,1,1024]"])
def test_each_row_of_a_table_has_one_output(tmp_path, master):
    if not SPARK_PYTHON.exists() or shutil.which("java") is None:
        pytest.skip(f"Spark is not installed: no {SPARK_PYTHON}, or no java")
    model = tmp_path / "rows.mge"
    dump_rows(model)
    settings = {
        "spark.sql.execution.arrow.maxRecordsPerBatch": 10,
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.ui.enabled": "false",
    }
    command = [SPARK_PYTHON.with_name("spark-submit"), "--master", master]
    for setting in settings.items():
        command += ["--conf", "{}={}".format(*setting)]
    done = subprocess.run(
        list(map(str, [*command, JOBS, EXAMPLE, model, tmp_path])),
        capture_output=True,
        text=True,
        timeout=300,
        cwd=tmp_path,
        env=environment() | {"PYSPARK_PYTHON": str(SPARK_PYTHON), "SPARK_LOCAL_IP": "127.0.0.1"},
    )
    assert done.returncode == 0, (done.stdout + done.stderr)[-4000:]
    found = np.load(tmp_path / "scores.npz")
    order = np.argsort(found["id"])
    assert found["id"][order].tolist() == list(range(240))
    features = found["features"][order].astype("float32")
    expected = np.random.RandomState(1).rand(240, 8).astype("float32")
    assert features.tobytes() == expected.tobytes()
    scores = direct(model, {"x": features})[1]["y"]
    assert np.allclose(found["scores"][order], scores, rtol=1e-5, atol=1e-7)
