# SPDX-License-Identifier: Apache-2.0
"""mge-dump info."""

import re

import numpy as np
import pytest

TOOL = "mge-dump"


def test_info(run_tool, image_model):
    ran = run_tool(TOOL, "info", image_model)
    assert ran.code == 0
    summary = ran.result["summary"]
    assert summary["parameters"] == sum(w["elements"] for w in ran.result["weights"])
    assert ran.result["bytes"] == image_model.stat().st_size
    assert [p["name"] for p in ran.result["inputs"]] == ["data"]
    assert ran.result["inputs"][0]["shape"] == [1, 3, 8, 6]
    assert "data" in ran.out and "prob" in ran.out


def test_flops_of_a_convolution(run_tool, image_model):
    operators = run_tool(TOOL, "info", image_model).result["operators"]
    (conv,) = (o for o in operators if "conv" in o["op"])
    # 2 for multiplication and addition, per output element and element of its window; the bias.
    assert conv["flops"] in (2 * 4 * 8 * 6 * 3 * 9, 2 * 4 * 8 * 6 * 3 * 9 + 4 * 8 * 6)


@pytest.mark.parametrize(
    "flag, heading",
    [("--params", "Weights"), ("--flops", "Operators"), ("--activations", "Activations")],
)
def test_tables(run_tool, image_model, flag, heading):
    assert f"\n{heading}\n" in run_tool(TOOL, "info", image_model, flag).out
    assert f"\n{heading}\n" not in run_tool(TOOL, "info", image_model).out
    assert f"\n{heading}\n" in run_tool(TOOL, "info", image_model, "--all").out


def test_batch_size_scales_the_work(run_tool, image_model):
    one = run_tool(TOOL, "info", image_model).result["summary"]
    four = run_tool(TOOL, "info", image_model, "--batch_size=4").result["summary"]
    assert four["flops"] == 4 * one["flops"]
    # Values computed from weights alone do not grow.
    assert 3.9 < four["activation_bytes"] / one["activation_bytes"] <= 4
    assert four["weight_bytes"] == one["weight_bytes"]


def test_bars(run_tool, image_model):
    def longest(n):
        out = run_tool(TOOL, "info", image_model, "--params", "--bar-length-max", n).out
        return max(map(len, re.findall("#+", out)), default=0)

    assert longest(7) == 7 and longest(0) == 0


def test_statistics_of_weights(run_tool, image_model, tmp_path):
    assert run_tool(TOOL, "weights", image_model, tmp_path / "w.npz").code == 0
    stored = np.load(tmp_path / "w.npz")
    for row in run_tool(TOOL, "info", image_model).result["weights"]:
        values = stored[row["name"]]
        assert row["mean"] == pytest.approx(values.mean(), abs=1e-6)
        assert row["std"] == pytest.approx(values.std(), abs=1e-6)
