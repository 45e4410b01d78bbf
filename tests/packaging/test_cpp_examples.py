# SPDX-License-Identifier: Apache-2.0
"""examples/cpp is built against an installed tree; its training has the numbers that Python has."""

import os
import re
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"

# The training of examples/cpp/train_net.cpp.
SAME_IN_PYTHON = """
import numpy as np
import megengine as mge, megengine.functional as F
from megengine.autodiff import GradManager
from megengine.optimizer import Adam

k = (np.arange(8) + 0.5) * 2 / 8 - 1
x = np.stack(np.meshgrid(k, k, indexing="ij"), -1).reshape(-1, 2).astype(np.float32)
labels = mge.Tensor((x[:, 0] * x[:, 1] > 0).astype(np.int32))

def start(shape, scale):
    i = np.arange(1, np.prod(shape) + 1)
    return mge.Parameter((scale * np.sin(12.9898 * i)).astype(np.float32).reshape(shape))

shapes = [((2, 16), 1), ((16,), 0.1), ((16, 2), 0.5), ((2,), 0)]
w, b, v, c = parameters = [start(*shape) for shape in shapes]
adam, manager = Adam(parameters, lr=0.05), GradManager().attach(parameters)
for step in range(120):
    with manager:
        scores = F.tanh(mge.Tensor(x) @ w + b) @ v + c
        loss = F.nn.cross_entropy(scores, labels)
        manager.backward(loss)
    adam.step().clear_grad()
    if step % 20 == 0:
        print(f"step {step} loss {loss.item():.6f}")
"""


@pytest.fixture(scope="module")
def programs(build_project):
    return build_project(EXAMPLES / "cpp")


def losses_of(text):
    return [float(value) for value in re.findall(r"^step \d+ loss (\S+)$", text, re.MULTILINE)]


def test_train_net(programs, prefix, build_dir, run, tmp_path):
    printed = run(programs / "train_net", tmp_path)
    losses = losses_of(printed)
    assert len(losses) == 6
    assert losses[-1] < 0.05 * losses[0]
    assert "accuracy 1.0000" in printed

    environment = {**os.environ, "PYTHONPATH": str(build_dir / "python")}
    expected = losses_of(run(sys.executable, "-c", SAME_IN_PYTHON, env=environment))
    # Rounding differs between a sum over a class and a choice of it, and grows over the steps.
    assert losses == pytest.approx(expected, rel=2e-3)

    run(prefix / "bin/load_and_run", tmp_path / "net.mge", "--iter", "2")
    assert "output" in run(programs / "run_model", tmp_path / "net.mge")


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


def test_run_model_reports_errors(programs, run, tmp_path):
    (tmp_path / "text.mge").write_text("no model")
    command = '"$@" 2>&1; code=$?; echo; echo exit $code'
    printed = run("bash", "-c", command, "-", programs / "run_model", tmp_path / "text.mge")
    assert printed.split()[-1] == "5"
    assert f"{tmp_path}/text.mge" in printed
