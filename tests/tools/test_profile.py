# SPDX-License-Identifier: Apache-2.0
"""mge-profile and load_and_run --profile, as processes."""

import json
import math
import re
import subprocess
from pathlib import Path

import jsonschema
import pytest
from browser_pages import Scripts, looks_of, needs_browser

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ROOT / "tests/data/profiles"
SCHEMA = json.loads((ROOT / "docs/schemas/profile.schema.json").read_text())
ANALYSED = json.loads((PROFILES / "analysed.json").read_text())
USAGE, BAD_FILE = 2, 5


def check_against_schema(path):
    content = json.loads(path.read_text())
    jsonschema.validate(content, SCHEMA, cls=jsonschema.Draft202012Validator)
    return content


# --- load_and_run --------------------------------------------------------------------------------


def test_profile_follows_its_schema(profile):
    path, report = profile
    content = check_against_schema(path)
    assert report["profile"]["file"] == str(path)
    assert report["profile"]["runs"] == 10
    assert len(content["runs"]) == 10
    assert [s["op"] for s in content["steps"]] == [a["op"] for a in report["algorithms"]]
    assert content["host"]["peak"]["operations_per_s"] > 1e9
    assert all("begins_ns" not in run for run in content["runs"])
    # The model's node names are found in the fused kernels.
    assert sum(len(s["sources"]) for s in content["steps"]) >= 3
    assert any(len(s["sources"]) > 1 for s in content["steps"])


