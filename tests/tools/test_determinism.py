# SPDX-License-Identifier: Apache-2.0
"""Same bits from every process: with --reproducible, and from a recorded plan.

MGE_NIGHTLY=1 asks for the full counts.
"""

import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[1] / "data/megengine"
IS_NIGHTLY = os.environ.get("MGE_NIGHTLY") == "1"
RUNS = 200 if IS_NIGHTLY else 3
REBUILDS = 100 if IS_NIGHTLY else 3
MODELS = ["lenet", "attention", "lstm", "resnet"] + [
    "mlp",
    "bert",
    "gru",
    "mobilenet",
    "dense",
    "shuffle",
] * IS_NIGHTLY
# Large enough for every thread to have work.
PLANNED = ["mobilenet", "resnet", "bert"]
SHORT = ("--iter", "1", "--warmup-iter", "0")


def digest(path):
    """Names, dtypes, shapes and bits of all arrays of a .npz file."""
    result = hashlib.sha256()
    with np.load(path) as arrays:
        assert arrays.files
        for name in sorted(arrays.files):
            value = arrays[name]
            result.update(f"{name} {value.dtype} {value.shape}".encode())
            result.update(value.tobytes())
    return result.hexdigest()


def recorded_steps(plan):
    """The steps of a plan, without where its choices came from and how long they took."""
    volatile = ("source", "milliseconds")
    steps = json.loads(plan.read_text())["programs"][0]["steps"]
    return [{key: step[key] for key in step if key not in volatile} for step in steps]


@pytest.fixture
def run_model(run_tool, tmp_path):
    """run_model("lenet", *flags) → (digest of its outputs, report) of a fresh process."""

    def run(name, *flags, json=True):
        outputs = tmp_path / "outputs.npz"
        outputs.unlink(missing_ok=True)
        done = run_tool(
            *("load_and_run", FOLDER / f"{name}.v2.mge", "--input", FOLDER / f"{name}.inputs.npz"),
            *(*SHORT, "--dump-outputs", outputs, *flags),
            json=json,
        )
        assert done.code == 0, done.err
        return digest(outputs), done.report

    return run


@pytest.mark.parametrize("threads", [1, 2, 4])
@pytest.mark.parametrize("model", MODELS)
def test_reproducible_runs_are_bitwise_equal(model, threads, run_model):
    flags = ("--reproducible", "--threads", threads)
    digests = [run_model(model, *flags, json=False)[0] for _ in range(RUNS)]
    assert len(set(digests)) == 1, f"{len(set(digests))} results in {RUNS} runs"


@pytest.mark.parametrize("model", PLANNED)
def test_replayed_plan_compiles_the_same_program(model, run_model, tmp_path):
    plan = tmp_path / "plan.json"
    expected, first = run_model(
        model, "--fast-run", "--reproducible", "--save-plan", plan, "--threads", 2
    )
    recorded = recorded_steps(plan)
    chosen = [step["algorithm"] for step in first["algorithms"]]
    assert [step["algorithm"] for step in recorded] == chosen
    for _ in range(REBUILDS):
        again = tmp_path / "again.json"
        got, report = run_model(model, "--replay-plan", plan, "--save-plan", again, "--threads", 2)
        assert [step["algorithm"] for step in report["algorithms"]] == chosen
        assert got == expected
        assert recorded_steps(again) == recorded
