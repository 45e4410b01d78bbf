# SPDX-License-Identifier: Apache-2.0
"""scripts/regression finds a slow, a wrong and a broken model among good ones."""

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/regression"


@pytest.fixture
def project(small_model, run_tool, tmp_path):
    """A folder with a model, its input and its outputs."""
    (tmp_path / "good.mge").write_bytes(small_model.read_bytes())
    (tmp_path / "broken.mge").write_bytes(small_model.read_bytes()[:-100])
    np.save(tmp_path / "x.npy", np.linspace(-1, 1, 6, dtype="float32").reshape(2, 3))
    arguments = ["--input", f"x:{tmp_path}/x.npy", "--dump-outputs", tmp_path / "right.npz"]
    assert run_tool("load_and_run", small_model, *arguments).code == 0
    right = dict(np.load(tmp_path / "right.npz"))
    np.savez(tmp_path / "wrong.npz", **{name: value + 0.5 for name, value in right.items()})
    return tmp_path


@pytest.fixture
def regression(tool_path, project):
    def run(command, *models, extra=()):
        text = "[defaults]\nthreads = 1\nduration = 0.2\ninput = 'x:x.npy'\n"
        for model in models:
            text += "[[model]]\n" + "".join(f"{k} = {json.dumps(v)}\n" for k, v in model.items())
        (project / "models.toml").write_text(text)
        return subprocess.run(
            [sys.executable, SCRIPT, command, project / "models.toml"]
            + ["--baseline", project / "baseline", "--tool", tool_path("load_and_run")]
            + ["--junit", project / "junit.xml", "--markdown", project / "table.md", *extra],
            capture_output=True,
            text=True,
            check=False,
        )

    return run


GOOD = {"name": "good", "path": "good.mge", "reference": "right.npz", "largest_slowdown": "300%"}
SLOW = {"name": "slow", "path": "good.mge", "largest_slowdown": "20%"}
PLANTED = SLOW | {"arguments": ["--plant-slowdown", "400"]}
WRONG = {"name": "wrong", "path": "good.mge", "reference": "wrong.npz", "largest_slowdown": "300%"}
BROKEN = {"name": "broken", "path": "broken.mge"}


def test_planted_faults_are_found_one_by_one(regression, project):
    done = regression("update", GOOD, SLOW)
    assert done.returncode == 0, done.stdout + done.stderr
    for name in ("wrong",):  # the baseline of a model that is right in speed
        (project / f"baseline/{name}.json").write_text((project / "baseline/good.json").read_text())
    alone = regression("run", GOOD)
    assert alone.returncode == 0
    assert alone.stdout.endswith("\n1 model, 1 fine, 0 not.\n")
    assert regression("run", GOOD, PLANTED).returncode == 3
    assert regression("run", GOOD, WRONG).returncode == 7
    assert regression("run", GOOD, BROKEN).returncode == 5


def test_one_failure_does_not_stop_the_rest(regression, project):
    assert regression("update", GOOD, SLOW).returncode == 0
    done = regression("run", BROKEN, WRONG, PLANTED, GOOD)
    assert done.returncode == 5
    table = (project / "table.md").read_text()
    for row in ("broken | bad model", "slow | slower", "good | ok"):
        assert f"| {row} |" in table, table
    assert done.stdout == table and table.endswith("\n4 models, 1 fine, 3 not.\n")
    suite = ElementTree.parse(project / "junit.xml").getroot()
    cases = {(c.get("classname"), c.get("name")): c for c in suite}
    assert cases["good", "accuracy"].find("failure") is None
    assert cases["wrong", "accuracy"].find("failure").get("type") == "wrong"
    assert cases["slow", "speed"].find("failure").get("type") == "slower"
    assert cases["broken", "accuracy"].find("error").get("type") == "bad model"
    assert suite.get("failures") == "2"


def test_a_missing_baseline_is_usage(regression):
    done = regression("run", GOOD)
    assert done.returncode == 2 and "update makes it" in done.stdout


@pytest.mark.parametrize(
    "content, what",
    [
        ("", "names no model"),
        ("[[model", "cannot be read"),
        ("[[model]]\nname = 'a'\n", "has no path"),
        ("[[model]]\nname = 'a'\npath = 'p'\nspeed = 1\n", "there is no key 'speed'"),
        ("[[model]]\nname = 'a'\npath = 'p'\nthreads = '1'\n", "of the wrong type"),
        ("[[model]]\nname = 'a/b'\npath = 'p'\n", "has a slash"),
        ("[models]\n", "there is no section 'models'"),
        ("[model]\nname = 'a'\npath = 'p'\n", "in two pairs of brackets"),
        ("model = ['a']\n", "in two pairs of brackets"),
        ("defaults = 1\n", "write [defaults]"),
        ("[[defaults]]\n", "write [defaults]"),
        ("[[model]]\nname = ''\npath = 'p'\n", "is empty"),
        ('[[model]]\nname = "a\\u0000"\npath = "p"\n', "NUL"),
        ("x = " + "[" * 100_000, "cannot be read"),
        ("# " + "x" * (4 << 20), "more than 4 MiB"),
    ],
)
def test_invalid_files(content, what, tmp_path):
    (tmp_path / "models.toml").write_text(content)
    command = [
        sys.executable,
        SCRIPT,
        "run",
        tmp_path / "models.toml",
        "--baseline",
        tmp_path / "b",
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2 and what in done.stderr, done.stderr


def test_a_pipe_is_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    command = [sys.executable, SCRIPT, "run", tmp_path / "pipe", "--baseline", tmp_path / "b"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 2 and "not a regular file" in done.stderr
