# SPDX-License-Identifier: Apache-2.0
"""Modules of Python from files."""

import importlib.util
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType


@contextmanager
def cd(target: str) -> Iterator[None]:
    """Another working directory inside of a ``with`` block.

    Args:
        target: path of the directory.
    Raises:
        OSError: there is no such directory.
    """
    before = os.getcwd()
    os.chdir(target)
    try:
        yield
    finally:
        os.chdir(before)


def check_module_exists(module: str) -> bool:
    """Whether a module can be imported.

    Args:
        module: its name.
    Returns:
        True when it is found; it is not imported.
    Example:
        >>> check_module_exists("json"), check_module_exists("no_such_module")
        (True, False)
    """
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:  # the parent module does not exist
        return False


def load_module(name: str, path: str) -> ModuleType:
    """Run a file as a module, which can import the modules of its folder.

    Args:
        name: of the module; it does not become importable by it.
        path: of the file.
    Returns:
        The module.
    Raises:
        OSError: the file cannot be read.
    """
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    folder = os.path.dirname(os.path.abspath(path))
    sys.path.insert(0, folder)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(folder)
    return module
