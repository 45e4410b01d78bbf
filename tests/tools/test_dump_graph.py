# SPDX-License-Identifier: Apache-2.0
"""mge-dump graph: text, JSON, DOT and pictures."""

import json
import re
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

TOOL = "mge-dump"


def test_dot_is_written_to_stdout(run_tool, image_model):
    ran = run_tool(TOOL, "graph", image_model, "--quiet")
    assert ran.out.startswith("digraph") and ran.out.count("{") == ran.out.count("}")
    assert ran.result["format"] == "dot"


def test_graph_formats(run_tool, image_model, tmp_path):
    assert run_tool(TOOL, "graph", image_model, tmp_path / "g.json").code == 0
    graph = json.loads((tmp_path / "g.json").read_text())
    assert len(graph["nodes"]) == run_tool(TOOL, "info", image_model).result["summary"]["operators"]
    text = run_tool(TOOL, "graph", image_model, "--format", "text").out
    assert "input" in text and "softmax(" in text


def test_graph_flags(run_tool, image_model):
    plain = run_tool(TOOL, "graph", image_model).out
    assert "shape=note" not in plain and "padding" not in plain
    assert "shape=note" in run_tool(TOOL, "graph", image_model, "--constants").out
    assert "padding" in run_tool(TOOL, "graph", image_model, "--params").out


def test_colours_show_operator_facts(run_tool, write_model):
    import numpy as np

    import megengine as mge
    import megengine.functional as F

    weight = mge.tensor(np.ones((6, 4), "float32"))

    def net(x):
        y = F.exp(F.maximum(F.matmul(x, weight), 0.5))  # their names say "max", and nothing
        return F.sum(F.softmax(F.transpose(y, (1, 0)), axis=1), axis=0)

    model = write_model("colours", net, {"x": np.ones((3, 6), "float32")}, "y")
    dot = run_tool(TOOL, "graph", model).out
    meanings = dict(re.findall(r'BGCOLOR="(#\w+)"><FONT[^>]*>([^<]*)<', dot))
    drawn = re.findall(r'  n\d+ \[label="(\w+)[^"]*", fillcolor="(#\w+)"', dot)
    assert {op: meanings[fill].split(":")[0] for op, fill in drawn} == {
        "matmul": "convolutions, products",
        "maximum": "element by element",
        "exp": "element by element",
        "transpose": "moving data",
        "softmax": "normalisation",
        "sum": "reductions",
    }


def test_graph_around_a_node(run_tool, image_model):
    near = run_tool(TOOL, "graph", image_model, "--around", "prob", "--depth", 0).out
    assert "softmax" in near and "conv" not in near
    assert "conv" in run_tool(TOOL, "graph", image_model, "--around", "prob", "--depth=99").out
    ran = run_tool(TOOL, "graph", image_model, "--around", "nobody")
    assert ran.code == 2 and "nobody" in ran.err


def test_flags_that_no_output_would_show(run_tool, image_model, tmp_path):
    page = ("--html", tmp_path / "g.html")
    for flag in (["--constants"], ["--params"], ["--around", "prob"]):
        for outputs in (page, ("--format", "text"), ("--format", "json")):
            ran = run_tool(TOOL, "graph", image_model, *outputs, *flag)
            assert ran.code == 2 and f"{flag[0]} changes pictures" in ran.err
        assert run_tool(TOOL, "graph", image_model, tmp_path / "g.dot", *page, *flag).code == 0
    ran = run_tool(TOOL, "graph", image_model, *page, "--format", "dot")
    assert ran.code == 2 and "--format" in ran.err


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_svg(run_tool, image_model, tmp_path):
    assert run_tool(TOOL, "graph", image_model, tmp_path / "g.svg").code == 0
    svg = ElementTree.parse(tmp_path / "g.svg").getroot()
    texts = {t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert "softmax" in texts and "data" in texts


def test_picture_has_title_legend_and_constants_near_their_readers(run_tool, image_model, tmp_path):
    dot = run_tool(TOOL, "graph", image_model, "--constants").out
    ranks = dict(re.findall(r"\{ rank=same;((?: v\d+_\d+;)+) (n\d+); \}", dot))
    read = re.findall(r"  (v\d+_\d+) -> (n\d+) ", dot)
    assert read and {f"{c} {n}" for cs, n in ranks.items() for c in re.findall(r"v\w+", cs)} == {
        f"{constant} {reader}" for constant, reader in read
    }
    assert run_tool(TOOL, "graph", image_model, tmp_path / "g.svg").code == 0
    svg = ElementTree.parse(tmp_path / "g.svg").getroot()
    words = [t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")]
    assert any(image_model.name in word for word in words if word)
    assert "convolutions, products" in words and "element by element" in words


def test_svg_without_graphviz(run_tool, image_model, tmp_path):
    ran = run_tool(TOOL, "graph", image_model, tmp_path / "g.svg", env={"PATH": str(tmp_path)})
    assert ran.code == 4 and "graphviz" in ran.err and not (tmp_path / "g.svg").exists()


def test_graph_and_report_do_not_share_stdout(run_tool, image_model):
    assert run_tool(TOOL, "graph", image_model, "--json", "-", "-").code == 2
