# SPDX-License-Identifier: Apache-2.0
"""Each place that lists the tools by hand has all of them, and no other."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = (ROOT / "apps/CMakeLists.txt").read_text()
TOOLS = sorted(re.findall(r"^mge_(?:tool|program)\((\S+)", LINES, re.MULTILINE))

# The start and the end of a line that names a tool.
PLACES = {
    "pyproject.toml": (r"^", r" = \"_mge_tools:"),
    "packaging/conda/recipe.yaml": (r"^ +- ", r" = _mge_tools:"),
    "README.md": (r"^\| \[`", r"`\]\(docs/tools/"),
    "docs/reports.md": (r"^\| \[.*\| `", r" --json` \|$"),
    "mkdocs.yml": (r"tools/", r"\.md$"),
}


def test_all_tools_are_known():
    assert {"load_and_run", "mge-dump"} <= set(TOOLS)


@pytest.mark.parametrize("place", PLACES)
def test_lists(place):
    before, after = PLACES[place]
    text = (ROOT / place).read_text()
    assert sorted(re.findall(rf"{before}([\w-]+){after}", text, re.MULTILINE)) == TOOLS


def test_pages_of_schemas():
    pages = re.findall(r"schemas/(\S+)\.schema\.md", (ROOT / "mkdocs.yml").read_text())
    assert set(TOOLS) <= set(pages)


def test_reports_may_name_each_tool():
    envelope = json.loads((ROOT / "docs/schemas/envelope.schema.json").read_text())
    assert envelope["properties"]["tool"]["enum"] == TOOLS
    for tool in TOOLS:
        schema = json.loads((ROOT / f"docs/schemas/{tool}.schema.json").read_text())
        assert schema["properties"]["tool"] == {"const": tool}


def test_functions_of_the_wheel_are_named_after_the_tools():
    scripts = re.findall(
        r'^(\S+) = "_mge_tools:(\w+)"$', (ROOT / "pyproject.toml").read_text(), re.MULTILINE
    )
    assert scripts == [(tool, tool.replace("-", "_")) for tool in TOOLS]


def test_functions_of_the_wheel_start_the_tools(tmp_path):
    program = tmp_path / "megengine/bin/mge-dump"
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\necho "$0 $1"\n')
    program.chmod(0o755)
    shutil.copy(ROOT / "python/_mge_tools.py", tmp_path)

    def call(function):
        command = [sys.executable, "-c", f"from _mge_tools import {function}; {function}()", "info"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)

    assert call("mge_dump").stdout == f"{program} info\n"
    assert "ImportError" in call("mge_bump").stderr
