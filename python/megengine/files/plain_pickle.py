# SPDX-License-Identifier: Apache-2.0
"""Pickles of tensors, state and this package's modules, read without running their code.

A pickle is a program. This machine supports a small part of it (``plain_machine``): plain values
and containers, and calls of a few constructors, each a function that checks its arguments
(``plain_arrays``, ``plain_objects``). A name in a file is only looked up in the table of these; no
other object is called, or given attributes or a state; only containers made by this machine get
elements. Memory is bounded by the number of steps, and all arrays together have at most as many
bytes as the file.
"""

import threading

from .plain_machine import Machine, UnsafePickleError, check
from .plain_objects import Reader


class _Reading(threading.local):
    machine: Machine | None = None  # the machine that reads a file on this thread without running
    # its code


_reading = _Reading()


def allow_import(name: str) -> None:
    """Refuse imports requested by a file that is read as plain data.

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
        part: an object in the file.
        size: amount of work, in objects.
    Raises:
        UnsafePickleError: the file exceeds its limit.
    """
    if _reading.machine is not None:
        _reading.machine.visit(part, size)


def load_plain(content: bytes | memoryview, label: str):
    """Load the object in a plain pickle.

    Args:
        content: content of the file.
        label: name of the file in errors.
    Returns:
        The object, and the number of bytes read.
    Raises:
        UnsafePickleError: it is damaged, or contains a name that is not allowed.
    """
    try:
        return read_plain(content)
    except UnsafePickleError as error:
        raise UnsafePickleError(
            f"[load] {label} cannot be loaded with weights_only: {error}"
        ) from None


def read_plain(content: bytes | memoryview, has_old_texts: bool = False):
    """Load a plain pickle for other readers, which name the file in their errors.

    Args:
        content: content of the file.
        has_old_texts: it may be from Python 2, whose strings become bytes.
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
