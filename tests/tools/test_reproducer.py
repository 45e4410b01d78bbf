# SPDX-License-Identifier: Apache-2.0
"""load_and_run --first-diff --write-reproducer: the smallest part of a model that differs."""

import numpy as np
import pytest

OK, USAGE, ACCURACY = 0, 2, 7
SHAPE = (2, 3, 12, 12)


def convolutions(scale):
    """Three convolutions; `scale` changes the weights of the second one."""
    import megengine as mge
    import megengine.functional as F

    random = np.random.RandomState(3)

    def weights(*shape):
        return mge.Tensor(random.standard_normal(shape).astype("float32") / 10)

    a, b, c = weights(8, 3, 3, 3), weights(8, 8, 3, 3) * scale, weights(4, 8, 3, 3)

    def net(x):
        for w in (a, b, c):
            x = F.relu(F.conv2d(x, w, padding=1))
        return F.mean(x, axis=(2, 3))

    return net


@pytest.fixture(scope="module")
def models(write_model):
    x = {"x": np.ones(SHAPE, "float32")}
    return [write_model(f"scale{s}", convolutions(s), x, "y") for s in (1.0, 1.2)]


@pytest.fixture
def reproduce(run_tool, tmp_path):
    def run(model, *reference):
        flags = ("--seed", 5, "--first-diff", "--write-reproducer", tmp_path / "small.mge")
        return run_tool("load_and_run", model, *flags, *reference), tmp_path / "small.mge"

    return run


def test_one_operator_against_another_model(run_tool, reproduce, models):
    ran, small = reproduce(models[0], "--compare", models[1])
    assert ran.code == ACCURACY, ran.err
    written = ran.result["reproducer"]
    assert written["path"] == str(small) and written["shows_difference"]
    assert any("conv2d" in op for op in written["operators"]) and len(written["operators"]) <= 2
    assert f"load_and_run '{small}' shows the difference" in ran.out
    summary = run_tool("mge-dump", "info", small).result["summary"]
    assert summary["operators"] == len(written["operators"])
    again = run_tool("load_and_run", small, "--iter=1")
    assert again.code == ACCURACY, again.err
    (test,) = again.result["testcases"]
    assert test["name"] == "difference" and not test["passed"]


def test_against_values_of_a_file(run_tool, reproduce, models, tmp_path):
    dump = tmp_path / "all.npz"
    assert run_tool("load_and_run", models[0], "--seed", 5, "--io-dump", dump).code == OK
    values = dict(np.load(dump))
    inner = [n for n, v in values.items() if v.shape == (2, 8, 12, 12)]
    values[inner[-1]] = values[inner[-1]] + 1
    np.savez(tmp_path / "wrong.npz", **values)
    ran, small = reproduce(models[0], "--compare", tmp_path / "wrong.npz")
    assert ran.code == ACCURACY, ran.err
    assert ran.result["reproducer"]["shows_difference"]
    again = run_tool("load_and_run", small, "--iter=1")
    assert again.code == ACCURACY, again.err


def test_nothing_is_written_without_a_difference(reproduce, models):
    ran, small = reproduce(models[0], "--compare-with", "reference")
    assert ran.code == OK, ran.err
    assert not small.exists() and "reproducer" not in ran.result


def test_needs_first_diff(run_tool, models, tmp_path):
    flags = ("--compare-with", "reference", "--write-reproducer", tmp_path / "small.mge")
    ran = run_tool("load_and_run", models[0], *flags, json=False)
    assert ran.code == USAGE and "[--write-reproducer] needs --first-diff" in ran.err


def test_an_operator_that_a_pass_made(run_tool, reproduce, models, tmp_path):
    """A model that was rounded ahead of time has conversions besides its operators."""
    rounded = tmp_path / "rounded.mge"
    flags = ("--passes", "store_as_bf16")
    assert run_tool("mge-dump", "optimize", models[0], rounded, *flags).code == OK
    ran, small = reproduce(rounded, "--compare", models[0], "--rtol", 1e-6)
    assert ran.code == ACCURACY, ran.err
    written = ran.result["reproducer"]
    # Conversions alone agree in bf16, so the part is larger than the first operator.
    assert written["shows_difference"]
    # Without --rtol the tolerance is that of test cases, which is larger.
    assert run_tool("load_and_run", small, "--iter=1").code == OK
