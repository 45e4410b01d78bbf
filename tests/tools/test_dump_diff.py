# SPDX-License-Identifier: Apache-2.0
"""mge-dump diff: the structure and the weights of two models."""

import numpy as np
import pytest

TOOL = "mge-dump"


@pytest.fixture(scope="module")
def nets(write_model):
    import megengine as mge
    import megengine.functional as F

    w = mge.Tensor(np.arange(12, dtype="float32").reshape(3, 4))

    def net(scale=1, extra=False, axis=1):
        def run(x):
            x = F.relu(F.matmul(x, w * scale if scale == 1 else mge.Tensor(w.numpy() * scale)))
            x = F.exp(x) if extra else x
            return F.softmax(x, axis=axis)

        return run

    inputs = {"x": np.ones((2, 3), "float32")}
    return {
        "plain": write_model("plain", net(2), inputs, "y"),
        "same": write_model("same", net(2), inputs, "y"),
        "weights": write_model("weights", net(3), inputs, "y"),
        "extra": write_model("extra", net(2, extra=True), inputs, "y"),
        "axis": write_model("axis", net(2, axis=0), inputs, "y"),
        "batch": write_model("batch", net(2), {"x": np.ones((5, 3), "float32")}, "y"),
    }


def diff(run_tool, nets, other, *flags, code=0):
    ran = run_tool(TOOL, "diff", nets["plain"], nets[other], *flags)
    assert ran.code == code, ran.err
    return ran


def test_equal_models(run_tool, nets):
    result = diff(run_tool, nets, "same", "--require-same").result
    assert result["same"] and result["changes"] == [] and result["equal_weights"] == 1


@pytest.mark.parametrize(
    ("other", "what"),
    [
        ("weights", {"weight"}),
        ("extra", {"operator"}),
        ("axis", {"parameters"}),
        ("batch", {"input", "output", "result"}),
    ],
)
def test_changes_are_named(run_tool, nets, other, what):
    ran = diff(run_tool, nets, other)
    changes = ran.result["changes"]
    assert {c["what"] for c in changes} == what and not ran.result["same"]
    assert f"{len(changes)} difference" in ran.out
    if other == "extra":
        (change,) = changes
        assert change["first"] is None and change["second"] == "exp"
    if other == "axis":
        assert "axis=1" in changes[0]["first"] and "axis=0" in changes[0]["second"]


def test_require_same(run_tool, nets):
    ran = diff(run_tool, nets, "weights", "--require-same", code=7)
    assert ran.report["error"]["kind"] == "accuracy" and ran.result["changes"]


def test_an_optimised_model_and_its_original(run_tool, nets, tmp_path):
    out = tmp_path / "out.mge"
    assert run_tool(TOOL, "optimize", nets["plain"], out).code == 0
    ran = run_tool(TOOL, "diff", nets["plain"], out)
    assert ran.code == 0 and ran.result["operators_in_both"] >= 1
    assert not {c["what"] for c in ran.result["changes"]} & {"input", "output"}


def test_misuse(run_tool, nets, tmp_path):
    ran = run_tool(TOOL, "diff", nets["plain"], json=False)
    assert ran.code == 2 and "second is missing" in ran.err
    ran = run_tool(TOOL, "diff", nets["plain"], tmp_path / "none", json=False)
    assert ran.code == 2 and "none" in ran.err
