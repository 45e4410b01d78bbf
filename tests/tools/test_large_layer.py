# SPDX-License-Identifier: Apache-2.0
"""A layer that is most of a network is in memory once, also while it is packed and measured."""

import os

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.jit import trace

COLUMNS, ROWS = 8192, 4100  # 128 MiB, its last rows no whole block


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    # 1/64 of whole numbers: sums are exact, whichever algorithm is taken.
    weight = np.arange(ROWS * COLUMNS, dtype="float32").reshape(ROWS, COLUMNS) % 13 / 64
    constant = mge.Tensor(weight)
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: F.linear(x, constant))
    x = np.arange(64 * COLUMNS, dtype="float32").reshape(64, COLUMNS) % 7 / 64
    traced(mge.Tensor(x))
    folder = tmp_path_factory.mktemp("models")
    traced.dump(str(folder / "wide.mge"), arg_names=["x"], output_names=["y"])
    np.save(folder / "x.npy", x)
    return folder / "wide.mge", folder / "x.npy", x @ weight.T


@pytest.mark.parametrize("flags", [[], ["--fast-run", "--fast-run-algo-policy", "cache"]])
def test_one_copy_is_enough(run_tool, model, tmp_path, flags):
    path, x, expected = model
    outputs = tmp_path / "y.npz"
    given = [tmp_path / "cache.sqlite" if flag == "cache" else flag for flag in flags]
    run = ("--input", f"x:{x}", "--iter", 1, "--dump-outputs", outputs)
    ran = run_tool("load_and_run", path, *run, *given)
    assert ran.code == 0, ran.err
    np.testing.assert_allclose(np.load(outputs)["y"], expected, rtol=1e-6)
    memory = ran.result["memory_bytes"]
    held = ("weights", "made_weights", "packed_weights", "plan", "inputs_outputs")
    steady = sum(memory[name] for name in held)
    assert steady >= ROWS * COLUMNS * 4
    # Beside it the program itself, and one piece of the file. A sanitizer keeps what is freed.
    if "MGE_SANITIZED" not in os.environ:
        assert memory["process_peak"] <= 1.15 * steady + (48 << 20)
