# SPDX-License-Identifier: Apache-2.0
"""load_and_run: what is compared with a baseline; plans beside other flags; overload."""

import json

import pytest

USAGE, REGRESSION = 2, 3


@pytest.fixture
def baseline(run_tool, small_model, tmp_path):
    file = tmp_path / "base.json"
    flags = ("--iter", 300, "--threads", 1)
    assert run_tool("load_and_run", small_model, *flags, "--json", file).code == 0
    return file


@pytest.fixture
def against(run_tool, small_model, baseline):
    def run(*flags, model=small_model, threads=1):
        flags = ("--threads", threads, "--iter", 300, "--baseline", baseline, *flags)
        return run_tool("load_and_run", model, *flags)

    return run


def test_times_of_other_shapes_are_not_compared(against):
    ran = against("--batch-size", 4)
    assert ran.code == USAGE and "compare runs of the same command" in ran.err
    assert '"shape":[2,3]' in ran.err and '"shape":[4,3]' in ran.err


def test_ambiguous_arguments_warn(against, baseline, small_model, tmp_path):
    assert "has another" not in against().err
    other = tmp_path / "other.mge"
    other.write_bytes(small_model.read_bytes())
    ran = against(model=other)
    assert ran.code == 0 and "has another model: small.mge, now other.mge" in ran.err
    report = json.loads(baseline.read_text())
    report["host"]["cpu"] = "Pentium"
    baseline.write_text(json.dumps(report))
    assert "has another machine: Pentium" in against().err


def test_threads_are_warned_of(against):
    assert "has another number of threads: 1, now 2" in against(threads=2).err


def test_percentiles_need_runs(against):
    ran = against("--fail-if", "p99.9>+1000%")
    assert ran.code == USAGE and "p99.9 needs 5000 runs, there are 300" in ran.err
    ran = against("--fail-if", "p90 > +100000 %")
    assert ran.code == 0 and ran.result["baseline"][0]["rounds"] == 30


def test_a_plan_is_for_its_threads(run_tool, small_model, tmp_path):
    run = ("load_and_run", small_model)
    plan = tmp_path / "plan.json"
    assert run_tool(*run, "--threads", 1, "--save-plan", plan).code == 0
    assert run_tool(*run, "--threads", 1, "--replay-plan", plan).code == 0
    assert run_tool(*run, "--replay-plan", plan).code == 0
    ran = run_tool(*run, "--threads", 2, "--replay-plan", plan)
    assert ran.code == USAGE and "is a plan for 1 thread, but the run uses 2" in ran.err


def test_a_plan_overrides_measuring(run_tool, small_model, tmp_path):
    plan = tmp_path / "plan.json"
    flags = ("--fast-run", "--workspace-limit", "1M")
    assert run_tool("load_and_run", small_model, *flags, "--save-plan", plan).code == 0
    ran = run_tool("load_and_run", small_model, *flags, "--replay-plan", plan)
    assert ran.code == 0
    assert ran.result["options_without_effect"] == ["--fast-run", "--workspace-limit"]
    (tmp_path / "other.json").write_text("{}")
    ran = run_tool("load_and_run", small_model, "--replay-plan", tmp_path / "other.json")
    assert ran.code == 5 and "is not a readable plan" in ran.err and "json.exception" not in ran.err


def test_overload_is_reported(run_tool, small_model):
    flags = ("--rate", 1e7, "--iter", 2000)
    assert "are fewer than --rate" in run_tool("load_and_run", small_model, *flags).out
    # Ten arrivals with a delay of ten seconds would be reported: no busy machine is that slow.
    flags = ("--rate", 20, "--iter", 10)
    assert "are fewer than --rate" not in run_tool("load_and_run", small_model, *flags).out


def test_a_baseline_is_run_again_without_its_files(run_tool, tool_path, small_model, tmp_path):
    """In turns with another program: what it wrote belongs to the times that it had then."""
    base, dump, packed = tmp_path / "base.json", tmp_path / "dump", tmp_path / "packed.lite"
    info = tmp_path / "info.json"
    info.write_text('{"valid": true, "version": "1.13.0", "name": "small"}')
    flags = ("--iter", 40, "--threads", 1)
    files = ("--io-dump", dump, "--packed-model-dump", packed, "--pack-info-json", info)
    ran = run_tool("load_and_run", small_model, *flags, *files, "--model-info", "--json", base)
    assert ran.code == 0
    dump.unlink()
    packed.unlink()
    tool = ("--baseline-tool", tool_path("load_and_run"))
    ran = run_tool("load_and_run", small_model, *flags, "--baseline", base, *tool)
    assert ran.code == 0, ran.err
    assert ran.result["baseline"][0]["rounds"] == 80
    assert not dump.exists() and not packed.exists()
