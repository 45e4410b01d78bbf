# SPDX-License-Identifier: Apache-2.0
"""A clear error for the modules and names of the interface that this version does not have.

``hasattr`` is False for them, and ``try: import …`` with ``except ImportError`` works.
"""

import contextlib
import functools
import importlib
import sys
from collections.abc import Callable
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from ..core.hints import hint_for
from ..core.lazy_import import contents
from ..core.not_available import NotAvailableModuleError, NotAvailableNameError
from .borrowed_names import borrowed

# Names of MegEngine 1.13 that this version lacks, by module.
_MISSING = {
    f"megengine.{module}": frozenset(names.split())
    for module, names in {
        "amp.grad_scaler": "Xla_GradScaler",
        "data.transform.meta_transform": "CudaTransform",
        "functional.vision": "nvof",
        "jit.tracing": "trace.check_external trace.ops trace.vars",
        "jit.xla_backend": "xla_trace",
        "lite": "",
        "logger": "call_countlog_func",
        "module.external": "AtlasRuntimeSubgraph CambriconRuntimeSubgraph ExternOprSubgraph"
        " MagicMindRuntimeSubgraph TensorrtRuntimeSubgraph",
        "tensor": "Tensor.graph Tensor.value_id Tensor.var",
        "tools.benchmark_op": "get_avg_time get_perf_results perf_func",
        "tools.load_network_and_run": "run_model",
        "utils.network_node": "OpNode.add_out_var VarNode.set_owner_opr",
        "xla.build": "build_xla",
    }.items()
}

# functional.nn also has the contents of these modules.
_ALSO_IN = {
    "megengine.functional.nn": (
        "megengine.functional.loss",
        "megengine.functional.metric",
        "megengine.functional.quantized",
        "megengine.functional.vision",
    ),
}


def _message(name: str) -> str:
    return f"{name} is not available in this version of megengine"


@functools.cache
def _modules() -> frozenset[str]:
    """The modules of the table with their packages."""
    parts = (name.split(".") for name in _MISSING)
    return frozenset(".".join(p[:n]) for p in parts for n in range(1, len(p) + 1))


def _homes(module: str):
    """Yields the modules that may define a name: the module itself and, for a package, its
    submodules."""
    yield module
    yield from _ALSO_IN.get(module, ())
    if module != "megengine":
        yield from (name for name in _MISSING if name.startswith(module + "."))


def _belongs(module: str, name: str) -> bool:
    """Whether MegEngine has a name in a module and this version has it nowhere."""
    if f"{module}.{name}" in _modules():
        return True
    homes = [home for home in _homes(module) if name in _MISSING.get(home, ())]
    others = (sys.modules[home] for home in homes if home != module and home in sys.modules)
    return bool(homes) and not any(name in contents(other) for other in others)


def _is_below(package: str, name: str) -> bool:
    """Whether a package has a module of this name, imported or not."""
    path = contents(sys.modules[package]).get("__path__")
    is_special = name.startswith("__")
    return bool(path) and not is_special and bool(PathFinder.find_spec(f"{package}.{name}", path))


def missing(module: str, name: str):
    """Resolve a name that a module does not have, for its ``__getattr__``.

    A module below it is imported; a name that MegEngine's module of this name imports from another
    one comes from there.

    Raises:
        NotAvailableNameError: MegEngine has the name, this version does not.
        AttributeError: MegEngine does not have it either.
    """
    if f"{module}.{name}" in _modules() or _is_below(module, name):
        # There are packages and modules that are imported when they are first used.
        with contextlib.suppress(NotAvailableModuleError):
            return importlib.import_module(f"{module}.{name}")
    home, inner = borrowed().get(module, {}).get(name, ("", ""))
    if home:
        found = importlib.import_module(home)
        return getattr(found, inner) if inner else found
    if _belongs(module, name):
        raise NotAvailableNameError(_message(f"{module}.{name}"))
    raise AttributeError(f"module {module!r} has no attribute {name!r}{hint_for(module, name)}")


def _found_or_missing(own: Callable[[str], Any] | None, module: str, name: str):
    """Try a module's own ``__getattr__``, then ``missing``."""
    try:
        if own is not None:
            return own(name)
    except NotAvailableNameError:
        raise
    except AttributeError:
        pass
    return missing(module, name)


class _MissingModules:
    """The last finder on the path, for modules that MegEngine has and this version lacks."""

    @staticmethod
    def find_spec(name: str, path=None, target=None):
        module, _, last = name.rpartition(".")
        if module.partition(".")[0] != "megengine" or not _belongs(module, last):
            return None
        # importlib.util.find_spec only queries, and gets None.
        if sys._getframe(2).f_globals.get("__name__") == "importlib.util":
            return None
        # Without the module's name in the error: `from package import module` would hide it.
        raise NotAvailableModuleError(_message(name))


class _MissingMember:
    """A placeholder for a method or property that a class lacks."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._message = _message(f"{owner.__module__}.{owner.__qualname__}.{name}")

    def __get__(self, instance, owner=None):
        raise NotAvailableNameError(self._message)


def _mark_members(module: ModuleType, names: frozenset[str]) -> None:
    for name in names:
        owner, dot, member = name.partition(".")
        found = contents(module).get(owner)
        if dot and isinstance(found, type) and not hasattr(found, member):
            missing = _MissingMember()
            setattr(found, member, missing)
            missing.__set_name__(found, member)


def _mark(name: str, module: ModuleType) -> None:
    """Make a fully loaded module report the names that it lacks."""
    known = name in _modules() or name in borrowed() or getattr(module, "__path__", None)
    if known:
        own = contents(module).get("__getattr__")
        module.__getattr__ = functools.partial(_found_or_missing, own, name)
        # With a path, even an empty one, `from module import name` uses the finders.
        contents(module).setdefault("__path__", [])
    _mark_members(module, _MISSING.get(name, frozenset()))


class _LaterModules:
    """The finder before all others: modules that are imported later than the package."""

    @staticmethod
    def find_spec(name: str, path=None, target=None):
        if name.partition(".")[0] != "megengine":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _MarkingLoader(spec.loader)
        return spec


class _MarkingLoader:
    def __init__(self, loader):
        self._loader = loader

    def __getattr__(self, name: str):
        return getattr(self._loader, name)

    def create_module(self, spec):
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        _mark(module.__name__, module)


def watch(package: str) -> None:
    """Make every module of a package report the names that it lacks, including modules imported
    later.

    Args:
        package: ``"megengine"``.
    """
    sys.meta_path.insert(0, _LaterModules)
    sys.meta_path.append(_MissingModules)
    for name, module in list(sys.modules.items()):
        if name == package or name.startswith(package + "."):
            _mark(name, module)
