# SPDX-License-Identifier: Apache-2.0
"""The recorder of each thread, for nodes and expressions: recorders know those, not vice versa."""

import threading


class _Current(threading.local):
    recorder = None  # the recorder of this thread
    is_paused = False  # inside of a call that is recorded as one expression


current = _Current()


def recording():
    """The recorder of this thread's calls; None if calls are not recorded."""
    return None if current.is_paused else current.recorder


class paused:
    """A context in which this thread does not record."""

    def __enter__(self) -> None:
        self._before = current.is_paused
        current.is_paused = True

    def __exit__(self, *exc) -> None:
        current.is_paused = self._before


def inserting():
    """The recorder that inserts expressions into a graph on this thread; None without one."""
    recorder = current.recorder
    return recorder if recorder is not None and recorder.inserts else None


def needed_inserting(who: str):
    """The same, where a node is used as a Tensor or a Module.

    Args:
        who: name of the caller in the error.
    Raises:
        TypeError: this thread does not insert expressions.
    """
    found = inserting()
    if found is None:
        raise TypeError(
            f"[{who}] nodes are not Tensors; to add expressions, use them in a block of"
            " InternalGraph.insert_exprs"
        )
    return found
