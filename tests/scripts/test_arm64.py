# SPDX-License-Identifier: Apache-2.0
"""`scripts/arm64` refuses commands that it does not have, and runs programs where it was called."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/arm64"


@pytest.mark.parametrize("arguments", [[], ["compile"], ["run"]])
def test_a_wrong_command_is_an_error(arguments):
    ended = subprocess.run([SCRIPT, *arguments], capture_output=True, text=True)
    assert ended.returncode == 2
    assert "takes" in ended.stderr


def test_help_lists_the_commands():
    shown = subprocess.run([SCRIPT, "--help"], capture_output=True, text=True, check=True).stdout
    for command in ("build", "run", "python", "test", "pytest", "wheels"):
        assert f"scripts/arm64 {command} " in shown


def test_a_program_runs_in_the_folder_of_the_call(tmp_path):
    command = [SCRIPT, "run", "/bin/pwd"]
    shown = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert Path(shown.splitlines()[-1]).samefile(tmp_path)
