# SPDX-License-Identifier: Apache-2.0
"""Work that no tape follows."""

from collections.abc import Iterator
from contextlib import contextmanager

from .. import _mge


@contextmanager
def no_grad() -> Iterator[None]:
    """Context in which nothing is recorded: results are constants, and their inputs are not kept. A
    manager that begins to record in the block does record.

    Example:
        >>> from megengine.autodiff import GradManager
        >>> w = Tensor([2.0])
        >>> with GradManager().attach(w) as gm:
        ...     with no_grad():
        ...         scale = w * 3
        ...     gm.backward(w * scale)
        >>> w.grad
        Tensor([6.], device=xpux:0)
    """
    paused = _mge.PausedRecording()
    try:
        yield
    finally:
        paused.end()
