# SPDX-License-Identifier: Apache-2.0
"""The library's own tools, as Python's programs find and call them."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .. import _mge

FOLDER_VARIABLE = "MGE_TOOLS"


def find_tool(name: str) -> str:
    """Path of a tool: in the folder ``$MGE_TOOLS``, in this package's build tree, or on ``PATH``.

    Args:
        name: for example ``"load_and_run"``.
    Returns:
        Its path.
    Raises:
        FileNotFoundError: it is nowhere.
    """
    build_tree = Path(_mge.__file__).resolve().parents[2] / "bin"
    folders = [os.environ.get(FOLDER_VARIABLE), str(build_tree), os.environ.get("PATH")]
    for folder in folders:
        found = shutil.which(name, path=folder) if folder else None
        if found:
            return found
    raise FileNotFoundError(
        f"{name} is not installed: the Python package is without the tools; build them, or set"
        f" {FOLDER_VARIABLE} to their folder"
    )


def run_tool(name: str, arguments: list[str], **options) -> int:
    """Run a tool with this program's streams.

    Args:
        name: of the tool.
        arguments: its command line.
        options: for ``subprocess.run``.
    Returns:
        Its exit code, see ``docs/error-codes.md``.
    Raises:
        FileNotFoundError: it is not there.
    """
    return subprocess.run([find_tool(name), *arguments], **options).returncode


def run_and_exit(name: str, arguments: list[str]) -> None:
    """End this program as a tool ends.

    Args:
        name: of the tool.
        arguments: its command line.
    Raises:
        SystemExit: always.
    """
    try:
        code = run_tool(name, arguments)
    except FileNotFoundError as e:
        sys.exit(f"{Path(sys.argv[0]).stem}: {e}")
    sys.exit(code)