def test_a_profile_contains_how_it_was_recorded(run_tool, small_model, tmp_path):
    path, new = tmp_path / "run.json", tmp_path / "a b"
    flags = ("--iter=3", "--precision", "relaxed", "--graph-opt-level=1", "--profile", path)
    assert run_tool("load_and_run", small_model, *flags).code == 0
    content = check_against_schema(path)
    recording = content["recording"]
    assert re.fullmatch(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ", recording["date"])
    assert recording["command"][0] == "load_and_run" and str(small_model) in recording["command"]
    options = {o["name"]: o["value"] for o in recording["options"]}
    assert options == {"precision": "relaxed", "graph_opt_level": "1"}
    assert f"mge {content['version']}" in recording["libraries"]

    recording["command"] = ["load_and_run", "a b.mge", "it's"]
    path.write_text(json.dumps(content))
    shown = run_tool("mge-profile", "show", path)
    assert f"recorded {recording['date']} by mge" in shown.out
    assert "command: load_and_run 'a b.mge' 'it'\\''s'\n" in shown.out
    assert "options: graph_opt_level=1, precision=relaxed\n" in shown.out
    assert shown.result["recording"]["options"] == options

    del content["recording"]
    new.write_text(json.dumps(content))
    assert "recorded" not in run_tool("mge-profile", "show", new).out
    compared = run_tool("mge-profile", "diff", path, new)
    differences = {d["name"]: d for d in compared.result["recorded_differently"]}
    assert differences["precision"] == {"name": "precision", "before": "relaxed", "after": ""}
    assert re.search(r"precision +relaxed +-\n", compared.out)
    assert "threads" not in differences


def test_steps_add_up_to_the_runs(profile):
    path, report = profile
    content = json.loads(path.read_text())
    sums = sorted(run["ends_ns"][-1] / 1e6 for run in content["runs"])
    assert sums[0] <= report["latency_ms"]["min"] * 1.01 + 0.001
    assert sums[len(sums) // 2] <= report["latency_ms"]["max"]


def test_profile_host_parts_dispatch_from_kernels(run_tool, small_model, tmp_path):
    path = tmp_path / "host.json"
    assert run_tool("load_and_run", small_model, "--profile-host", path).code == 0
    content = check_against_schema(path)
    assert all(len(run["begins_ns"]) == len(run["ends_ns"]) for run in content["runs"])
    shown = run_tool("mge-profile", "show", path, "--print-only", "host")
    assert "host time" in shown.out
    assert shown.result["total_host_time_s"] >= shown.result["total_device_time_s"]


def test_profile_that_cannot_be_written(run_tool, small_model, tmp_path):
    done = run_tool("load_and_run", small_model, "--profile", tmp_path / "no/such/folder.json")
    assert done.code == USAGE
    assert "folder.json" in done.err


# --- show ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "case", ANALYSED, ids=[f"{c['profile'].split('.')[0]} {c['arguments']}" for c in ANALYSED]
)
def test_show_matches_profile_analyze(tool_path, case):
    """Letter for letter, for every combination of arguments that was recorded."""
    arguments = case["arguments"].split()
    done = subprocess.run(
        [tool_path("mge-profile"), "show", PROFILES / case["profile"], "--style=grid", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n") == case["text"].split("\n")


def test_names_are_cut_between_letters(run_tool, profile, tmp_path):
    content = json.loads(profile[0].read_text())
    for step in content["steps"]:
        step["name"] = "x" + 20 * "größe"
    path = tmp_path / "letters.json"
    path.write_text(json.dumps(content))
    for style in ("table", "grid", "confluence"):
        shown = run_tool("mge-profile", "show", path, f"--style={style}").out
        assert "größe" in shown and "\\x" not in shown
        # A grid's cells have lines enough for all of it.
        assert style != "grid" or shown.count("ß") == 20 * len(content["steps"])


def test_huge_counts_are_printed_in_full(run_tool, profile, tmp_path):
    content = json.loads(profile[0].read_text())
    for step in content["steps"]:
        step["operations"] = 1e300
    path = tmp_path / "huge.json"
    path.write_text(json.dumps(content))
    for style in ("table", "grid"):
        shown = run_tool("mge-profile", "show", path, f"--style={style}").out
        assert re.search(r"1\d{285}\.\d\d", shown) and "\\x" not in shown, style
    out = tmp_path / "megengine.json"
    assert run_tool("mge-profile", "export", path, "--megengine", out).code == 0
    footprints = json.loads(out.read_text())["profiler"]["opr_footprint"].values()
    assert {footprint["computation"] for footprint in footprints} == {2**62}


def test_show_reports_printed_values(run_tool):
    done = run_tool("mge-profile", "show", PROFILES / "mlp.profile.json", "--type", "MatrixMul")
    rows = done.result["device"]
    assert [r["id"] for r in rows] == ["10", "19", "26"]
    assert math.isclose(done.result["total_device_time_s"], 186e-6, rel_tol=1e-9)
    assert rows[0]["operations"] == 2304
    assert math.isclose(rows[0]["operations_per_s"], 2304 / 33e-6, rel_tol=1e-9)
    assert rows[0]["in_shapes"] == [[4, 12], [24, 12]]
    for row in rows:
        assert row["name"] in done.out


@pytest.mark.parametrize("style", ["table", "grid"])
@pytest.mark.parametrize(
    "own, wanted",
    [
        ("matmul", "MatrixMul"),
        ("matmul", "BatchedMatrixMul"),
        ("conv2d", "ConvolutionForward"),
        ("conv2d", "Convolution"),
        ("max_pool2d", "PoolingForward"),
        ("exp", "Elemwise"),
    ],
)
def test_types_may_have_megengines_names(run_tool, profile, own, wanted, style):
    path, _ = profile
    path.write_text(path.read_text().replace('"matmul"', f'"{own}"'))
    shown = run_tool("mge-profile", "show", path, "--type", wanted, "--style", style)
    assert own in {row["type"] for row in shown.result["device"]}
    compared = run_tool("mge-profile", "diff", path, path, "--type", wanted)
    assert compared.code == 0 and own in compared.out


@pytest.mark.parametrize(
    "filters, named",
    [
        (["--type", "nosuch"], "--type: no operator has 'nosuch'; there are "),
        (["--type", "nosuch", "--type", "neither"], "--type: no operator has 'nosuch'"),
        (["--input-dtype", "Float31"], "no operator has 'Float31'; there are Float32"),
    ],
)
@pytest.mark.parametrize("command", ["show", "diff"])
def test_filters_without_matches(run_tool, command, filters, named):
    files = [PROFILES / "mlp.profile.json"] * (1 + (command == "diff"))
    done = run_tool("mge-profile", command, *files, *filters)
    assert done.code == USAGE and named in done.err


def test_missing_host_times(run_tool, profile):
    done = run_tool("mge-profile", "show", profile[0], "--show-host")
    assert done.code == 0 and "load_and_run --profile-host" in done.out
    assert "no operator is selected" not in done.out


def test_units_are_of_one_kind(run_tool, profile):
    """Bytes by 1024, operations by 1000."""
    out = run_tool("mge-profile", "show", profile[0], "--top", "0", "--peak").out
    peaks = r"measured peak: [\d.]+ [GT]FLOP/s, [\d.]+ [GT]OP/s of bytes, [\d.]+ [MGT]iB/s"
    assert re.search(peaks, out)
    assert not re.search(r"\d [KMGT](B|FLO)\b", out)


def test_show_sorts_by_every_column(run_tool):
    def column(order, field):
        done = run_tool(
            "mge-profile", "show", PROFILES / "resnet.profile.json", "--top=0", "--order-by", order
        )
        assert done.code == 0, done.err
        return [r[field] for r in done.result["device"] if r[field] is not None]

    for name, field in {
        "time": "time_s",
        "computation": "operations",
        "memory": "bytes",
        "flops": "operations_per_s",
        "bandwidth": "bytes_per_s",
        "index": "index",
        "name": "name",
        "type": "type",
        "count": "count",
    }.items():
        assert column(name, field) == sorted(column(name, field), reverse=True)
        assert column("+" + name, field) == sorted(column("+" + name, field))


def test_show_compares_with_the_peak(run_tool, profile):
    shown = run_tool("mge-profile", "show", profile[0])
    assert "of roof" in shown.out
    assert any(r["share_of_roof"] for r in shown.result["device"])
    plain = run_tool("mge-profile", "show", PROFILES / "mlp.profile.json")
    assert "of roof" not in plain.out
    measured = run_tool("mge-profile", "show", PROFILES / "mlp.profile.json", "--peak")
    assert measured.result["peak"]["operations_per_s"] > 1e9
    assert "measured peak" in measured.out


def test_show_compares_products_of_bytes_with_their_peak(run_tool, profile, tmp_path):
    content = json.loads(profile[0].read_text())
    content["host"]["peak"] = {
        "operations_per_s": 1e12,
        "byte_operations_per_s": 4e12,
        "bytes_per_s": 1e18,
    }

    def shares(dtype, algorithm=""):
        for step in content["steps"]:
            content["values"][step["inputs"][0]]["dtype"] = dtype
            step["algorithm"] = algorithm or step["algorithm"]
        file = tmp_path / f"{dtype}.json"
        file.write_text(json.dumps(content))
        by_step = run_tool("mge-profile", "show", file).result["device"]
        by_type = ("--aggregate", "sum", "--aggregate-by", "type")
        return by_step + run_tool("mge-profile", "show", file, *by_type).result["device"]

    floats, bytes_ = shares("float32"), shares("uint8")
    assert any(r["share_of_roof"] for r in floats)
    for one, other in zip(floats, bytes_, strict=True):
        if one["share_of_roof"]:
            assert other["share_of_roof"] == pytest.approx(one["share_of_roof"] / 4)
    # Matrix instructions multiply half as many numbers of bf16 as bytes.
    for one, other in zip(floats, shares("float32", "bf16:amx_tiles"), strict=True):
        if one["share_of_roof"]:
            assert other["share_of_roof"] == pytest.approx(one["share_of_roof"] / 2)


@pytest.mark.parametrize("busy", [True, False])
def test_show_explains_shares_above_the_roof(run_tool, profile, tmp_path, busy):
    content = json.loads(profile[0].read_text())
    content["host"]["peak"] = {"operations_per_s": 1e6, "bytes_per_s": 1e6, "busy": busy}
    file = tmp_path / "low.json"
    file.write_text(json.dumps(content))
    shown = run_tool("mge-profile", "show", file)
    assert any(r["share_of_roof"] > 1 for r in shown.result["device"])
    assert "above 100% of roof: data lay in caches" in shown.out
    assert ("on a busy machine; it may be higher" in shown.out) == busy
    content["host"]["peak"].update(operations_per_s=1e18, bytes_per_s=1e18)
    file.write_text(json.dumps(content))
    assert "above 100%" not in run_tool("mge-profile", "show", file).out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--order-by", "colour"],
        ["--opr-name", "("],
        ["--aggregate-by", "type"],
        ["--aggregate", "median"],
        ["--top", "-1"],
        ["--min-time", "2", "--max-time", "1"],
        ["--print-only", "nothing"],
        ["--no-such-flag"],
    ],
)
def test_show_refuses_wrong_arguments(run_tool, arguments):
    done = run_tool("mge-profile", "show", PROFILES / "mlp.profile.json", *arguments)
    assert done.code == USAGE
    assert len(done.err.strip().splitlines()) <= 2


def test_every_flag_of_show_is_accepted(run_tool, profile):
    done = run_tool(
        "mge-profile", "show", profile[0], "-t", "2", "--type=matmul", "--opr-name=.*",
        "--input-dtype=float32", "--min-time=0", "--max-time=10", "--aggregate=sum",
        "--aggregate-by=type", "--order-by=time", "--top-end-key=end", "--statistic=mean",
        "--copy-time", "--show-host", "--style=table",
    )  # fmt: skip
    assert done.code == 0, done.err
    assert [r["type"] for r in done.result["device"]] == ["matmul"]
    for flag in ("--confluence", "--wiki", "--dump-only-opr", "--print-only=summary"):
        done = run_tool("mge-profile", "show", profile[0], flag)
        assert done.code == 0, done.err
        assert done.out


# --- diff ----------------------------------------------------------------------------------------


def test_diff_finds_changes(run_tool, profile, tmp_path):
    content = json.loads(profile[0].read_text())
    slow = len(content["steps"]) - 1
    for run in content["runs"]:
        run["ends_ns"][slow] += 1_000_000
    content["steps"][slow]["algorithm"] = "another"
    other = tmp_path / "other.json"
    other.write_text(json.dumps(content))
    done = run_tool("mge-profile", "diff", profile[0], other)
    assert done.code == 0, done.err
    first = done.result["changes"][0]
    assert first["name"] == content["steps"][slow]["name"]
    assert math.isclose(first["difference_s"], 1e-3, rel_tol=1e-6)
    assert first["algorithm_after"] == "another"
    assert "-> another" in done.out
    assert all(abs(c["difference_s"]) < 1e-12 for c in done.result["changes"][1:])
    by_type = run_tool(
        "mge-profile", "diff", profile[0], other, "--aggregate=sum", "--aggregate-by=type"
    )
    assert by_type.result["changes"][0]["type"] == content["steps"][slow]["op"]


def test_diff_of_different_nets(run_tool):
    files = [PROFILES / "mlp.profile.json", PROFILES / "resnet.profile.json"]
    refused = run_tool("mge-profile", "diff", *files)
    assert refused.code == 2 and "--any-models" in refused.err
    done = run_tool("mge-profile", "diff", *files, "--any-models", "--top", "0")
    assert done.code == 0
    assert done.result["common_part"] < 0.5
    assert any(c["after_s"] is None for c in done.result["changes"])
    assert any(c["before_s"] is None for c in done.result["changes"])


def test_diff_as_a_page(run_tool, profile, tmp_path):
    content = json.loads(profile[0].read_text())
    for run in content["runs"]:
        run["ends_ns"][-1] += 2_000_000
    content["model"] = "</script><script>document.documentElement.dataset.owned=1</script>"
    other, out = tmp_path / "other.json", tmp_path / "diff.html"
    other.write_text(json.dumps(content))
    done = run_tool("mge-profile", "diff", profile[0], other, "--top", 1, "--html", out)
    assert done.code == 0 and done.result["html"] == str(out)
    assert done.result["common_part"] == 1 and len(done.result["changes"]) == 1
    data = json.loads(Scripts(out.read_text()).texts["data"])
    assert len(data["changes"]) == len(content["steps"])
    assert math.isclose(data["changes"][0]["difference"], 2e-3, rel_tol=1e-6)
    assert [d["name"] for d in data["recorded"]] == ["model"]
    assert data["before"]["recording"]["command"].startswith("load_and_run ")


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 1400])
def test_looks_of_a_comparison(run_tool, profile, tmp_path, width, scheme):
    out = tmp_path / "diff.html"
    assert run_tool("mge-profile", "diff", profile[0], profile[0], "--html", out).code == 0
    assert looks_of(out, tmp_path, width, scheme) == {"wide": [], "faint": []}


