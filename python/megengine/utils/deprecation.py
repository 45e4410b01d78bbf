# SPDX-License-Identifier: Apache-2.0
"""Names and defaults that will go: they work, and warn."""

import functools
import importlib
import warnings
from collections.abc import Callable


def _warn(text: str) -> None:
    warnings.warn(text, DeprecationWarning, stacklevel=3)


def deprecated(reason: str = "", version: str = "", **_) -> Callable:
    """Make a function warn when it is called.

    Args:
        reason: what to do instead.
        version: the first version with the deprecation.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def warned(*args, **kwargs):
            since = f" since version {version}" if version else ""
            _warn(f"{function.__qualname__} is deprecated{since}. {reason}".strip())
            return function(*args, **kwargs)

        return warned

    return decorate


def deprecated_func(version: str, origin: str, name: str, tbd: bool) -> Callable:
    """A function that moved, at its old place.

    Args:
        version: since when.
        origin: name of the module that has it now.
        name: of the function.
        tbd: it may stay, so no warning.
    """

    def moved(*args, **kwargs):
        if not tbd:
            _warn(f"{name} is deprecated since version {version}, use {origin}.{name}")
        return getattr(importlib.import_module(origin), name)(*args, **kwargs)

    moved.__name__ = moved.__qualname__ = name
    return moved


def deprecated_kwargs_default(version: str, kwargs_name: str, kwargs_pos: int) -> Callable:
    """Make a function warn when an argument is left to its default.

    Args:
        version: when the default goes.
        kwargs_name: of the argument.
        kwargs_pos: its position, counted from 0.
    """

    def decorate(function: Callable) -> Callable:
        @functools.wraps(function)
        def warned(*args, **kwargs):
            if len(args) <= kwargs_pos and kwargs_name not in kwargs:
                _warn(
                    f"the default of {kwargs_name} of {function.__qualname__} is removed in version"
                    f" {version}: give it explicitly"
                )
            return function(*args, **kwargs)

        return warned

    return decorate
