# SPDX-License-Identifier: Apache-2.0
"""mge-profile export: traces, tables, MegEngine's format and pages."""

import csv
import json
import math
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from browser_pages import Elements, Scripts, dom_of, looks_of, needs_browser

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ROOT / "tests/data/profiles"


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
    # Steps of a run are inside of it, one after the other.
    run = next(e for e in events if e.get("cat") == "run")
    inside = [e for e in spans if e["args"]["run"] == 0]
    assert math.isclose(sum(e["dur"] for e in inside), run["dur"], abs_tol=1e-3)


def test_export_csv(run_tool, profile):
    done = run_tool("mge-profile", "export", profile[0], "--csv", "-")
    rows = list(csv.DictReader(done.out.splitlines()))
    content = json.loads(profile[0].read_text())
    assert [r["type"] for r in rows] == [s["op"] for s in content["steps"]]
    assert math.isclose(sum(float(r["share"]) for r in rows), 1, abs_tol=1e-6)


def test_megengine_export_equals_the_source(run_tool, tmp_path):
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
    assert data["peak"]["busy"] in (True, False)
    assert "://" not in out.read_text().replace("http://www.w3.org/2000/svg", "")


def test_page_boxes_fill_the_area_below_the_line(run_tool, profile, tmp_path):
    """Values and workspaces, in each step as many bytes as are live."""
    out = tmp_path / "page.html"
    assert run_tool("mge-profile", "export", profile[0], "--html", out).code == 0
    memory = json.loads(Scripts(out.read_text()).texts["data"])["memory"]
    boxes, steps = memory["boxes"], range(len(memory["live"]))
    assert [
        sum(b["bytes"] for b in boxes if b["first"] <= step <= b["last"]) for step in steps
    ] == memory["live"]


class Drawn(HTMLParser):
    """Number of elements of each type in each part of the page."""

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


@needs_browser
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
    peak = json.loads(Scripts(out.read_text()).texts["data"])["peak"]
    assert page.counts["roofline"].get("path", 0) == (1 + len(peak["caches"]) if peak else 0)
    assert page.counts["types"]["tr"] >= 2
    assert page.counts["steps"]["tr"] == steps + 1
    assert page.counts["steps"].get("img", 0) == 0


@needs_browser
def test_a_page_draws_workspaces(run_tool, profile, tmp_path):
    content = json.loads(profile[0].read_text())
    for step in content["steps"]:
        step.update(workspace=0)
    content["steps"][0].update(workspace=4096, workspace_offset=0)
    file, out = tmp_path / "edited.json", tmp_path / "page.html"
    file.write_text(json.dumps(content))
    assert run_tool("mge-profile", "export", file, "--html", out).code == 0
    page = Elements(dom_of(out, tmp_path))
    kinds = [e["attributes"].get("class") for e in page.of("memory", "rect")]
    assert kinds.count("step workspace") == 1


# Writes measurements of a browser into the page: how far texts exceed their drawings, and where the
# columns of the operators end relative to the part that needs no scrolling.
PROBE = r"""
<script>
const beyond = [...document.querySelectorAll(".chart svg")].flatMap((svg) =>
  [...svg.querySelectorAll("text")].filter((t) => !t.closest("[clip-path]")).map((t) => {
    const box = t.getBBox();
    return [t.textContent, Math.max(-box.x, box.x + box.width - svg.clientWidth)];
  }).filter(([, pixels]) => pixels > 0));
// Names of lines that lie on each other: boxes along the lines, which all rise alike.
const names = [...document.querySelectorAll("#roofline text.name")].map((t) => {
  const [, angle, px, py] = /rotate\((\S+) (\S+) (\S+)\)/.exec(t.getAttribute("transform"));
  const r = -angle * Math.PI / 180, box = t.getBBox();
  const left = box.x + px * Math.cos(r) - py * Math.sin(r) - px;
  const top = box.y + px * Math.sin(r) + py * Math.cos(r) - py;
  return { text: t.textContent, left, top, right: left + box.width, bottom: top + box.height };
});
const overlaps = names.flatMap((a, i) => names.slice(i + 1).filter((b) =>
  a.left < b.right && b.left < a.right && a.top + 2 < b.bottom - 2 && b.top + 2 < a.bottom - 2
).map((b) => [a.text, b.text]));
const holder = document.getElementById("steps").parentElement.getBoundingClientRect();
const columns = [...document.querySelectorAll("#steps th")].map((th) =>
  [th.textContent, th.getBoundingClientRect().right - holder.right]);
document.documentElement.setAttribute("data-probe", JSON.stringify({ beyond, columns, overlaps }));
</script>
"""


def page_of(run_tool, profile, tmp_path, *, flags=(), **changes):
    """The elements of the page of a profile with other contents, and what the probe found."""
    file, out = tmp_path / "changed.json", tmp_path / "page.html"
    file.write_text(json.dumps(json.loads(profile.read_text()) | changes))
    assert run_tool("mge-profile", "export", file, "--html", out).code == 0
    out.write_text(out.read_text().replace("</body>", PROBE + "</body>"))
    page = Elements(dom_of(out, tmp_path, *flags))
    return page, json.loads(page.all[0]["attributes"]["data-probe"])


