# SPDX-License-Identifier: Apache-2.0
"""The quickstart builds the library for GPUs only when it is asked for: nvcc takes long."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Notes what it is called with, and fails after the build, so that the script goes no further.
CMAKE = """#!/bin/sh
echo "$@" >> "$CALLS"
case $1 in --build) exit 9 ;; esac
"""


def targets_built(folder: Path, *arguments: str) -> list[str]:
    shutil.copytree(ROOT / "scripts", folder / "scripts", dirs_exist_ok=True)
    programs = folder / "programs"
    programs.mkdir()
    for name, text in {"cmake": CMAKE, "dpkg-query": "#!/bin/sh\necho installed\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    # An environment that has all that pyproject.toml asks for.
    python = folder / ".venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\necho numpy\n")
    python.chmod(0o755)
    (folder / ".venv/requirements.txt").write_text("numpy\n")
    calls = folder / "calls"
    environment = {**os.environ, "PATH": f"{programs}:{os.environ['PATH']}", "CALLS": str(calls)}
    ended = subprocess.run(
        [folder / "scripts/quickstart", *arguments], env=environment, capture_output=True, text=True
    )
    assert ended.returncode == 9, ended.stderr
    build = calls.read_text().splitlines()[-1].split()
    return build[build.index("--target") + 1 :]


def test_builds_no_library_for_gpus(tmp_path):
    assert targets_built(tmp_path) == ["apps/all", "python/all"]


def test_builds_one_when_asked(tmp_path):
    assert targets_built(tmp_path, "--gpu") == ["all"]


def test_one_that_is_there_is_built_again(tmp_path):
    library = tmp_path / "build/release/lib/libmge_cuda.so"
    library.parent.mkdir(parents=True)
    library.touch()
    assert targets_built(tmp_path) == ["all"]


@pytest.mark.parametrize("argument", ["--gpus", "build"])
def test_other_arguments_are_refused(argument):
    ended = subprocess.run([ROOT / "scripts/quickstart", argument], capture_output=True, text=True)
    assert ended.returncode == 2 and "--gpu" in ended.stderr
