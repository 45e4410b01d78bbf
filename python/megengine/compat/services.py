# SPDX-License-Identifier: Apache-2.0
"""Services of the process."""

import enum
import logging

from .. import logger as _logger
from ..core.input_check import TensorSanityCheckImpl  # noqa: F401
from ..device import coalesce_free_memory as _try_coalesce_all_free_memory
from ..device import get_device_count as _get_device_count  # noqa: F401

_defrag = _try_coalesce_all_free_memory


class Logger:
    """The level and handler of the library's log messages."""

    class LogLevel(enum.IntEnum):
        """Levels, with the numbers of ``logging``."""

        Debug = logging.DEBUG
        Info = logging.INFO
        Warn = logging.WARNING
        Error = logging.ERROR

    @classmethod
    def set_log_level(cls, level: "Logger.LogLevel") -> "Logger.LogLevel":
        """Set the level; see ``logger.set_mgb_log_level``.

        Returns:
            The level before: the nearest that has a name here.
        Example:
            >>> before = Logger.set_log_level(Logger.LogLevel.Error)
            >>> Logger.set_log_level(before).name
            'Error'
        """
        before = _logger.set_mgb_log_level(int(cls.LogLevel(level)))
        return min(cls.LogLevel, key=lambda known: abs(known - before))

    @staticmethod
    def set_log_handler(logger: logging.Logger | None) -> None:
        """No effect: messages go to the logger of the module that emits them."""


_imperative_rt_logger = Logger


class AtomicUint64:
    """A counter of 64 bits.

    Args:
        value: the initial value.
    Example:
        >>> counter = AtomicUint64(2)
        >>> counter.fetch_add(3), counter.load()
        (2, 5)
    """

    def __init__(self, value: int = 0) -> None:
        self._value = value

    def load(self) -> int:
        """The count."""
        return self._value

    def store(self, value: int) -> None:
        """Set the count."""
        self._value = value % 2**64

    def fetch_add(self, value: int) -> int:
        """Add, and give the count before."""
        before = self._value
        self.store(before + value)
        return before

    def fetch_sub(self, value: int) -> int:
        """Subtract, and give the count before."""
        return self.fetch_add(-value)

    def __iadd__(self, value: int) -> "AtomicUint64":
        self.fetch_add(value)
        return self

    def __isub__(self, value: int) -> "AtomicUint64":
        self.fetch_add(-value)
        return self
