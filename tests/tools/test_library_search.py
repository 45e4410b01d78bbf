# SPDX-License-Identifier: Apache-2.0
"""Libraries come from where they were built and from the system, never from the current folder."""

import os
import subprocess
import sys

import pytest
from tool_names import TOOLS

# OpenCV's package puts an empty entry into this variable of the process that imports it.
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "LD_LIBRARY_PATH"}


@pytest.fixture
def hostile_folder(build_dir, tmp_path):
    """A folder with files under the names of all libraries that libmge asks for."""
    listed = subprocess.run(
        ["ldd", build_dir / "lib/libmge.so"], check=True, capture_output=True, text=True
    )
    names = [line.split()[0] for line in listed.stdout.splitlines() if "=>" in line]
    assert any(name.startswith("libdnnl") for name in names)
    for name in (*names, "libmge.so.0"):
        (tmp_path / name).write_text("no library")
    return tmp_path


@pytest.mark.parametrize("tool", TOOLS)
def test_tools(tool, tool_path, hostile_folder):
    done = subprocess.run(
        [tool_path(tool), "--version"],
        cwd=hostile_folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("package", ["megengine", "megenginelite"])
def test_packages(package, hostile_folder):
    program = f"import sys; sys.path.remove(''); import {package}; print({package}.__version__)"
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=hostile_folder,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
