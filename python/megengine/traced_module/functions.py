# SPDX-License-Identifier: Apache-2.0
"""The functions that are recorded as one call each, and their names."""

import copy
import importlib
import inspect
import pickle
import sys
import types
from collections.abc import Callable

from ..autodiff import Function
from ..core.not_available import NotAvailableError
from ..core.ops import custom
from ..files import plain_pickle
from ..random import RNG
from ..tensor import Tensor

_PACKAGE = "megengine.functional"
_wrapped: dict[int, types.FunctionType] = {}  # by ``wrap``
_own: dict[int, types.FunctionType] | None = None  # functions of this package
_homes: dict[int, tuple[str, str]] = {}  # their public module and name, for printing and files


def _collect() -> dict[int, types.FunctionType]:
    global _own
    if _own is None:
        # The modules that users know first: a function may be defined in another one.
        names = [f"{_PACKAGE}.{name}" for name in "elemwise math tensor vision nn".split()]
        names += [name for name in sys.modules if name.startswith(_PACKAGE)]
        found: dict[int, types.FunctionType] = {}
        for module_name in names:
            module = sys.modules[module_name]
            public = getattr(module, "__all__", ())
            for name, value in vars(module).items():
                if not isinstance(value, types.FunctionType) or name.startswith("_"):
                    continue
                if not value.__module__.startswith(_PACKAGE):
                    continue
                if value.__module__ == f"{_PACKAGE}.debug_param":
                    continue  # settings do not belong to the computation of a Module
                found[id(value)] = value
                if name in public:
                    _homes.setdefault(id(value), (module_name, name))
        for name in ("uniform", "normal", "permutation", "exponential"):
            drawn = vars(RNG)[name]
            found[id(drawn)] = drawn
        for called in (call_autodiff_function, call_own_operator, make_tensor):
            found[id(called)] = called
        _own = found
    return _own


def recorded_functions() -> list[types.FunctionType]:
    """The public functions of ``functional`` and ``random``, and those that were wrapped."""
    return [*_collect().values(), *_wrapped.values()]


def home_of(func: Callable) -> tuple[str, str]:
    """The module of a function, and its name there."""
    _collect()
    return _homes.get(id(func), (func.__module__, func.__qualname__))


def is_known(module: str, name: str) -> bool:
    """Whether a function of this package, or a wrapped one, has this name."""
    return _known(module, name) is not None


def _known(module: str, name: str) -> Callable | None:
    functions = _collect()
    if module == __name__ and id(vars(sys.modules[module]).get(name)) in functions:
        return vars(sys.modules[module])[name]
    if module.startswith(_PACKAGE):
        for home in (module, _PACKAGE):
            found = vars(sys.modules[home]).get(name) if home in sys.modules else None
            if id(found) in functions:
                return found
    return next((f for f in _wrapped.values() if home_of(f) == (module, name)), None)


class MissingFunctionError(pickle.UnpicklingError, AttributeError):
    """A traced module calls a function, or has a Module of a class, that is not here."""


def function_named(module: str, name: str) -> Callable:
    """The function of a name.

    Args:
        module: name of its module.
        name: its name there; functions of this package that have moved are found, too.
    Returns:
        The function.
    Raises:
        MissingFunctionError: there is no such function.
    """
    found = _known(module, name)
    return named(module, name) if found is None else found


def named(module: str, name: str):
    """Look up a name in a module; the module is imported, unless a file is read as data only.

    Raises:
        MissingFunctionError: it is not there.
        UnsafePickleError: a file is read as data only.
    """
    plain_pickle.allow_import(f"{module}.{name}")
    try:
        return _imported(module, name)
    except NotAvailableError:
        raise  # its message is more specific
    except (ImportError, AttributeError) as error:
        raise MissingFunctionError(
            f"[traced_module] {module}.{name} is not there: {error}"
        ) from None


def _imported(module: str, name: str):
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    return found


def call_autodiff_function(function: Function, *inputs):
    """Call a ``Function`` with a custom gradient through an object for this call only.

    Args:
        function: the object that was called when it was recorded.
        inputs: Tensors.
    Returns:
        Its results.
    """
    return copy.copy(function)(*inputs)


def call_own_operator(name: str, *inputs, **params):
    """Apply an operator of a library that is loaded; see ``core.ops.custom``.

    Args:
        name: name of the operator.
        inputs: Tensors and numbers.
        params: its parameters.
    Returns:
        Its results.
    Raises:
        AttributeError: no loaded library has it.
    """
    # Operators only: the module's own functions load libraries.
    return custom.__getattr__(name)(*inputs, **params)


def make_tensor(data, dtype=None, device=None, *args, **kwargs) -> Tensor:
    """A Tensor made of another one, or of a list that has some in it: ``Tensor(...)`` in a Module.

    Args:
        data, dtype, device: see ``Tensor``.
        args: the other arguments of ``Tensor``.
        kwargs: the other keyword arguments of ``Tensor``.
    Returns:
        The Tensor.
    """
    return Tensor(data, dtype, device, *args, **kwargs)


def wrap(func: Callable) -> Callable:
    """Record each call of a function as one expression, without its inside.

    Args:
        func: the Python function; its arguments and results are Tensors and constants in
            containers. A traced module that calls it can be loaded if it can be imported.
    Returns:
        The same function: ``wrap`` can be a decorator.
    Raises:
        TypeError: it is not a Python function, or is a generator or coroutine.
    Example:
        >>> import megengine.traced_module as T
        >>> @T.wrap
        ... def twice(x):
        ...     return x + x
        >>> class Net(M.Module):
        ...     def forward(self, x):
        ...         return twice(x)
        >>> T.trace_module(Net(), Tensor([1.0])).graph.get_function_by_type(twice).as_count()
        1
    """
    if not isinstance(func, types.FunctionType):
        raise TypeError(f"[wrap] a function written in Python is expected, got {func!r}")
    if inspect.isgeneratorfunction(func) or inspect.iscoroutinefunction(func):
        raise TypeError(f"[wrap] {func.__qualname__} gives its results one by one; give a list")
    _wrapped[id(func)] = func
    return func
