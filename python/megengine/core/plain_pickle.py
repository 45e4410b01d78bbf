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

from .plain_machine import UnsafePickleError, check
from .plain_objects import Reader


class _Reading(threading.local):
    is_plain = False  # this thread reads a file of which nothing may be run


_reading = _Reading()


def allow_import(name: str) -> None:
    """Refuse to import what a file names while it is read as plain data.

    Args:
        name: of the object that is needed, with its module.
    Raises:
        UnsafePickleError: it is read as plain data.
    """
    check(not _reading.is_plain, f"it names {name}, which is not among what may be loaded")


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
    before, _reading.is_plain = _reading.is_plain, True
    try:
        machine = Reader(content)
        return machine.run(), machine.position
    except UnsafePickleError as error:
        raise UnsafePickleError(
            f"[load] {label} cannot be loaded with weights_only: {error}"
        ) from None
    except (ValueError, TypeError, OverflowError, MemoryError) as error:
        raise UnsafePickleError(f"[load] {label} is damaged: {error}") from None
    finally:
        _reading.is_plain = before
