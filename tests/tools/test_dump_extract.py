# SPDX-License-Identifier: Apache-2.0
"""mge-dump extract: a part of a model as a model of its own."""

import numpy as np
import pytest

TOOL = "mge-dump"


def values_of(run_tool, model):
    """Names of the operators' results."""
    return [row["name"] for row in run_tool(TOOL, "info", model).result["operators"]]


@pytest.fixture(scope="module")
def chain(write_model):
    """y = exp(relu(x @ w) + 1), from x of shape (2, 3)."""
    import megengine as mge
    import megengine.functional as F

    w = mge.Tensor(np.arange(12, dtype="float32").reshape(3, 4) / 10 - 0.5)

    def net(x):
        return F.exp(F.relu(F.matmul(x, w)) + 1)

    return write_model("chain", net, {"x": np.ones((2, 3), "float32")}, "y")


def test_both_halves_compute_the_whole(run_tool, outputs_of, chain, tmp_path):
    (middle,) = [name for name in values_of(run_tool, chain) if name.startswith("relu")]
    first, second = tmp_path / "first.mge", tmp_path / "second.mge"
    ran = run_tool(TOOL, "extract", chain, first, "--to", middle)
    assert ran.code == 0, ran.err
    assert ran.result["from"] == ["x"] and ran.result["to"] == [middle]
    ran = run_tool(TOOL, "extract", chain, second, "--from", middle)
    assert ran.code == 0, ran.err
    assert ran.result["from"] == [middle] and ran.result["to"] == ["y"]
    whole = ran.result["operators_of_whole"]
    parts = [
        run_tool(TOOL, "info", part).result["summary"]["operators"] for part in (first, second)
    ]
    assert sum(parts) == whole and all(parts)
    x = np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3)
    (between,) = outputs_of(first, x)
    np.testing.assert_allclose(outputs_of(second, between), outputs_of(chain, x), rtol=1e-6)


def test_test_cases_hold_the_values_at_the_cut(run_tool, chain, tmp_path):
    full, part = tmp_path / "full.mge", tmp_path / "part.mge"
    (middle,) = [name for name in values_of(run_tool, chain) if name.startswith("relu")]
    assert run_tool(TOOL, "testcase", chain, full, "--data", "#rand(-1,1)").code == 0
    ran = run_tool(TOOL, "extract", full, part, "--from", middle)
    assert ran.code == 0 and ran.result["output"]["test_cases"] == 1
    ran = run_tool("load_and_run", part, "--iter=1")
    assert ran.code == 0, ran.err
    (test,) = ran.result["testcases"]
    assert test["compared"] and test["passed"]
    ran = run_tool(TOOL, "extract", full, part, "--from", middle, "--no-testcases")
    assert ran.result["output"]["test_cases"] == 0


def test_without_values_it_is_the_whole_model(run_tool, outputs_of, two_inputs, tmp_path):
    out = tmp_path / "out.mge"
    assert run_tool(TOOL, "extract", two_inputs, out).code == 0
    a, b = np.ones((2, 3), "float32"), np.arange(3, dtype="float32")
    np.testing.assert_array_equal(outputs_of(out, a, b), outputs_of(two_inputs, a, b))


def test_misuse(run_tool, chain, two_inputs, tmp_path):
    def message(model, *flags):
        ran = run_tool(TOOL, "extract", model, tmp_path / "out.mge", *flags, json=False)
        assert ran.code == 2 and len(ran.err.splitlines()) == 1, ran.err
        assert not (tmp_path / "out.mge").exists()
        return ran.err

    assert "[--from] the model has no value 'q'" in message(chain, "--from", "q")
    assert "[--to] the model has no value 'rel'; there are relu#1; " in message(
        chain, "--to", "rel"
    )
    assert "'x' is given twice" in message(chain, "--from", "x", "--from", "x")
    assert "no operator between" in message(chain, "--from", "y")
    (constant,) = run_tool(TOOL, "weights", chain, tmp_path / "w.npz").result["weights"][:1]
    assert "is a constant" in message(chain, "--from", constant["name"])
    (product,) = [v for v in values_of(run_tool, two_inputs) if v not in ("a", "b", "c")][:1]
    ignored = message(two_inputs, "--from", product, "--from", "a")
    assert "'a' is not needed" in ignored


def test_a_shape_of_run_time_is_refused(run_tool, write_model, tmp_path):
    import megengine.functional as F

    def net(x):
        _, index = F.cond_take(x > 0, x)
        return index + 1

    model = write_model("nonzero", net, {"x": np.ones(4, "float32")}, "y")
    index = next(v for v in values_of(run_tool, model) if v.startswith("cond_take")) + ":o1"
    ran = run_tool(TOOL, "extract", model, tmp_path / "o.mge", "--from", index, json=False)
    assert ran.code == 2 and "its shape is known only at run time" in ran.err, ran.err
