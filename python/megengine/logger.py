# SPDX-License-Identifier: Apache-2.0
"""Logging: Python's ``logging`` under the name ``megengine``, and the level of the library."""

import contextlib
import logging
import os
import sys

_LEVEL_VARIABLE = "MEGENGINE_LOGGING_LEVEL"
_level = logging.INFO
_all_loggers: list[logging.Logger] = []
_file_handler: logging.Handler | None = None


class MegEngineLogFormatter(logging.Formatter):
    """Time, level, message; the level in colour on a terminal.

    Example:
        >>> import logging
        >>> record = logging.LogRecord("train", logging.INFO, "", 0, "epoch %d", (3,), None)
        >>> MegEngineLogFormatter("%(levelname)s %(name)s: %(message)s").format(record)
        'INFO train: epoch 3'
    """

    date_fmt = "%d %H:%M:%S"
    _COLOURS = {"WARNING": "\x1b[33m", "ERROR": "\x1b[31m", "CRITICAL": "\x1b[31m"}

    def __init__(self, fmt: str | None = None, datefmt: str | None = None):
        super().__init__(
            fmt or "%(asctime)s %(levelname)s %(name)s: %(message)s", datefmt or self.date_fmt
        )

    def format(self, record: logging.LogRecord) -> str:
        text = super().format(record)
        colour = self._COLOURS.get(record.levelname)
        return f"{colour}{text}\x1b[0m" if colour and sys.stderr.isatty() else text


def get_logger(name: str | None = None, formatter=MegEngineLogFormatter) -> logging.Logger:
    """A logger that writes to the standard error stream, and to the log file if one is set.

    Args:
        name: name of the logger.
        formatter: class of its formatter.
    Returns:
        The logger.
    Example:
        >>> get_logger("example").name
        'example'
    """
    logger = logging.getLogger(name)
    if logger in _all_loggers:
        return logger
    logger.propagate = False
    logger.setLevel(_level)
    handler = logging.StreamHandler()
    handler.setFormatter(formatter())
    logger.addHandler(handler)
    if _file_handler is not None:
        logger.addHandler(_file_handler)
    _all_loggers.append(logger)
    return logger


def set_log_level(level: int | str, update_existing: bool = True):
    """Set the level of loggers.

    Args:
        level: as in ``logging``, a number or a name.
        update_existing: apply it to existing loggers, too.
    Returns:
        The previous level.
    Raises:
        ValueError: there is no such level.
    Example:
        >>> previous = set_log_level("WARNING")
        >>> set_log_level(previous) == 30
        True
    """
    global _level
    before = _level
    checked = logging.getLevelName(level) if isinstance(level, str) else level
    if not isinstance(checked, int):
        raise ValueError(f"[set_log_level] there is no level {level!r}")
    _level = checked
    if update_existing:
        for logger in _all_loggers:
            logger.setLevel(checked)
    return before


def set_log_file(fout, mode: str = "a") -> None:
    """Write the log to a file too.

    Args:
        fout: path or stream.
        mode: how to open the path.
    Raises:
        OSError: the file cannot be opened.
    Example:
        >>> import io
        >>> log = io.StringIO()
        >>> set_log_file(log)
        >>> get_logger("training").warning("no GPU")
        >>> "WARNING training: no GPU" in log.getvalue()
        True
    """
    global _file_handler
    handler = (
        logging.FileHandler(fout, mode)
        if isinstance(fout, (str, os.PathLike))
        else logging.StreamHandler(fout)
    )
    handler.setFormatter(MegEngineLogFormatter())
    for logger in _all_loggers:
        if _file_handler is not None:
            logger.removeHandler(_file_handler)
        logger.addHandler(handler)
    _file_handler = handler


def set_mgb_log_level(level: int | str) -> int:
    """Set the level of the library's messages, which is that of the loggers.

    Args:
        level: as in ``logging``.
    Returns:
        The level before.
    Example:
        >>> before = set_mgb_log_level("ERROR")
        >>> set_mgb_log_level(before) == logging.ERROR
        True
    """
    return set_log_level(level)


@contextlib.contextmanager
def replace_mgb_log_level(level: int | str):
    """Another level inside of a ``with`` block.

    Args:
        level: as in ``logging``.
    Example:
        >>> with replace_mgb_log_level("ERROR"):
        ...     pass
    """
    before = set_mgb_log_level(level)
    try:
        yield
    finally:
        set_mgb_log_level(before)


def enable_debug_log() -> None:
    """Show everything.

    Example:
        >>> before = set_log_level("INFO")
        >>> enable_debug_log()
        >>> set_log_level(before) == logging.DEBUG
        True
    """
    set_log_level(logging.DEBUG)


def _take_level(named: str) -> None:
    try:
        set_log_level(named.upper())
    except ValueError:
        known = "CRITICAL, ERROR, WARNING, INFO or DEBUG"
        get_logger(__name__).warning("[%s] %r is not %s", _LEVEL_VARIABLE, named, known)


_take_level(os.environ.get(_LEVEL_VARIABLE) or "INFO")
