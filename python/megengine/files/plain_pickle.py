# SPDX-License-Identifier: Apache-2.0
"""Pickles of tensors, state and this package's modules, read without running what is in them.

A pickle is a program. There is a machine for a small part of it (``plain_machine``): plain values
and containers, and calls of a few constructors, each a function that checks its arguments
(``plain_arrays``, ``plain_objects``). No name in a file is looked up, but in the table of these; no
other object is called, given attributes or a state; a container takes elements only if this machine
made it. Memory is bounded: by the number of steps, and arrays together hold no more bytes than the
file has.
"""

import threading

from .plain_machine import Machine, UnsafePickleError, check
from .plain_objects import Reader


class _Reading(threading.local):
    machine: Machine | None = None  # reads a file on this thread, of which nothing may be run


_reading = _Reading()


def allow_import(name: str) -> None:
    """Refuse to import what a file names while it is read as plain data.

    Args:
        name: of the object that is needed, with its module.
    Raises:
        UnsafePickleError: it is read as plain data.
    """
    check(_reading.machine is None, f"it names {name}, which is not among what may be loaded")


def count_visit(part, size: int = 1) -> None:
    """Count work on a part of a file against its limit, if it is read as plain data.

    The work on a part that is visited once is bounded by the size of the file.

    Args:
        part: an object that the file holds.
        size: how many objects' work it is.
    Raises:
        UnsafePickleError: the file has asked for more than its limit allows.
    """
    if _reading.machine is not None:
        _reading.machine.visit(part, size)


def load_plain(content: bytes | memoryview, label: str):
    """The object that a plain pickle holds.

    Args:
        content: of the file.
        label: names the file in errors.
    Returns:
        The object, and how many bytes it took.
    Raises:
        UnsafePickleError: it is damaged, or names something else.
    """
    try:
        return read_plain(content)
    except UnsafePickleError as error:
        raise UnsafePickleError(
            f"[load] {label} cannot be loaded with weights_only: {error}"
        ) from None


def read_plain(content: bytes | memoryview, has_old_texts: bool = False):
    """The same for other readers, whose errors name the file.

    Args:
        content: of the file.
        has_old_texts: it may be from Python 2, whose texts become bytes.
    """
    before = _reading.machine
    try:
        _reading.machine = machine = Reader(content, has_old_texts)
        return machine.run(), machine.position
    except (ValueError, TypeError, OverflowError, MemoryError, RecursionError) as error:
        if isinstance(error, UnsafePickleError):
            raise
        raise UnsafePickleError(f"it is damaged: {error}") from None
    finally:
        _reading.machine = before
