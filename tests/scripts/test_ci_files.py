# SPDX-License-Identifier: Apache-2.0
"""Files for services (GitHub, GitLab, pre-commit) are well-formed and call scripts that exist."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
GITHUB = ROOT / ".github"
PYPROJECT = (ROOT / "pyproject.toml").read_text()

# The schemas that come with check-jsonschema.
SCHEMAS = {
    "github-workflows": sorted((GITHUB / "workflows").glob("*.yml")),
    "github-issue-forms": sorted(set((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))),
    "gitlab-ci": [ROOT / ".gitlab-ci.yml"],
    "citation-file-format": [ROOT / "CITATION.cff"],
}
CALLING = [*SCHEMAS["github-workflows"], *SCHEMAS["gitlab-ci"], ROOT / ".pre-commit-config.yaml"]


@pytest.mark.parametrize("schema", SCHEMAS)
def test_files_follow_their_schema(schema):
    files = [file for file in SCHEMAS[schema] if file.name != "config.yml"]
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("file", CALLING, ids=lambda file: file.name)
def test_the_scripts_exist(file):
    called = re.findall(r"(?:\.ci|scripts)/[\w/.]*\w", file.read_text())
    assert called
    for name in called:
        script = ROOT / name
        assert script.is_file() or script.with_suffix(".py").is_file(), name
        assert name.endswith((".py", ".ci/run")) or os.access(script, os.X_OK), name


def test_github_and_gitlab_do_the_same():
    commands = [
        set(re.findall(r"(?:run: |- )((?:bash )?(?:\.ci|scripts)/.+)", text))
        for text in (
            "".join(file.read_text() for file in SCHEMAS["github-workflows"]),
            (ROOT / ".gitlab-ci.yml").read_text(),
        )
    ]
    arm64 = ["build", "test", "pytest tests/python", "wheels", "packages"]
    wanted = {"bash .ci/run", "scripts/quickstart", "scripts/release --twice"}
    wanted |= {f"scripts/arm64 {command}" for command in arm64}
    assert commands[0] == commands[1] == wanted


def test_the_recipe_for_conda_has_the_version_and_the_tools():
    recipe = (ROOT / "packaging/conda/recipe.yaml").read_text()
    (version,) = re.findall(
        r"^project\(mge VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text(), re.MULTILINE
    )
    assert f'version: "{version}"' in recipe
    tools = re.findall(r'^(\S+) = "(_mge_tools:\w+)"$', PYPROJECT, re.MULTILINE)
    assert re.findall(r"- (\S+) = (_mge_tools:\w+)", recipe) == tools
    for requirement in re.findall(r'^dependencies = \["(.+)", "(.+)"\]', PYPROJECT, re.MULTILINE)[
        0
    ]:
        assert re.sub(r">=", " >=", requirement) in recipe


def test_every_place_has_the_same_version():
    subprocess.run([ROOT / "scripts/release", "--check-only"], check=True)
