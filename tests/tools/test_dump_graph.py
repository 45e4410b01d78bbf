# SPDX-License-Identifier: Apache-2.0
"""mge-dump graph: text, JSON, DOT and pictures."""

import json
import shutil
import xml.etree.ElementTree as ElementTree

import pytest

TOOL = "mge-dump"


def test_dot_goes_to_stdout(run_tool, image_model):
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


def test_graph_around_a_node(run_tool, image_model):
    near = run_tool(TOOL, "graph", image_model, "--around", "prob", "--depth", 0).out
    assert "softmax" in near and "conv" not in near
    assert "conv" in run_tool(TOOL, "graph", image_model, "--around", "prob", "--depth=99").out
    ran = run_tool(TOOL, "graph", image_model, "--around", "nobody")
    assert ran.code == 2 and "nobody" in ran.err


@pytest.mark.skipif(not shutil.which("dot"), reason="Graphviz is not installed")
def test_svg(run_tool, image_model, tmp_path):
    assert run_tool(TOOL, "graph", image_model, tmp_path / "g.svg").code == 0
    svg = ElementTree.parse(tmp_path / "g.svg").getroot()
    texts = {t.text for t in svg.iter("{http://www.w3.org/2000/svg}text")}
    assert "softmax" in texts and "data" in texts


def test_svg_without_graphviz(run_tool, image_model, tmp_path):
    ran = run_tool(TOOL, "graph", image_model, tmp_path / "g.svg", env={"PATH": str(tmp_path)})
    assert ran.code == 4 and "graphviz" in ran.err and not (tmp_path / "g.svg").exists()


def test_graph_and_report_do_not_share_stdout(run_tool, image_model):
    assert run_tool(TOOL, "graph", image_model, "--json", "-", "-").code == 2
