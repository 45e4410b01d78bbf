# SPDX-License-Identifier: Apache-2.0
"""load_and_run --fitting, and the model that it writes."""

from pathlib import Path

MODEL = Path(__file__).resolve().parents[1] / "data/megengine/resnet.v2.mge"


def steps(report):
    return [(step["op"], step["name"], step["algorithm"]) for step in report["algorithms"]]


def test_written_model_uses_the_chosen_algorithms(run_tool, tmp_path):
    """Without flags: the winner's very algorithms, and nothing is measured."""
    fitted = tmp_path / "fitted.mge"
    won = run_tool("load_and_run", MODEL, "--fitting", "--dump-fitting-model", fitted)
    assert won.code == 0, won.err
    candidates = won.result["fitting"]["candidates"]
    best = min((c for c in candidates if c["state"] == "ok"), key=lambda c: c["p50_ms"])
    assert best["p50_ms"] == won.result["fitting"]["winner"]["p50_ms"]
    plain = run_tool("load_and_run", fitted)
    assert plain.code == 0, plain.err
    assert steps(plain.report) == steps(won.report)
    assert {step["source"] for step in plain.report["algorithms"]} == {"plan"}