# --- findings ------------------------------------------------------------------------------------


def test_findings_put_equal_steps_together(run_tool, profile, tmp_path):
    """Four equal steps of 2 ms are a finding before one of 5 ms."""
    content = json.loads(profile[0].read_text())
    step = content["steps"][0] | {"workspace": 0, "operations": 1e6, "bytes": 1e6}
    step.pop("workspace_offset", None)
    step |= {"inputs": [], "outputs": [], "origins": [0], "sources": []}
    equal = [step | {"name": f"equal{i}"} for i in range(4)]
    content["steps"] = [*equal, step | {"name": "alone", "algorithm": "another"}]
    content["inner_steps"] = []
    milliseconds = [2, 4, 6, 8, 13]
    for run in content["runs"]:
        run["ends_ns"] = [1_000_000 * t for t in milliseconds]
    for value in content["values"]:
        value.update(first_step=-1, last_step=-1)
    file = tmp_path / "edited.json"
    file.write_text(json.dumps(content))
    done = run_tool("mge-profile", "show", file)
    first, second = done.result["findings"]
    assert (first["count"], first["time_s"]) == (4, pytest.approx(8e-3))
    assert first["title"] == "equal0 and 3 equal steps" and second["title"] == "alone"
    assert "1. equal0 and 3 equal steps: 8.000 ms, 61.5%\n" in done.out
    assert "findings (shares of 13.000 ms, the sum of the steps' median times)\n" in done.out
    assert done.result["runs"]["p50_s"] == pytest.approx(13e-3)


