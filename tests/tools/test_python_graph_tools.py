# SPDX-License-Identifier: Apache-2.0
"""Programs of ``megengine.tools`` that read graphs, plans of memory and comparisons."""

import json
import shutil
import subprocess

import pytest

pytest.importorskip("megengine")

import megengine.functional as F
from megengine.jit import trace
from megengine.tools import accuracy_shake_var_tree, draw_graph, graph_info_analyze


@pytest.fixture
def run(monkeypatch, capsys):
    def run(tool, *arguments):
        monkeypatch.setattr("sys.argv", [tool.__name__, *map(str, arguments)])
        tool.main()
        return capsys.readouterr().out

    return run


def net(x):
    return F.softmax(F.exp(x) @ F.ones((3, 4)), axis=1)


@pytest.fixture
def profile(tmp_path):
    traced = trace(net, symbolic=True, capture_as_const=True, profiling=True)
    for _ in range(2):
        traced(F.ones((2, 3)))
    path = tmp_path / "profile.json"
    path.write_text(json.dumps(traced.get_profile()))
    return path


@pytest.fixture
def plan(build_dir, tmp_path):
    """The output of --get-static-mem-info, in a subfolder."""
    traced = trace(net, symbolic=True, capture_as_const=True)
    traced(F.ones((2, 3)))
    traced.dump(str(tmp_path / "net.mge"), arg_names=["x"], keep_var_name=0)
    folder = tmp_path / "plans" / "net"
    folder.parent.mkdir()
    command = [build_dir / "bin" / "load_and_run", tmp_path / "net.mge", "--iter", "1"]
    subprocess.run([*command, "--get-static-mem-info", folder], check=True, capture_output=True)
    return folder


def test_a_drawing_with_times(run, profile, tmp_path):
    assert "plot with" in run(draw_graph, "-i", profile, "-o", tmp_path / "net", "--profile")
    text = (tmp_path / "net.dot").read_text()
    assert text.startswith("digraph {") and text.count("->") == 3
    assert text.count("ms|") == 4 and "<const>" in text.replace("\\", "")


def test_a_part_of_a_graph(run, plan, tmp_path):
    path, graph = tmp_path / "net.dot", plan / "graph.json"
    values = graph_info_analyze.load_single_graph(graph)["var"]
    last = max(values)
    printed = run(
        draw_graph, "-i", graph, "-o", path, "-d", last, "--depth", 1, "--opr-attr", "axis"
    )
    assert "plot with 2 oprs" in printed
    text = path.read_text()
    assert text.count("->") == 1 and "matmul" in text and "axis: N/A" in text
    assert "{2,4}" in text.replace("\\", "")
    run(draw_graph, "-i", graph, "-o", path, "--prune-dangling-vars")
    assert f"<{last}>" not in path.read_text()
    assert "plot with 0 oprs" in run(draw_graph, "-i", graph, "-o", path, "--end-vars-from", graph)


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["-i", "none.json"], "none.json"),
        (["-i", "bad.json"], "'bad.json' does not hold a graph or a profile"),
        (["-i", "graph.json", "-d", "99"], "no variable 99"),
        (["-i", "graph.json", "--profile"], "no times"),
    ],
)
def test_a_drawing_of_something_else(run, plan, monkeypatch, arguments, message):
    monkeypatch.chdir(plan)
    (plan / "bad.json").write_text("[1]")
    with pytest.raises(SystemExit, match=message):
        run(draw_graph, *arguments, "-o", "net.dot")
    assert not (plan / "net.dot").exists()


def test_pictures_are_made_by_graphviz(run, profile, tmp_path, monkeypatch):
    arguments = ("-i", profile, "-o", tmp_path / "net", "--output-format", "svg")
    if shutil.which("dot"):
        run(draw_graph, *arguments)
        assert "<svg" in (tmp_path / "net.svg").read_text()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="install Graphviz"):
        run(draw_graph, *arguments)


def test_a_plan_of_memory(plan):
    memory = graph_info_analyze.load_mem_info(plan / "StaticMemoryInfo.json")
    assert memory["peak_memory"] >= max(node["size"] for node in memory["opr"].values()) > 0
    assert memory["weight_memory"] >= 3 * 4 * 4
    owners = {c["owner_opr"] for c in memory["chunk"].values() if c["type"] == "static_mem"}
    assert any("matmul" in name for name in owners)


def test_plans_for_tensorboard(run, plan, tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run(graph_info_analyze, "-i", plan.parent, "-o", tmp_path / "log")
    log = EventAccumulator(str(tmp_path / "log" / "net"))
    log.Reload()
    assert {"PEAK_MEMORY_SIZE", "PEAK0/<SUMMARY_INFO>"} <= set(log.Tags()["tensors"])
    names = {node.name: list(node.input) for node in log.Graph().node}
    (marked,) = (name for name in names if "_PEAK0_MAX0" in name)
    assert any(marked in inputs for inputs in names.values()) or "softmax" in marked


def test_folders_without_a_plan(run, tmp_path):
    with pytest.raises(SystemExit, match="has no graph.json"):
        run(graph_info_analyze, "-i", tmp_path, "-o", tmp_path / "log")
    (tmp_path / "StaticMemoryInfo.json").write_text("{}")
    pytest.importorskip("tensorboard")
    with pytest.raises(SystemExit, match="does not hold a plan of memory"):
        run(graph_info_analyze, "-i", tmp_path, "-o", tmp_path / "log")


# As MegEngine's script prints it: names are wrapped, and given for either dump.
DIFFERENCES = """\
a/000005: 
var={id:5, layout:{4} Float32, owner:a{ADD},
  name:a} owner_opr_inputs=0={id:1, name:x}
var={id:5, layout:{4} Float32, owner:a{ADD},
  name:a} owner_opr_inputs=0={id:1, name:x}
 not equal: shape=(4,) nonequal_idx=(0,) v0=1.0 v1=2.0 err=0.5
a/000007: 
var={id:7, name:c} owner_opr_inputs=0={id:6, name:b}
var={id:7, name:c} owner_opr_inputs=0={id:6, name:b}
 not equal: shape=(4,) nonequal_idx=(0,) v0=1.0 v1=2.0 err=0.5
a/000006: 
var={id:6, name:b} owner_opr_inputs=0={id:5, name:a}
  1={id:2, name:y}
var={id:6, name:b} owner_opr_inputs=0={id:5, name:a}
 not equal: shape=(4,) nonequal_idx=(1,) v0=1.0 v1=2.0 err=0.5
"""


def test_layers_that_lose_accuracy(run, tmp_path):
    path = tmp_path / "differences.txt"
    path.write_text(DIFFERENCES)
    roots = accuracy_shake_var_tree.parse(path)
    assert list(roots) == ["id:5"]
    node = accuracy_shake_var_tree.varNode.get_varNode
    assert [n.id for n in node("id:6").get_dependence_list()] == ["id:5", "id:2"]
    assert [n.id for n in node("id:5").get_reference_list()] == ["id:6"]
    assert node("id:7").get_dependence_list() == [node("id:6")]
    printed = run(accuracy_shake_var_tree, path)
    assert (
        printed.startswith("varnode root:\nid:5\ndetail info:\nvar={id:5,") and "v1=2.0" in printed
    )
    with pytest.raises(SystemExit, match="none.txt"):
        run(accuracy_shake_var_tree, tmp_path / "none.txt")
    with pytest.raises(ValueError, match="no id: in 'x'"):
        accuracy_shake_var_tree.get_dependence("x", "")
