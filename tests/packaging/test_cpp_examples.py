# SPDX-License-Identifier: Apache-2.0
"""examples/cpp is built against an installed tree."""

import os
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

@pytest.fixture(scope="module")
def programs(build_project):
    return build_project(EXAMPLES / "cpp")


def test_run_model(programs, build_dir, run, tmp_path):
    model = tmp_path / "sum.mge"
    program = f"""
import numpy as np, megengine as mge
from megengine.jit import trace

@trace(symbolic=True, capture_as_const=True)
def total(x):
    return x.sum(axis=1) * 2

total(mge.Tensor(np.ones((3, 4), np.float32)))
total.dump({str(model)!r}, arg_names=["x"], output_names=["y"])
"""
    run(sys.executable, "-c", program, env={**os.environ, "PYTHONPATH": str(build_dir / "python")})
    assert run(programs / "run_model", model).splitlines() == [
        "input x (3, 4)",
        "output y (3,): 8 8 8",
    ]
    assert run(programs / "run_model", model, "5").splitlines() == [
        "input x (5, 4)",
        "output y (5,): 8 8 8 8 8",
    ]


def test_run_model_tells_what_is_wrong(programs, run, tmp_path):
    (tmp_path / "text.mge").write_text("no model")
    code = "code=$?; echo; echo exit $code"
    printed = run("bash", "-c", f"{programs}/run_model {tmp_path}/text.mge 2>&1; {code}")
    assert printed.split()[-1] == "5"
    assert f"{tmp_path}/text.mge" in printed