def edited(content, steps, milliseconds, path):
    """A profile of these steps, whose runs all take so long."""
    content["steps"], content["inner_steps"] = steps, []
    ends = [round(1e6 * sum(milliseconds[: i + 1])) for i in range(len(steps))]
    for run in content["runs"]:
        run["ends_ns"] = ends
    for value in content["values"]:
        value.update(first_step=-1, last_step=-1)
    path.write_text(json.dumps(content))
    return path


def test_findings_name_what_is_unlike_the_others(run_tool, profile, tmp_path):
    """A step far longer than others of its type; and moves as one finding, not twice."""
    content = json.loads(profile[0].read_text())
    step = content["steps"][0] | {"workspace": 0, "operations": 1e6, "bytes": 1e6, "sources": []}
    step.pop("workspace_offset", None)
    step["outputs"] = []
    move = step | {"op": "transpose", "operations": None, "name": "flip"}
    layers = [step | {"name": f"layer{i}", "algorithm": f"a{i}"} for i in range(5)]
    steps = [*layers, move, move | {"name": "flop"}]
    file = edited(content, steps, [1, 1, 10, 1, 1, 3, 4], tmp_path / "edited.json")
    done = run_tool("mge-profile", "show", file)
    first, second = done.result["findings"][:2]
    assert first["title"] == "layer2"
    assert f"10 times as long as most of the 5 {step['op']} steps" in first["reason"]
    assert first["shapes"].count(" -> ") == 1 and first["shapes"] in done.out
    assert second["title"] == "2 steps that only move data" and second["step"] == 6
    assert "the costliest is flop, 4.000 ms" in second["reason"]
    assert not [f for f in done.result["findings"] if f["title"].startswith("fl")]