def text_of(page, name):
    return next(e["text"] for e in page.all if e["attributes"].get("id") == name)


@needs_browser
def test_page_is_named_after_the_file_and_shows_its_folder(run_tool, profile, tmp_path):
    path = "/a/folder/of many/words/net.mge"
    page, _ = page_of(run_tool, profile[0], tmp_path, model=path)
    assert text_of(page, "title") == "net.mge"
    assert [e["text"] for e in page.all if e["tag"] == "title"][0] == "net.mge – mge-profile"
    assert [e["text"] for e in page.all if e["tag"] == "p" and e["text"] == path]


@needs_browser
@pytest.mark.parametrize("is_known", [True, False])
def test_a_page_shows_how_it_was_recorded(run_tool, profile, tmp_path, is_known):
    recording = {"date": "2026-11-29T12:38:31Z", "commit": "0123456789ab", "libraries": "mge 1.0.0"}
    recording |= {"command": ["load_and_run", "<b>.mge"], "options": []}
    recording["options"].append({"name": "precision", "value": "relaxed"})
    if not is_known:
        recording = dict.fromkeys(("date", "commit", "libraries"), "") | {
            "command": [],
            "options": [],
        }
    page, _ = page_of(run_tool, profile[0], tmp_path, recording=recording, model="net.mge")
    lines = [e["text"] for e in page.of("recording", "p")]
    version = json.loads(profile[0].read_text())["version"]
    assert lines == (
        [
            "2026-11-29 12:38 UTC · mge 1.0.0, commit 0123456789ab",
            "load_and_run '<b>.mge'",
            "options: precision=relaxed",
        ]
        if is_known
        else [f"mge {version}"]
    )


@needs_browser
def test_weights_of_a_page_match_a_run(run_tool, profile, tmp_path):
    """Packed copies too: they are most of what is left when weights are released."""
    memory = {"plan": 4096, "plan_lower_bound": 4096, "inputs_outputs": 0}
    memory |= {"weights": 40, "packed_weights": 44 << 20}
    page, _ = page_of(run_tool, profile[0], tmp_path, memory=memory)
    names, values = ([e["text"] for e in page.of("summary", tag)] for tag in ("dt", "dd"))
    cards = dict(zip(names, values, strict=True))
    assert cards["weights"] == "44.0 MiB"


@needs_browser
@pytest.mark.parametrize("share", [1e-6, 1e6])
def test_page_explains_points_above_the_roof(run_tool, profile, tmp_path, share):
    content = json.loads(profile[0].read_text())
    peak = {"operations_per_s": 1e11 * share, "bytes_per_s": 1e10 * share, "busy": False}
    host = content["host"] | {"peak": peak}
    page, _ = page_of(run_tool, profile[0], tmp_path, host=host)
    hint, points = text_of(page, "roofline-hint"), len(page.of("roofline", "circle"))
    assert ("above the roof" in hint) == (share < 1)
    if share < 1:
        assert f"{points} of {points} operators" in hint and "caches" in hint
    # Operations are counted in FLOP, with a small k for a thousand of them.
    assert not re.search(r"FLO\b|KFLO", page.all[0]["text"])


@needs_browser
@pytest.mark.parametrize("width", [500, 1300, 2560])
def test_the_roofs_of_caches_have_labels(run_tool, profile, tmp_path, width):
    content = json.loads(profile[0].read_text())
    peak = {"operations_per_s": 4e11, "bytes_per_s": 3e10, "busy": False}
    rates = {"L3": 1e11, "L2": 4e11, "L1": 9e11}
    peak["caches"] = [{"name": name, "bytes_per_s": rate} for name, rate in rates.items()]
    # Above memory, by data from the second cache.
    content["steps"][0].update(operations=1e6, bytes=1e6, algorithm="plain")
    for run in content["runs"]:
        run["ends_ns"] = [4000 + 1000 * i for i in range(len(content["steps"]))]
        run.pop("begins_ns", None)
    page, found = page_of(
        run_tool,
        profile[0],
        tmp_path,
        host=content["host"] | {"peak": peak},
        steps=content["steps"],
        runs=content["runs"],
        flags=[f"--window-size={width},2400"],
    )
    texts = [e["text"] for e in page.of("roofline", "text")]
    for name in ("memory", *rates):
        assert [t for t in texts if t.startswith(name + " ")], name
    assert found["beyond"] == [] and found["overlaps"] == []
    assert "dashed lines" in text_of(page, "roofline-hint")


@needs_browser
@pytest.mark.parametrize("width", [1000, 1300])
def test_no_label_is_cut_and_rates_need_no_scrolling(run_tool, profile, tmp_path, width):
    long = [
        s | {"name": "a name that is too long for any column " * 4}
        for s in json.loads(profile[0].read_text())["steps"]
    ]
    page, found = page_of(
        run_tool, profile[0], tmp_path, steps=long, flags=[f"--window-size={width},2400"]
    )
    assert found["beyond"] == []
    assert page.of("roofline", "text") and page.of("memory", "text") and page.of("timeline", "text")
    assert dict(found["columns"])["FLOP/s"] < 0


