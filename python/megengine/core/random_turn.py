# SPDX-License-Identifier: Apache-2.0
"""Serialises the threads that draw random numbers.

A traced call changes the state of a stream by operators that run when it ends. Until then no other
thread can know the state, so the call keeps the turn.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .. import _mge
from .tracing_state import state

SECONDS = 60  # that a thread waits for its turn

_turn = threading.RLock()
_depth = 0  # how often the thread that has the turn has taken it
_owner: int | None = None
# The states of the streams from which the call that has the turn draws, each with an earlier value.
_before: list[tuple[_mge.Tensor, _mge.Tensor]] = []


def _take() -> None:
    global _depth, _owner
    if not _turn.acquire(timeout=SECONDS):
        raise RuntimeError(
            "[random] a traced function on another thread has drawn random numbers and has not"
            f" ended for {SECONDS} seconds; numbers are drawn when it has"
        )
    _owner = threading.get_ident()
    _depth += 1


def _give_back() -> None:
    global _depth, _owner
    _depth -= 1
    if _depth == 0:
        _owner = None
        _before.clear()
    _turn.release()


class turn:
    """A context in which no other thread draws.

    Raises:
        RuntimeError: another thread keeps the turn for longer than a minute.
    """

    __slots__ = ()

    def __enter__(self) -> None:
        _take()

    def __exit__(self, *_: object) -> None:
        _give_back()


def keep_turn(stream: _mge.Tensor, value: _mge.Tensor) -> None:
    """Keep the turn until the traced call of this thread ends; otherwise it ends with ``turn``.

    Args:
        stream: the state of a stream, which is about to change.
        value: its value so far.
    """
    if state.tracing:
        if not state.keeps_turn:
            _take()
            state.keeps_turn = True
        _before.append((stream, value))


def _restore_lost() -> None:
    """Gives each stream that an error left symbolic its last known state."""
    for stream, value in reversed(_before):
        if stream._is_symbolic and not value._is_symbolic:
            stream._reset(value)


@contextmanager
def traced_call() -> Iterator[None]:
    """The context of a traced call, which releases a turn that it has kept."""
    before, state.keeps_turn = state.keeps_turn, False
    try:
        yield
    except BaseException:
        if state.keeps_turn:
            _restore_lost()
        raise
    finally:
        kept, state.keeps_turn = state.keeps_turn, before
        if kept:
            _give_back()


def _begin_in_child() -> None:
    """Takes the turn from a thread that this process does not have."""
    global _turn, _depth, _owner
    if _owner == threading.get_ident():
        return
    _turn, _depth, _owner = threading.RLock(), 0, None
    for stream, value in reversed(_before):
        stream._reset(value)
    _before.clear()


os.register_at_fork(after_in_child=_begin_in_child)
