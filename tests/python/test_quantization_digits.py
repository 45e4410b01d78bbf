# SPDX-License-Identifier: Apache-2.0
"""The example of quantisation from the first epoch to load_and_run."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
BUILD = Path(os.environ.get("MGE_BUILD_DIR", ROOT / "build/release"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    out = tmp_path_factory.mktemp("quantisation")
    script = ROOT / "examples/quantisation/digits.py"
    subprocess.run([sys.executable, script, "--out", out, "--epochs", "6"], check=True)
    return out


def run(folder, name):
    out = folder / f"{name}.npz"
    tool = BUILD / "bin/load_and_run"
    images = f"image:{folder / 'images.npy'}"
    subprocess.run(
        [tool, folder / f"{name}.mge", "--input", images, "--dump-outputs", out]
        + ["--iter", "1", "--warmup-iter", "0"],
        check=True,
        capture_output=True,
    )
    return np.load(out)["score"]


def test_the_dumped_net_is_the_one_in_python(folder):
    scores = run(folder, "int8")
    np.testing.assert_allclose(scores, np.load(folder / "predictions.npy"), rtol=1e-5, atol=1e-5)


def test_integers_cost_at_most_a_hundredth_of_accuracy(folder):
    labels = np.load(folder / "labels.npy")
    in_floats, in_integers = (
        (run(folder, name).argmax(axis=1) == labels).mean() for name in ("float", "int8")
    )
    assert in_floats > 0.95
    assert in_integers >= in_floats - 0.01


def test_weights_are_stored_in_bytes(folder):
    sizes = {name: (folder / f"{name}.mge").stat().st_size for name in ("float", "int8")}
    # The net is small: a third of what remains is its graph.
    assert sizes["int8"] < 0.5 * sizes["float"]
