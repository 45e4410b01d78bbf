# SPDX-License-Identifier: Apache-2.0
"""Packages that a distribution lacks are not asked for, as far as the tests can do without them."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

# Everything is installed but the browser. madison prints a line per version that there is.
PROGRAMS = {
    "dpkg-query": 'case "$*" in *chromium*) exit 1 ;; esac\necho installed',
    "apt-cache": '[ -z "$BROWSER" ] || echo "$2 | 1.0 | $1"',
    "apt-get": 'echo "$@" >> "$CALLS"',
    "sudo": 'exec "$@"',
}


def install(folder: Path, browser: str):
    """Run the script: its output, and the calls of apt-get."""
    for name, text in PROGRAMS.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    calls = folder / "calls"
    calls.touch()
    environment = {
        **os.environ,
        "PATH": f"{folder}:{os.environ['PATH']}",
        "BROWSER": browser,
        "CALLS": str(calls),
    }
    printed = subprocess.check_output(
        [ROOT / "scripts/install_packages", "test"], env=environment, text=True
    )
    return printed, calls.read_text()


def test_missing_in_the_distribution(tmp_path):
    printed, calls = install(tmp_path, browser="")
    assert "packages are there" in printed
    assert calls == ""


def test_missing_on_this_machine(tmp_path):
    printed, calls = install(tmp_path, browser="yes")
    assert "installing 1: chromium-headless-shell" in printed
    assert calls.splitlines()[-1].endswith("chromium-headless-shell")
