# SPDX-License-Identifier: Apache-2.0
"""mge-dump strip."""

import json
from pathlib import Path

import numpy as np
import pytest

TOOL = "mge-dump"
MEGENGINE = Path(__file__).resolve().parents[1] / "data/megengine"


def names_in(run_tool, model):
    graph = json.loads(run_tool(TOOL, "graph", model, "--format=json").out)
    values = {v["name"] for v in graph["values"]} - {""}
    nodes = {n["name"] for n in graph["nodes"]} - {""}
    return values, nodes


def test_strip(run_tool, outputs_of, tmp_path):
    model, out = MEGENGINE / "mlp.names.mge", tmp_path / "out.mge"
    all_values, all_nodes = names_in(run_tool, model)
    inputs, (output,) = (
        np.load(MEGENGINE / "mlp.inputs.npz"),
        np.load(MEGENGINE / "mlp.outputs.npz").files,
    )
    kept = {"data", output}
    assert kept < all_values and all_nodes

    def stripped(*flags):
        assert run_tool(TOOL, "strip", model, out, *flags).code == 0
        (got,) = outputs_of(out, inputs["data"])
        expected = np.load(MEGENGINE / "mlp.outputs.npz")[output]
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
        return names_in(run_tool, out)

    assert stripped() == (kept, set())
    assert stripped("--keep-var-name=0") == ({"data"}, set())
    assert stripped("--keep_opr_name") == (kept, all_nodes)
    assert kept < stripped("--keep-param-name")[0]
    assert stripped("--keep-var-name=2", "--keep-param-name", "--keep-opr-name") == (
        all_values,
        all_nodes,
    )


def test_strip_drops_test_cases_and_metadata(run_tool, two_inputs, tmp_path):
    full, out = tmp_path / "full.mge", tmp_path / "out.mge"
    run_tool(TOOL, "testcase", two_inputs, full, "--data", "#rand(0,1)")
    assert run_tool(TOOL, "strip", full, out).result["output"]["test_cases"] == 1
    ran = run_tool(TOOL, "strip", full, out, "--drop-testcases", "--drop-metadata")
    assert ran.result["output"]["test_cases"] == 0 and ran.result["removed"]["test_cases"] == 1
    assert run_tool(TOOL, "info", out).result["metadata"] == {}
    assert run_tool(TOOL, "convert", full, out, "--no-testcases").code == 0
    assert run_tool(TOOL, "info", out).result["test_cases"] == []


@pytest.mark.parametrize(
    "command", [("strip", "--drop-metadata"), ("extract",)], ids=lambda c: c[0]
)
def test_fixed_shapes_stay_fixed(run_tool, small_model, tmp_path, command):
    fixed, out = tmp_path / "fixed.mge", tmp_path / "out.mge"
    assert run_tool(TOOL, "optimize", small_model, fixed, "--const-shape").code == 0
    assert run_tool(TOOL, *command, fixed, out).code == 0
    assert run_tool("load_and_run", out).code == 0
    ran = run_tool("load_and_run", out, "--batch-size", "7")
    assert ran.code == 2 and "the model keeps its shapes" in ran.err
