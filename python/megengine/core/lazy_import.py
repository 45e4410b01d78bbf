# SPDX-License-Identifier: Apache-2.0
"""Parts of the package that are imported on first use."""

import importlib
import sys
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

# The current dictionary of a module: a package with lazy names fills itself when it is read as an
# attribute.
_MODULE_DICT: Any = vars(ModuleType)["__dict__"]
contents: Callable[[ModuleType], dict[str, Any]] = _MODULE_DICT.__get__


class _LateModule(ModuleType):
    """A module with parts that are imported later.

    Reading its ``__dict__``, as ``vars`` and ``dir`` do, imports all of them: the dictionary is
    complete, and no later look-up changes it.
    """

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        found = contents(self)
        for name in set(found["_LATER"]).difference(found):
            getattr(self, name)
        return found


def lazy_getattr(package: str, later: Mapping[str, str]) -> Callable[[str], Any]:
    """Make the ``__getattr__`` of a package with parts that are slow to import.

    Args:
        package: its ``__name__``; it keeps ``later`` as ``_LATER``.
        later: by name, the submodule that it denotes, or a name in a submodule: ``"vision:MNIST"``.
    Returns:
        A function that imports the object of a name, and stores it in the package.
    """
    sys.modules[package].__class__ = _LateModule

    def load(name: str) -> Any:
        if name not in later:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, inner = later[name].partition(":")
        found = importlib.import_module(f"{package}.{module}")
        found = getattr(found, inner) if inner else found
        contents(sys.modules[package])[name] = found
        return found

    return load
