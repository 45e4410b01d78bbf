# SPDX-License-Identifier: Apache-2.0
"""The targets of the quickstart: the library for GPUs only on request, because nvcc takes long. The
example's packages are fetched meanwhile."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Notes what it is called with, and fails after the build, so that the script goes no further.
CMAKE = """#!/bin/sh
echo "$@" >> "$CALLS"
case $1 in --build) exit ${BUILD_STATUS:-9} ;; esac
"""
# Has all that pyproject.toml asks for.
COMPLETE = "#!/bin/sh\necho numpy\n"
# Its pip does not get what the example wants.
WITHOUT_NETWORK = """#!/bin/sh
case "$*" in
*pip*) echo "no route to the index" >&2; exit 3 ;;
*examples) echo learner ;;
esac
echo numpy
"""


def quickstart(folder: Path, *arguments: str, python: str = COMPLETE, **settings: str):
    shutil.copytree(ROOT / "scripts", folder / "scripts", dirs_exist_ok=True)
    programs = folder / "programs"
    programs.mkdir()
    for name, text in {"cmake": CMAKE, "dpkg-query": "#!/bin/sh\necho installed\n"}.items():
        (programs / name).write_text(text)
        (programs / name).chmod(0o755)
    interpreter = folder / ".venv/bin/python"
    interpreter.parent.mkdir(parents=True)
    interpreter.write_text(python)
    interpreter.chmod(0o755)
    (folder / ".venv/requirements.txt").write_text("numpy\n")
    path = f"{programs}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "CALLS": str(folder / "calls"), **settings}
    return subprocess.run(
        [folder / "scripts/quickstart", *arguments], env=environment, capture_output=True, text=True
    )


def targets_built(folder: Path, *arguments: str) -> list[str]:
    ended = quickstart(folder, *arguments)
    assert ended.returncode == 9, ended.stderr
    build = (folder / "calls").read_text().splitlines()[-1].split()
    return build[build.index("--target") + 1 :]


def test_builds_no_library_for_gpus(tmp_path):
    assert targets_built(tmp_path) == ["apps/all", "python/all"]


def test_builds_one_on_request(tmp_path):
    assert targets_built(tmp_path, "--gpu") == ["all"]


def test_existing_one_is_rebuilt(tmp_path):
    library = tmp_path / "build/release/lib/libmge_cuda.so"
    library.parent.mkdir(parents=True)
    library.touch()
    assert targets_built(tmp_path) == ["all"]


@pytest.mark.parametrize("argument", ["--gpus", "build"])
def test_other_arguments_are_refused(argument):
    ended = subprocess.run([ROOT / "scripts/quickstart", argument], capture_output=True, text=True)
    assert ended.returncode == 2 and "--gpu" in ended.stderr


def test_missing_pip_packages_end_it_after_the_build(tmp_path):
    ended = quickstart(tmp_path, python=WITHOUT_NETWORK, BUILD_STATUS="0")
    assert ended.returncode == 1
    assert "no route to the index" in ended.stderr and "python_packages.log" in ended.stderr
    assert "--build" in (tmp_path / "calls").read_text()
    assert "Training" not in ended.stdout
