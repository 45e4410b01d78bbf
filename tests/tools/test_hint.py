# SPDX-License-Identifier: Apache-2.0
"""load_and_run --hint, --shapes and --round-robin, --fitting with a state and without running."""

import json
from pathlib import Path

import pytest

MODEL = Path(__file__).resolve().parents[1] / "data/megengine/resnet.v2.mge"


@pytest.mark.parametrize("goal", ["latency", "throughput"])
def test_hint_chooses_the_best_of_what_it_measured(run_tool, conv_model, goal):
    flags = ["--hint", goal, "--hint-limit", 5, "--iter", 3]
    ran = run_tool("load_and_run", conv_model, *flags, env={"MGE_THREADS": "4"})
    assert ran.code == 0, ran.err
    hint = ran.result["hint"]
    divisions = {(c["streams"], c["threads"]) for c in hint["candidates"]}
    every = {(1, 1), (1, 2), (1, 4)} if goal == "latency" else {(1, 4), (2, 2), (4, 1)}
    assert divisions == every and hint["goal"] == goal
    measured = [c for c in hint["candidates"] if c["measured"]]
    if goal == "latency":
        best = min(measured, key=lambda c: c["p50_ms"])
    else:
        best = max(measured, key=lambda c: c["throughput_per_s"])
    assert (hint["streams"], hint["threads"]) == (best["streams"], best["threads"])
    assert ran.result["crew"]["streams"] == hint["streams"]
    assert ran.result["device"]["threads"] == hint["threads"]
    assert f"best {goal}" in ran.out


def test_hint_stops_at_its_limit(run_tool, conv_model):
    flags = ["--hint=latency", "--hint-limit=0.01", "--iter=1"]
    hint = run_tool("load_and_run", conv_model, *flags, env={"MGE_THREADS": "64"}).result["hint"]
    assert hint["candidates"][0]["measured"] and not hint["candidates"][-1]["measured"]


def test_a_failing_model_is_reported_once(run_tool, tmp_path):
    (tmp_path / "bad.mge").write_bytes(b"none")
    ran = run_tool("load_and_run", tmp_path / "bad.mge", "--hint", "latency")
    assert ran.code == 5 and len(ran.err.splitlines()) == 1


def test_shapes_are_tests(run_tool, conv_model):
    shapes = "x:(1,16,8,8),(2,16,12,12),(1,16,16,8)"
    ran = run_tool("load_and_run", conv_model, "--shapes", shapes, "--round-robin", "--iter=5")
    assert ran.code == 0, ran.err
    wanted = [[1, 16, 8, 8], [2, 16, 12, 12], [1, 16, 16, 8]]
    assert [t["inputs"][0]["shape"] for t in ran.result["tests"]] == wanted
    turns = ran.result["round_robin"]
    assert [t["test"] for t in turns] == [f"x:({', '.join(map(str, w))})" for w in wanted]
    for turn in turns:
        assert turn["runs"] == 5 and turn["p50_ms"] > 0 and turn["compile_ms"] > 0
        cost = turn["p50_after_switch_ms"] - turn["p50_ms"]
        assert turn["switch_ms"] == pytest.approx(cost)
    assert "by turns" in ran.out and "(2, 16, 12, 12)" in ran.out


