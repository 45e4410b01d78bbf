# SPDX-License-Identifier: Apache-2.0
""".venv holds what the examples need after scripts/quickstart, after scripts/test more."""

import os
import subprocess
from pathlib import Path

import pytest
from lib.requirements import requirements

ROOT = Path(__file__).resolve().parents[2]
PYPROJECT = """
[build-system]
requires = ["builder"]
[project]
dependencies = ["numpy>=1"]
[dependency-groups]
build = []
examples = ["learner"]
dev = [{ include-group = "examples" }, "checker"]
"""

# Lists the packages as ours does; notes what pip is asked for.
PYTHON = f"""#!/bin/sh
case "$1" in
*/requirements.py) exec /usr/bin/python3 {ROOT}/scripts/"${{1#scripts/}}" "$2" ;;
esac
echo "$@" >> calls
"""


@pytest.fixture
def make(tmp_path):
    """Makes the environment of a group; returns whether pip was called for it."""
    python = tmp_path / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(PYTHON)
    python.chmod(0o755)
    calls = tmp_path / "calls"

    def run(group=""):
        calls.unlink(missing_ok=True)
        script = (
            f". {ROOT}/scripts/lib/progress.sh; . {ROOT}/scripts/lib/python_environment.sh;"
            f"make_python_environment {group}"
        )
        subprocess.run(
            ["bash", "-euc", script], cwd=tmp_path, env=os.environ, check=True, capture_output=True
        )
        return calls.exists()

    return run


def test_groups_include_others(tree):
    root = tree({"pyproject.toml": PYPROJECT})
    assert requirements(root / "pyproject.toml", "build") == ["builder", "numpy>=1"]
    examples = ["builder", "numpy>=1", "learner"]
    assert requirements(root / "pyproject.toml", "examples") == examples
    assert requirements(root / "pyproject.toml", "dev") == [*examples, "checker"]


def test_tests_complete_the_quickstart_build(make):
    assert make("build")
    assert not make("build")
    assert make("examples")
    assert not make("examples")
    assert make()
    assert not make()


def test_quickstart_reuses_the_test_build(make):
    assert make()
    assert not make("build")
    assert not make("examples")
