# SPDX-License-Identifier: Apache-2.0
"""MegEngine in the same folder is refused with a sentence, whichever was installed last."""

import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "python/megengine"

# The first imports of MegEngine 1.13.
THEIR_START = """
from ._env_initlization import check_misc
check_misc()
from .core._imperative_rt.core2 import close as _close
"""


@pytest.fixture
def import_both(tmp_path):
    """Imports megengine from a folder with the files of both packages; returns what went wrong."""

    def run(ours_is_last):
        folder = tmp_path / "megengine"
        core = folder / "core"
        core.mkdir(parents=True)
        for entry in SOURCES.iterdir():
            if entry.name not in ("core", "__pycache__"):
                (folder / entry.name).symlink_to(entry)
        (core / "_imperative_rt").symlink_to(SOURCES / "core/_imperative_rt")
        (core / "__init__.py").write_text("")
        (core / "_imperative_rt.abi3.so").write_text("MegEngine's extension module")
        (folder / "_env_initlization.py").write_text("def check_misc(): pass\n")
        if not ours_is_last:
            (folder / "__init__.py").unlink()
            (folder / "__init__.py").write_text(THEIR_START)
        command = [sys.executable, "-c", "import megengine"]
        done = subprocess.run(
            command, env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True
        )
        assert done.returncode == 1
        return done.stderr.splitlines()[-1]

    return run


@pytest.mark.parametrize("ours_is_last", [True, False])
def test_both_in_one_folder_are_refused(import_both, tmp_path, ours_is_last):
    assert import_both(ours_is_last) == (
        f"ImportError: mge-engine and MegEngine are both installed in {tmp_path}/megengine, where "
        "they overwrite each other's files: run 'pip uninstall mge-engine megengine', then install "
        "one of them"
    )
