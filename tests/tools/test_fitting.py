# SPDX-License-Identifier: Apache-2.0
"""load_and_run --fitting, and the model that it writes."""

import json
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


def test_the_saved_plan_is_the_winners(run_tool, tmp_path):
    plan = tmp_path / "plan.json"
    won = run_tool("load_and_run", MODEL, "--fitting", "--save-plan", plan)
    assert won.code == 0, won.err
    (program,) = json.loads(plan.read_text())["programs"]
    saved = [(step["op"], step["name"], step["algorithm"]) for step in program["steps"]]
    assert saved == steps(won.report)


def test_errors_of_the_plain_options_end_the_search(run_tool, tmp_path):
    """Without its outputs nothing can be compared."""
    ran = run_tool(
        *("load_and_run", MODEL, "--fitting", "--require-cache"),
        env={"XDG_CACHE_HOME": str(tmp_path)},
    )
    assert ran.code == 4 and "[--require-cache]" in ran.err