@pytest.mark.parametrize(
    "statistic, total, words", [("median", 2.2e-3, "median times"), ("max", 13e-3, "longest times")]
)
def test_all_shares_are_of_one_time(run_tool, profile, tmp_path, statistic, total, words):
    """On a busy machine another step is disturbed in each run: the median run takes longer than all
    steps in the median."""
    content = json.loads(profile[0].read_text())
    step = content["steps"][0] | {"workspace": 0, "inputs": [], "outputs": [], "sources": []}
    step.pop("workspace_offset", None)
    content["steps"] = [step | {"name": "a"}, step | {"name": "b", "algorithm": "another"}]
    content["inner_steps"] = []
    for value in content["values"]:
        value.update(first_step=-1, last_step=-1)
    times = [(2.0, 0.2), (9.0, 0.2), (2.0, 4.0)]
    content["runs"] = [
        {"thread": 0, "start_ns": 20_000_000 * i, "ends_ns": [int(a * 1e6), int((a + b) * 1e6)]}
        for i, (a, b) in enumerate(times)
    ]
    content["runs_total"] = 3
    file, page = tmp_path / "busy.json", tmp_path / "busy.html"
    file.write_text(json.dumps(content))
    flags = (file, "--statistic", statistic)
    shown = run_tool("mge-profile", "show", *flags)
    assert run_tool("mge-profile", "export", *flags, "--html", page).code == 0
    data = json.loads(Scripts(page.read_text()).texts["data"])
    base = shown.result["share_base"]
    assert base["time_s"] == pytest.approx(total)
    assert base["time_s"] == pytest.approx(shown.result["total_device_time_s"])
    assert data["share_base"] == {
        "time": base["time_s"],
        "what": base["what"],
        "remark": base["remark"],
    }
    assert ("machine was busy" in base["remark"]) == (statistic == "median")
    assert base["remark"] in shown.out
    assert words in base["what"]
    for result in (shown.result["findings"], data["findings"]):
        assert [f["share"] for f in result] == pytest.approx(
            [f.get("time_s", f.get("time")) / total for f in result]
        )
        assert sum(f["share"] for f in result) == pytest.approx(1)
    for row in shown.result["device"]:
        assert f"{100 * row['time_s'] / total:.1f}%" in shown.out


