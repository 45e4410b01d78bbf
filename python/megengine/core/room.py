# SPDX-License-Identifier: Apache-2.0
"""Parts of the package that are imported when somebody first asks for them."""

import importlib
import sys
from collections.abc import Callable, Collection
from typing import Any


def room(package: str, module: str, names: Collection[str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package whose names lie in a module that is slow to import.

    Args:
        package: its ``__name__``.
        module: name of the module below it.
        names: what the package shows of it.
    Returns:
        A function that imports the module for the first of the names.
    """

    def enter(name: str):
        if name != module and name not in names:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = importlib.import_module(f"{package}.{module}")
        if name != module:
            found = getattr(found, name)
            setattr(sys.modules[package], name, found)
        return found

    return enter
