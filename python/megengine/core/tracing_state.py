# SPDX-License-Identifier: Apache-2.0
"""Whether a trace records on this thread, without an import of ``megengine.jit``."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from .. import _mge


class _State(threading.local):
    tracing = False  # a trace records or replays
    names = None  # jit.names.RecordedNames of the function that is recorded
    keeps_turn = False  # the traced call keeps other threads from drawing random numbers

    @property
    def symbolic_shape(self) -> bool:
        """Whether Tensor.shape is a Tensor; the binding decides that."""
        return _mge.symbolic_shapes()

    @symbolic_shape.setter
    def symbolic_shape(self, value: bool) -> None:
        _mge.set_symbolic_shapes(value)


state = _State()


def is_recorded(*values: Any) -> bool:
    """Whether operators on values are recorded, in which case Tensors must stay Tensors.

    Args:
        values: of any kind.
    """
    tensors = [value for value in values if isinstance(value, _mge.Tensor)]
    return bool(tensors) and (state.tracing or any(value._is_symbolic for value in tensors))


@contextmanager
def exclude_from_trace() -> Iterator[None]:
    """Exclude operators from a trace: they run eagerly in every call.

    Example:
        >>> from megengine.jit import trace
        >>> @trace(symbolic=True)
        ... def f(x):
        ...     with exclude_from_trace():
        ...         print("each time")
        ...     return x + 1
        >>> f(Tensor([1.0]))
        each time
        Tensor([2.], device=xpux:0)
    """
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
