# SPDX-License-Identifier: Apache-2.0
"""mge-profile and load_and_run --profile, as processes."""

import csv
import json
import math
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

import jsonschema
import pytest

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ROOT / "tests/data/profiles"
SCHEMA = json.loads((ROOT / "docs/schemas/profile.schema.json").read_text())
ANALYSED = json.loads((PROFILES / "analysed.json").read_text())
USAGE, BAD_FILE = 2, 5


@pytest.fixture
def profile(run_tool, small_model, tmp_path):
    """The path of a profile of ten runs, and the report of load_and_run."""
    path = tmp_path / "small.json"
    done = run_tool("load_and_run", small_model, "--iter", 10, "--profile", path)
    assert done.code == 0, done.err
    return path, done.result


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
    # What the model calls its nodes is found again in the fused kernels.
    assert sum(len(s["sources"]) for s in content["steps"]) >= 3
    assert any(len(s["sources"]) > 1 for s in content["steps"])


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
def test_show_prints_what_profile_analyze_prints(tool_path, case):
    """Letter for letter, for every combination of arguments that was recorded."""
    arguments = case["arguments"].split()
    done = subprocess.run(
        [tool_path("mge-profile"), "show", PROFILES / case["profile"], "--style=grid", *arguments],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.split("\n") == case["text"].split("\n")


def test_show_reports_what_it_prints(run_tool):
    done = run_tool("mge-profile", "show", PROFILES / "mlp.profile.json", "--type", "MatrixMul")
    rows = done.result["device"]
    assert [r["id"] for r in rows] == ["10", "19", "26"]
    assert math.isclose(done.result["total_device_time_s"], 186e-6, rel_tol=1e-9)
    assert rows[0]["operations"] == 2304
    assert math.isclose(rows[0]["operations_per_s"], 2304 / 33e-6, rel_tol=1e-9)
    assert rows[0]["in_shapes"] == [[4, 12], [24, 12]]
    for row in rows:
        assert row["name"] in done.out


@pytest.mark.parametrize(
    "filters, named",
    [
        (["--type", "nosuch"], "--type: no operator has 'nosuch'; there are "),
        (["--type", "nosuch", "--type", "neither"], "--type: no operator has 'nosuch'"),
        (["--input-dtype", "Float31"], "no operator has 'Float31'; there are Float32"),
    ],
)
@pytest.mark.parametrize("command", ["show", "diff"])
def test_filters_that_nothing_can_pass(run_tool, command, filters, named):
    files = [PROFILES / "mlp.profile.json"] * (1 + (command == "diff"))
    done = run_tool("mge-profile", command, *files, *filters)
    assert done.code == USAGE and named in done.err


def test_host_times_that_were_not_recorded(run_tool, profile):
    done = run_tool("mge-profile", "show", profile[0], "--show-host")
    assert done.code == 0 and "load_and_run --profile-host" in done.out
    assert "no operator is selected" not in done.out


def test_units_are_of_one_kind(run_tool, profile):
    """Bytes by 1024, operations by 1000."""
    out = run_tool("mge-profile", "show", profile[0], "--top", "0", "--peak").out
    assert re.search(r"measured peak: [\d.]+ [GT]FLOP/s, [\d.]+ [MG]iB/s", out)
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


def test_diff_finds_what_changed(run_tool, profile, tmp_path):
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
    done = run_tool(
        "mge-profile",
        "diff",
        PROFILES / "mlp.profile.json",
        PROFILES / "resnet.profile.json",
        "--top",
        "0",
    )
    assert done.code == 0
    assert any(c["after_s"] is None for c in done.result["changes"])
    assert any(c["before_s"] is None for c in done.result["changes"])


# --- export --------------------------------------------------------------------------------------


def test_export_chrome_trace(run_tool, profile, tmp_path):
    out = tmp_path / "trace.json"
    assert run_tool("mge-profile", "export", profile[0], "--chrome", out).code == 0
    content = json.loads(profile[0].read_text())
    events = json.loads(out.read_text())["traceEvents"]
    spans = [e for e in events if e["ph"] == "X" and e.get("cat") != "run"]
    assert len(spans) == len(content["steps"]) * len(content["runs"])
    assert all({"name", "ts", "dur", "pid", "tid"} <= e.keys() and e["dur"] >= 0 for e in spans)
    assert len([e for e in events if e.get("cat") == "run"]) == len(content["runs"])
    assert {e["name"] for e in events if e["ph"] == "M"} == {"process_name", "thread_name"}
    assert any(len(e["args"].get("sources", [])) > 1 for e in spans)
    # Steps of a run lie inside of it, one after the other.
    run = next(e for e in events if e.get("cat") == "run")
    inside = [e for e in spans if e["args"]["run"] == 0]
    assert math.isclose(sum(e["dur"] for e in inside), run["dur"], abs_tol=1e-3)


def test_export_csv(run_tool, profile):
    done = run_tool("mge-profile", "export", profile[0], "--csv", "-")
    rows = list(csv.DictReader(done.out.splitlines()))
    content = json.loads(profile[0].read_text())
    assert [r["type"] for r in rows] == [s["op"] for s in content["steps"]]
    assert math.isclose(sum(float(r["share"]) for r in rows), 1, abs_tol=1e-6)


def test_megengine_export_is_what_was_read(run_tool, tmp_path):
    """Their profile, written again, gives the same tables."""
    for net in ("mlp", "resnet", "dynamic"):
        source, out = PROFILES / f"{net}.profile.json", tmp_path / f"{net}.json"
        assert run_tool("mge-profile", "export", source, "--megengine", out).code == 0
        flags = ["--style=grid", "--top=0", "--show-host"]
        before = run_tool("mge-profile", "show", source, *flags)
        after = run_tool("mge-profile", "show", out, *flags)
        assert after.out == before.out


def test_megengine_export_of_ours(run_tool, profile, tmp_path):
    out = tmp_path / "theirs.json"
    assert run_tool("mge-profile", "export", profile[0], "--megengine", out).code == 0
    ours, theirs = json.loads(profile[0].read_text()), json.loads(out.read_text())
    graph, profiler = theirs["graph_exec"], theirs["profiler"]
    assert len(graph["comp_seq"]) == len(ours["steps"]) == len(profiler["device"])
    for operator in graph["operator"].values():
        assert all(v in graph["var"] for v in operator["input"] + operator["output"])
    again = run_tool("mge-profile", "show", out, "--top=0", "--order-by=+index")
    assert [r["type"] for r in again.result["device"]] == [s["op"] for s in ours["steps"]]


class Scripts(HTMLParser):
    """The texts of the script elements, by id."""

    def __init__(self, text):
        super().__init__()
        self.texts, self.current, self.tags = {}, None, []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.append((tag, dict(attributes)))
        self.current = dict(attributes).get("id", "code") if tag == "script" else None

    def handle_data(self, text):
        if self.current:
            self.texts[self.current] = self.texts.get(self.current, "") + text

    def handle_endtag(self, tag):
        self.current = None


def hostile(profile, tmp_path):
    """The same profile with names that would like to be part of the page."""
    content = json.loads(profile.read_text())
    content["model"] = "</script><script>document.documentElement.dataset.owned=1</script>"
    for step in content["steps"]:
        step["name"] = "<img src=x onerror='document.documentElement.dataset.owned=1'>&quot;"
        step["sources"] = ["<!--<script>", "]]>", "\u2028${1}`"]
    path = tmp_path / "hostile.json"
    path.write_text(json.dumps(content))
    return path


def test_html_is_one_page_and_safe(run_tool, profile, tmp_path):
    out = tmp_path / "page.html"
    assert run_tool("mge-profile", "export", hostile(profile[0], tmp_path), "--html", out).code == 0
    page = Scripts(out.read_text())
    assert set(page.texts) == {"data", "code"}
    assert not [a for _, a in page.tags if "src" in a or "href" in a]
    data = json.loads(page.texts["data"])
    assert data["model"].startswith("</script>")
    assert "://" not in out.read_text().replace("http://www.w3.org/2000/svg", "")


def browser():
    for name in ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    return None


def dom_of(page, tmp_path, *flags):
    """The page's elements after its script has run in a headless browser."""
    done = subprocess.run(
        [
            browser(), "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
            f"--user-data-dir={tmp_path / 'browser'}", "--window-size=1300,2400",
            "--virtual-time-budget=5000", *flags, "--dump-dom", page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=600,
        check=True,
        env={**os.environ, "LD_PRELOAD": ""},  # no sanitizer's runtime in the browser
    )  # fmt: skip
    return done.stdout


class Drawn(HTMLParser):
    """How many elements of each kind stand in each part of the page."""

    PARTS = ("timeline", "memory", "roofline", "types", "steps")

    def __init__(self, text):
        super().__init__()
        self.counts, self.part, self.root = {p: {} for p in self.PARTS}, None, {}
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "html":
            self.root = attributes
        if attributes.get("id") in self.PARTS:
            self.part = attributes["id"]
        elif "id" in attributes and attributes["id"] != "plot":
            self.part = None
        if self.part:
            counts = self.counts[self.part]
            counts[tag] = counts.get(tag, 0) + 1


@pytest.mark.skipif(not browser(), reason="no Chromium: apt-get install chromium-headless-shell")
@pytest.mark.parametrize("source", ["ours", "hostile", "megengine"])
def test_page_in_a_browser(run_tool, request, tmp_path, source):
    """Every part of the page is drawn, nothing fails, and names of strangers stay names."""
    if source == "megengine":
        file = PROFILES / "resnet.profile.json"
    else:
        file = request.getfixturevalue("profile")[0]
    if source == "hostile":
        file = hostile(file, tmp_path)
    out = tmp_path / "page.html"
    assert run_tool("mge-profile", "export", file, "--html", out).code == 0
    page = Drawn(dom_of(out, tmp_path))
    assert "data-error" not in page.root
    assert "data-owned" not in page.root
    assert page.root["data-ready"] == "true"
    steps = len(json.loads(Scripts(out.read_text()).texts["data"])["steps"])
    assert page.counts["timeline"]["svg"] == 1
    assert page.counts["timeline"]["rect"] > min(steps, 3)
    assert page.counts["memory"]["path"] == 1
    assert page.counts["roofline"]["circle"] >= 1
    assert page.counts["roofline"].get("path", 0) == (0 if source == "megengine" else 1)
    assert page.counts["types"]["tr"] >= 2
    assert page.counts["steps"]["tr"] == steps + 1
    assert page.counts["steps"].get("img", 0) == 0


# --- check, and files of strangers ---------------------------------------------------------------


def test_check(run_tool, profile, tmp_path):
    done = run_tool("mge-profile", "check", profile[0], *sorted(PROFILES.glob("*.profile.json")))
    assert done.code == 0
    assert [f["format"] for f in done.result["files"]] == ["mge-profile"] + 3 * ["megengine"]
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    done = run_tool("mge-profile", "check", bad, profile[0])
    assert done.code == BAD_FILE
    assert "fault" in done.result["files"][0]
    assert "fault" not in done.result["files"][1]


@dataclass
class Consumed:
    code: int
    err: str
    seconds: float  # of processor time, which other work changes little
    bytes: int  # of memory at most


# A child's largest size counts from its parent's: this small process stands between them.
ALONE = """
import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=subprocess.DEVNULL)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024)
"""


def consumed(tool_path, *args):
    """Runs mge-profile alone and says what that took."""
    done = subprocess.run(
        [sys.executable, "-c", ALONE, tool_path("mge-profile"), *map(str, args)],
        capture_output=True,
        text=True,
        timeout=600,  # it hangs
    )
    code, seconds, size = done.stdout.split()
    return Consumed(int(code), done.stderr, float(seconds), int(size))


def megengine(**changes):
    parts = {
        "operator": '{"1": {"name": "a", "type": "T", "input": ["11"], "output": ["12"]}}',
        "var": '{"11": {"name": "u"}, "12": {"name": "v"}}',
        "comp_seq": '["1"]',
        "device": '{"1": {"cpu0": {"start": 0, "kern": 0, "end": 1}}}',
        "host": "{}",
        **changes,
    }
    return (
        f'{{"graph_exec": {{"operator": {parts["operator"]}, "var": {parts["var"]},'
        f' "mem_chunk": {{}}, "comp_seq": {parts["comp_seq"]}}},'
        f' "profiler": {{"device": {parts["device"]}, "host": {parts["host"]}}}}}'
    )


def span(end):
    return f'{{"1": {{"cpu0": {{"start": 0, "kern": 0, "end": {end}}}}}}}'


def cycle(n):
    """n operators in a ring, each reading what the one before it makes."""
    return json.dumps(
        {
            str(i): {
                "name": "o",
                "type": "T",
                "input": [str(n + i)],
                "output": [str(n + (i + 1) % n)],
            }
            for i in range(n)
        }
    )


HOSTILE = {
    "arrays": "[" * 100_000,
    "objects": '{"a":' * 100_000,
    "closed": "[" * 100_000 + "]" * 100_000,
    "inside": megengine(device="[" * 100_000 + "]" * 100_000),
    "nan": megengine(device=span("NaN")),
    "quoted nan": megengine(device=span('"NaN"')),
    "infinity": megengine(device=span("Infinity")),
    "too large": megengine(device=span("1e999")),
    "null": megengine(device=span("null")),
    "backwards": megengine(device=span("-1")),
    "own result": megengine(
        operator='{"1": {"name": "a", "type": "T", "input": ["12"], "output": ["12"]}}'
    ),
    "cycle": megengine(
        operator=cycle(10_000),
        var=json.dumps({str(i): {"name": "v"} for i in range(10_000, 20_000)}),
    ),
    "unknown id": megengine(comp_seq='["7"]'),
    "empty": "",
    "text": "profile",
    "no utf-8": b"\xff\xfe{}",
    "zeros": b"\0" * 1000,
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("command", ["check", "show"])
def test_hostile_profile_is_refused(tool_path, tmp_path, name, command):
    path = tmp_path / "hostile.json"
    content = HOSTILE[name]
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = consumed(tool_path, command, path)
    assert done.code == BAD_FILE, done.err
    assert len(done.err.strip().splitlines()) == 1
    assert len(done.err) < 500


MEGABYTES = 100


def large(kind, megabytes):
    """Pieces of a file of about so many megabytes."""
    size = megabytes * 1_000_000
    if kind == "numbers":
        yield "[0"
        yield ",0" * (size // 2)
        yield "]"
    elif kind == "arrays":
        yield '{"graph_exec":['
        yield "[]," * (size // 3)
        yield "[]]}"
    elif kind == "one name":
        operator = {"1": {"name": "x" * size, "type": "T", "input": [], "output": []}}
        yield megengine(operator=json.dumps(operator))
    elif kind == "cycle":
        n = size // 105
        names = {str(i): {"name": "v"} for i in range(n, 2 * n)}
        yield megengine(operator=cycle(n), var=json.dumps(names))
    else:
        yield from many_operators(size // 365)


def many_operators(n):
    """A sound profile of a chain of operators: the i-th makes v<i> of v<i - 1>."""

    def section(member):
        """This member n times; "<" in it stands for i - 1 and ">" for i."""
        text = json.dumps(member)[1:-1]
        for i in range(n):
            yield ("," if i else "") + text.replace("<", str(i - 1)).replace(">", str(i))

    yield '{"graph_exec": {"operator": {'
    yield from section(
        {">": {"name": "a" * 60 + ">", "type": "T", "input": ["v<"], "output": ["v>"]}}
    )
    yield '}, "var": {"v-1": {"name": "x"},'
    yield from section({"v>": {"name": "v>", "mem_plan": None, "flag": []}})
    yield '}, "mem_chunk": {}, "comp_seq": ['
    yield ",".join(f'"{i}"' for i in range(n))
    yield ']}, "profiler": {"device": {'
    yield from section({">": {"cpu0": {"start": 1e-6, "kern": 2e-6, "end": 3.5e-6}}})
    yield '}, "host": {}, "opr_footprint": {'
    footprint = {"computation": 10, "memory": 20, "in_shapes": [[4, 5]], "out_shapes": [[4, 5]]}
    yield from section({">": footprint})
    yield "}}}"


def read_large(tool_path, path, kind, megabytes):
    with open(path, "w") as file:
        file.writelines(large(kind, megabytes))
    assert path.stat().st_size > 0.9 * megabytes * 1e6
    done = consumed(tool_path, "show", path)
    path.unlink()
    assert done.code == (0 if kind in ("sound", "one name") else BAD_FILE), done.err
    return done


@pytest.mark.parametrize("kind", ["sound", "numbers", "arrays", "one name", "cycle"])
def test_large_profile(tool_path, tmp_path, kind):
    """100 MB are read, or refused, in 1 GiB, and in a time that grows with the size alone.

    What grows with its square takes 16 times as long for 4 times as much.
    """
    # A larger cycle is refused before it is looked for.
    size = 20 if kind == "cycle" else MEGABYTES
    quarter = read_large(tool_path, tmp_path / "quarter.json", kind, size // 4)
    done = read_large(tool_path, tmp_path / "large.json", kind, size)
    if "MGE_SANITIZED" in os.environ:
        pytest.skip("time and memory of the sanitizer")
    assert done.seconds < 9 * quarter.seconds
    assert done.bytes < 1 << 30
