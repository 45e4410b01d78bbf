# SPDX-License-Identifier: Apache-2.0
"""Operators of libraries of your own: each is a function of this module while it is loaded.

``docs/own-operators.md`` describes how to write such a library.
"""

import os
from collections.abc import Callable
from typing import Any

from ... import _mge

__all__ = ["OperatorLibrary", "libraries", "load", "unload"]


class OperatorLibrary:
    """A library that was loaded; its operators are attributes.

    Args:
        name: its name in models that use its operators.
        path: path of its file.
        operators: names of its operators.
    Example:
        >>> from megengine.core.ops import custom
        >>> library = OperatorLibrary("small", "libsmall.so", ["add", "exp"])
        >>> library
        OperatorLibrary('small', 'libsmall.so', ['add', 'exp'])
        >>> library.add(Tensor([1.0]), Tensor([2.0]))
        Tensor([3.], device=xpux:0)
    """

    def __init__(self, name: str, path: str, operators: list[str]):
        self.name = name
        self.path = path
        self.operators = operators
        for operator in operators:
            setattr(self, operator, getattr(_mge.ops, operator))

    def __repr__(self) -> str:
        return f"OperatorLibrary({self.name!r}, {self.path!r}, {self.operators})"


def load(path: str | os.PathLike[str], symbol: str = _mge.operators_symbol) -> OperatorLibrary:
    """Add the operators of a library; a second call has no effect.

    Args:
        path: of the shared object.
        symbol: its C function that names the operators.

    Returns:
        the library, with its operators as attributes; they are also functions of this module.

    Raises:
        RuntimeError: the file cannot be loaded, was built for another version, or one of its
            operators is invalid or has a name in use. No operator is added then.

    Examples:

        >>> from megengine.core.ops import custom
        >>> custom.load("/no/such/file.so")
        Traceback (most recent call last):
        ...
        RuntimeError: operator library '/no/such/file.so': cannot be read: No such file or directory
    """
    return OperatorLibrary(*_mge.load_operators(os.fspath(path), symbol))


def unload(library: str | os.PathLike[str] | OperatorLibrary) -> None:
    """Take the operators of a library out again, so that their names are free.

    Models, traces and tensors that were made with them work on; the code stays in memory.

    Args:
        library: the result of ``load``, its name, or the path of its file.

    Raises:
        KeyError: it is not loaded.
    Example:
        >>> from megengine.core.ops import custom
        >>> custom.unload("/no/such/file.so")
        Traceback (most recent call last):
            ...
        KeyError: "no library of operators named '/no/such/file.so' is loaded"
    """
    if isinstance(library, OperatorLibrary):
        return _mge.remove_operators(library.name)
    given = os.fspath(library)
    for loaded in libraries():
        if loaded.path and os.path.realpath(given) == loaded.path:
            return _mge.remove_operators(loaded.name)
    return _mge.remove_operators(given)


def libraries() -> list[OperatorLibrary]:
    """The libraries that are loaded, in the order in which they came.

    Example:
        >>> from megengine.core.ops import custom
        >>> custom.libraries()
        []
    """
    return [OperatorLibrary(*known) for known in _mge.added_libraries()]


def __getattr__(name: str) -> Callable[..., Any]:
    for _, _, operators in _mge.added_libraries():
        if name in operators:
            found: Callable[..., Any] = getattr(_mge.ops, name)
            return found
    raise AttributeError(f"no library of operators that is loaded has {name!r}")


def __dir__() -> list[str]:
    return __all__ + [name for _, _, operators in _mge.added_libraries() for name in operators]
