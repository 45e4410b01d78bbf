# SPDX-License-Identifier: Apache-2.0
"""Calls from the library into Python functions, and the exceptions that they raise.

C has no exceptions: an exception that a callback raises is kept here until the library function
that called it has failed.
"""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_thread = threading.local()
_kept: list[Any] = []


def keep(error: BaseException) -> None:
    """Raise it from the call of this thread that runs the callback."""
    _thread.error = error


def check(function: Any, what: str) -> None:
    """Raise TypeError for a value that cannot be called, before the library keeps it.

    Raises:
        TypeError: it cannot be called.
    """
    if not callable(function):
        raise TypeError(f"[callback] {what} is a function, got {function!r}")


def call(function: Any, *arguments: Any) -> None:
    """Call a function of the library that calls back.

    Raises:
        BaseException: the exception of a callback that made the function fail.
        RuntimeError: another failure.
    """
    _thread.error = None
    try:
        function(*arguments)
    except RuntimeError:
        error, _thread.error = _thread.error, None
        if error is None:
            raise
    else:
        return
    raise error


def forever(thunk: Any) -> Any:
    """Keep a function that C may call for as long as the process lives.

    Returns:
        The function.
    """
    _kept.append(thunk)
    return thunk


def log(what: str, error: BaseException) -> None:
    """Log an exception that a callback raised on a thread where no caller would see it."""
    import logging  # takes half of the time that this package takes

    logging.getLogger("megenginelite").error("%s raised %r", what, error, exc_info=error)