def test_limits_of_steps(run_tool, profile, tmp_path):
    """By the machine's peaks: 1 GFLOP/s, 1 GB/s."""
    content = json.loads(profile[0].read_text())
    peak = {"operations_per_s": 1e9, "bytes_per_s": 1e9, "busy": False}
    peak["caches"] = [{"name": "L2", "bytes_per_s": 4e9}, {"name": "L1", "bytes_per_s": 8e9}]
    content["host"]["peak"] = peak
    step = content["steps"][0] | {"inputs": [], "outputs": [], "workspace": 0}
    step.pop("workspace_offset", None)
    cases = {
        "arithmetic": (8e6, 1e6, 10_000_000),
        "memory bandwidth": (1e6, 8e6, 10_000_000),
        "kernel efficiency": (1e6, 1e6, 10_000_000),
        "overhead": (10.0, 10.0, 3_000),
        "cache bandwidth": (1e6, 3e7, 10_000_000),
    }
    content["steps"], ends, at = [], [], 0
    for name, (operations, size, duration) in cases.items():
        content["steps"].append(step | {"name": name, "operations": operations, "bytes": size})
        at += duration
        ends.append(at)
    content["inner_steps"] = []
    for run in content["runs"]:
        run["ends_ns"] = ends
    for value in content["values"]:
        value.update(first_step=-1, last_step=-1)
    file = tmp_path / "edited.json"
    file.write_text(json.dumps(content))
    rows = run_tool("mge-profile", "show", file).result["device"]
    assert {row["name"]: row["bound"] for row in rows} == {name: name for name in cases}
    assert all(row["reason"] and row["advice"] for row in rows)
    (cached,) = [row for row in rows if row["name"] == "cache bandwidth"]
    assert cached["data_from"] == "L2" and "75 % of the rate of the L2 cache" in cached["reason"]
    assert cached["share_of_roof"] == pytest.approx(0.75)


# --- trace.get_profile ---------------------------------------------------------------------------


def test_profiles_of_traced_functions_are_read(run_tool, tmp_path):
    import numpy as np

    import megengine as mge
    import megengine.functional as F
    from megengine.jit import trace

    @trace(profiling=True)
    def walk(h, w):
        h = F.softmax(F.matmul(h, w), axis=1)
        h.numpy()
        return F.scan(lambda h, _: (F.cumsum(h, axis=0) * 0.5, None), h, length=7)[0]

    h, w = mge.Tensor(np.ones((4, 8), np.float32)), mge.Tensor(np.ones((8, 8), np.float32))
    for _ in range(2):
        walk(h, w)
    file = tmp_path / "trace.json"
    file.write_text(json.dumps(walk.get_profile()))
    shown = run_tool("mge-profile", "show", file, "--show-host", "--order-by=+index").result
    assert [row["type"] for row in shown["device"]] == ["matmul", "softmax", "scan"]
    assert [row["in_shapes"] for row in shown["device"][:2]] == [[[4, 8], [8, 8]], [[4, 8]]]
    assert shown["device"][0]["operations"] == 2 * 4 * 8 * 8
    assert 0 < shown["total_device_time_s"] <= shown["total_host_time_s"]
    assert {step["count"] for step in shown["inside"]} == {7}
    assert all(step["path"].startswith("scan") for step in shown["inside"])
    assert run_tool("mge-profile", "check", file).code == 0
    # Written once more it is the same to its readers.
    again = tmp_path / "again.json"
    assert run_tool("mge-profile", "export", file, "--megengine", again).code == 0
    twice = run_tool("mge-profile", "show", again, "--show-host", "--order-by=+index").result
    assert twice == shown