@needs_browser
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [500, 1300, 2560])
def test_looks_of_the_page(run_tool, profile, tmp_path, width, scheme):
    out = tmp_path / "page.html"
    assert run_tool("mge-profile", "export", profile[0], "--html", out).code == 0
    assert looks_of(out, tmp_path, width, scheme) == {"wide": [], "faint": []}


@needs_browser
def test_a_page_of_many_steps_has_few_elements(run_tool, profile, tmp_path):
    """Rows out of sight and boxes narrower than a pixel are no elements; a link finds its row."""
    content = json.loads(profile[0].read_text())
    step, value = content["steps"][0], content["values"][0]
    step |= {"origins": [], "inputs": [], "workspace": 0}
    step.pop("workspace_offset", None)
    count = 4000
    content["steps"] = [step | {"name": f"step{i}", "outputs": [i]} for i in range(count)]
    place = {"place": "arena", "bytes": 64, "shape": [16], "dtype": "float32"}
    content["values"] = [
        value | place | {"name": f"v{i}", "offset": i % 9 * 64, "first_step": i, "last_step": i}
        for i in range(count)
    ]
    ends = [10_000 * (i + 1) + i % 7 for i in range(count)]
    content["runs"] = [{"thread": 0, "start_ns": 0, "ends_ns": ends}]
    content |= {"runs_total": 1, "inner_steps": [], "operators": []}
    file, out = tmp_path / "many.json", tmp_path / "page.html"
    file.write_text(json.dumps(content))
    assert run_tool("mge-profile", "export", file, "--html", out).code == 0
    page = Elements(dom_of(out.as_uri() + "#step=step3210", tmp_path))
    assert "data-error" not in page.all[0]["attributes"]
    rows = page.of("steps", "tr")
    (chosen,) = [r for r in rows if r["attributes"].get("class") == "chosen"]
    assert chosen["text"].startswith("step3210")
    assert len(rows) < 100 and len(page.all) < 5000
    table = next(e for e in page.all if e["attributes"].get("id") == "steps")
    assert table["attributes"]["aria-rowcount"] == str(count + 1)
    assert (
        len(page.of("memory", "rect")) < 100 < len(page.of("memory", "path")[0]["attributes"]["d"])
    )


def test_page_holds_runs_findings_and_limits(run_tool, profile, tmp_path):
    out = tmp_path / "page.html"
    flags = ("--graph-page", "graph.html")
    assert run_tool("mge-profile", "export", profile[0], "--html", out, *flags).code == 0
    data = json.loads(Scripts(out.read_text()).texts["data"])
    report = run_tool("mge-profile", "show", profile[0], "--top=0", "--order-by=+index").result
    assert len(data["runs"]) == 10 and data["graph_page"] == "graph.html"
    times = sorted(run["duration"] for run in data["runs"])
    assert report["runs"]["p50_s"] == pytest.approx(times[5])
    assert data["runs"][data["median_run"]]["duration"] in (times[4], times[5])
    assert [f["title"] for f in data["findings"]] == [f["title"] for f in report["findings"]]
    assert [s["bound"] for s in data["steps"]] == [row["bound"] for row in report["device"]]
    assert all(s["least"] <= s["time"] <= s["most"] for s in data["steps"])


@pytest.mark.parametrize(
    "algorithm, share",
    [
        ("onednn:jit_fp32_wino_2x3:x", 16 / 36),
        ("onednn:jit_fp32_wino_4x3:x", 1 / 4),
        ("winograd", 1 / 4),
        ("plain", 1),
    ],
)
def test_winograd_counts_the_work_of_its_algorithm(run_tool, profile, tmp_path, algorithm, share):
    content = json.loads(profile[0].read_text())
    content["steps"][0].update(algorithm=algorithm, operations=1440.0)
    file, out = tmp_path / "edited.json", tmp_path / "page.html"
    file.write_text(json.dumps(content))
    assert run_tool("mge-profile", "export", file, "--html", out).code == 0
    step = json.loads(Scripts(out.read_text()).texts["data"])["steps"][0]
    assert step["real_operations"] == pytest.approx(1440 * share)


def test_the_host_has_no_track_where_it_equals_the_device(run_tool, small_model, tmp_path):
    file, out = tmp_path / "run.json", tmp_path / "page.html"
    flags = ("--iter", 3, "--profile-host", file)
    assert run_tool("load_and_run", small_model, *flags).code == 0
    content = json.loads(file.read_text())
    for wait, tracks in ((0, 1), (1000, 2)):
        for run in content["runs"]:
            ends, begins, at = [], [], 0
            for _ in content["steps"]:
                begins.append(at + wait)
                at += 1000 + wait
                ends.append(at)
            run.update(begins_ns=begins, ends_ns=ends)
        file.write_text(json.dumps(content))
        assert run_tool("mge-profile", "export", file, "--html", out).code == 0
        data = json.loads(Scripts(out.read_text()).texts["data"])
        assert len(data["tracks"]) == tracks
