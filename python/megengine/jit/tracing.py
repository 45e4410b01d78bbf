# SPDX-License-Identifier: Apache-2.0
"""``trace``: a Python function recorded once and run as a compiled graph."""

from contextlib import contextmanager

from .. import _mge
from ..core.tracing_state import state


def is_tracing() -> bool:
    """Whether a traced function is running on this thread.

    Example:
        >>> is_tracing()
        False
    """
    return state.tracing


@contextmanager
def exclude_from_trace():
    """What runs in this context is not recorded: it runs at once in every call."""
    tracing, symbolic_shape = state.tracing, state.symbolic_shape
    if not tracing:
        yield
        return
    state.tracing = state.symbolic_shape = False
    paused = _mge.pause_trace()
    try:
        yield
    finally:
        state.tracing, state.symbolic_shape = tracing, symbolic_shape
        _mge.resume_trace(paused)