def test_shapes_of_several_inputs(run_tool, two_inputs):
    ran = run_tool("load_and_run", two_inputs, "--shapes=a:(4,3),(5,3);b:(3)", "--iter=1")
    assert ran.code == 0, ran.err
    got = [[i["shape"] for i in t["inputs"]] for t in ran.result["tests"]]
    assert got == [[[4, 3], [3]], [[5, 3], [3]]]
    alone = run_tool("load_and_run", two_inputs, "--batch-size=1,2", "--round-robin", "--iter=1")
    assert alone.code == 2  # b has no batch: the message is that of --batch-size
    both = run_tool(
        "load_and_run", two_inputs, "--input=a:{7,3}", "--input=a:{8,3}", "--round-robin"
    )
    assert both.code == 0 and len(both.result["round_robin"]) == 2


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--shapes", "x:(1,16,8,8)", "--round-robin"], "[--round-robin] needs several tests"),
        (["--shapes", "x:1,16"], "is not a list of shapes"),
        (["--shapes", "x:(1,a)"], "'a' in '(1,a)' is not a dimension"),
        (["--shapes", "x:(1,2)(3)"], "is not a list of shapes"),
        (["--shapes", "q:(1,2)"], "the model has no input 'q'"),
        (["--shapes", "x:(1,2);x:(1,2)"], "given twice"),
        (["--shapes", "x:(1,2)", "--batch-size=2"], "[--shapes] contradicts"),
        (["--round-robin", "--streams=2"], "[--round-robin] times one context"),
        (["--hint", "speed"], "is not one of latency,throughput"),
        (["--hint", "latency", "--threads=1"], "[--hint] contradicts --threads"),
        (["--hint-limit", "1"], "[--hint-limit] needs --hint"),
        (["--dry-run"], "[--dry-run] needs --fitting"),
        (["--fitting-state", "s"], "[--fitting-state] needs --fitting"),
        (["--hint", "latency", "--format=md"], "[--hint] acts on one run"),
    ],
)
def test_misuse(run_tool, conv_model, flags, message):
    ran = run_tool("load_and_run", conv_model, *flags, json=False)
    assert ran.code == 2 and message in ran.err, ran.err
    assert len(ran.err.splitlines()) == 1


def test_lists_of_different_lengths(run_tool, two_inputs):
    ran = run_tool("load_and_run", two_inputs, "--shapes=a:(1,3),(2,3),(3,3);b:(3),(3)", json=False)
    assert ran.code == 2 and "'b' has 2 shapes, another input 3" in ran.err


def test_dry_run_of_fitting(run_tool, tmp_path):
    flags = ["--fitting", "--dry-run"]
    ran = run_tool("load_and_run", MODEL, *flags)
    assert ran.code == 0, ran.err
    plan = ran.result["fitting_plan"]
    assert "(none)" in plan["sets"] and "--fast_run=true" in plan["sets"]
    assert "--enable_jit=false" in plan["refinements"] and plan["least_seconds"] > 0
    assert all(each in ran.out for each in plan["sets"] + plan["refinements"])


def test_fitting_goes_on(run_tool, tmp_path):
    state = tmp_path / "state.json"
    flags = ["--fitting", "--fitting-state", state, "--iter=1"]
    first = run_tool("load_and_run", MODEL, *flags)
    assert first.code == 0, first.err
    stored = json.loads(state.read_text())
    shown = {c["options"]: c for c in first.result["fitting"]["candidates"]}
    assert set(stored["candidates"]) == set(shown)
    # Interrupted in the middle: what is there is kept, the rest is measured.
    kept = dict(list(stored["candidates"].items())[:3])
    state.write_text(json.dumps({**stored, "candidates": kept}))
    second = run_tool("load_and_run", MODEL, *flags)
    assert second.code == 0, second.err
    again = json.loads(state.read_text())["candidates"]
    assert set(again) >= set(kept)
    # Other sets may become the same program when algorithms are measured again.
    times = kept["(none)"]["times_ms"]
    assert again["(none)"]["times_ms"][: len(times)] == times and times


def test_a_state_of_another_model_is_refused(run_tool, conv_model, tmp_path):
    state = tmp_path / "state.json"
    flags = ["--fitting", "--fitting-state", state, "--iter=1"]
    assert run_tool("load_and_run", MODEL, *flags).code == 0
    ran = run_tool("load_and_run", conv_model, *flags, json=False)
    assert ran.code == 2 and "is of another model" in ran.err
    state.write_text("{}")
    ran = run_tool("load_and_run", conv_model, *flags, json=False)
    assert ran.code == 5 and "is not a state of --fitting" in ran.err
