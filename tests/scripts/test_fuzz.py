# SPDX-License-Identifier: Apache-2.0
"""scripts/fuzz says what it takes, and what is missing."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
# Programs that the script calls before it looks for clang.
NEEDED = ["bash", "basename", "dirname", "env", "sed"]


def fuzz(*arguments, **more):
    return subprocess.run(
        [ROOT / "scripts/fuzz", *arguments], capture_output=True, text=True, check=False, **more
    )


def test_help_names_options_and_exit_codes():
    done = fuzz("--help")
    assert done.returncode == 0
    for word in ("--seconds N", "--nightly", "TARGET", "Exit codes"):
        assert word in done.stdout


@pytest.mark.parametrize(
    "arguments, message",
    [
        (["--seconds"], "--seconds takes a number from 1 on, got ''"),
        (["--seconds", "0"], "--seconds takes a number from 1 on, got '0'"),
        (["--minutes"], "there is no option '--minutes'; there are --seconds and --nightly"),
        (["nothing"], "there is no target 'nothing'; there are arrays caches "),
    ],
)
def test_wrong_arguments_are_usage_errors(arguments, message):
    done = fuzz(*arguments)
    assert done.returncode == 2
    assert message in done.stderr


def test_without_clang_the_packages_are_named(tmp_path):
    for name in NEEDED:
        (tmp_path / name).symlink_to(shutil.which(name))
    done = fuzz("--seconds", "1", "arrays", env={"PATH": str(tmp_path)})
    assert done.returncode == 2
    assert "no clang++ with libFuzzer" in done.stderr
    assert "clang libclang-rt-dev (scripts/install_packages fuzz)" in done.stderr


def test_every_target_has_a_reader():
    """The names that the script reads out of CMake are those of the sources."""
    names = fuzz("nothing").stderr.split("there are ")[1].split()
    assert names == sorted(names)
    assert all((ROOT / f"tests/fuzz/{name}.cpp").exists() for name in names)
