# SPDX-License-Identifier: Apache-2.0
"""The version of the library, and its log level."""

from ctypes import byref, c_int

from ._library import library
from .struct import LiteLogLevel


def _version() -> str:
    numbers = c_int(), c_int(), c_int()
    library.LITE_get_version(*map(byref, numbers))
    return ".".join(str(number.value) for number in numbers)


version: str = _version()


def set_log_level(level: LiteLogLevel) -> None:
    """Set which lines are written to standard error.

    Args:
        level: messages of this level and above are logged; ``LiteLogLevel.ERROR`` by default.
    Raises:
        RuntimeError: there is no such level.
    """
    library.LITE_set_log_level(level)


def get_log_level() -> LiteLogLevel:
    """Return which lines are written to standard error.

    Example:
        >>> set_log_level(LiteLogLevel.ERROR)
        >>> get_log_level()
        <LiteLogLevel.ERROR: 3>
    """
    level = c_int()
    library.LITE_get_log_level(byref(level))
    return LiteLogLevel(level.value)
