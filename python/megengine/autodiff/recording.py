# SPDX-License-Identifier: Apache-2.0
"""The interface of ``GradManager`` and ``Grad`` for code whose gradients have side effects."""

import itertools
import weakref

from .. import _mge
from ..tensor import Tensor

_numbers = itertools.count()
_active: "weakref.WeakSet[Recording]" = weakref.WeakSet()


class Recording:
    """Owns a tape while it records: the base of ``GradManager`` and ``GradKey``.

    The gradient of an operator may be an exchange with other processes. Every process must take
    part, even if none of its results depends on it.

    Args:
        name: the same in all processes of a program; None: numbered in the order of construction.
    """

    def __init__(self, name: str | None = None) -> None:
        self._number = next(_numbers)
        self.name = f"{type(self).__name__}_{self._number}" if name is None else name
        self._tape: _mge.Tape | None = None
        self._kept: list[Tensor] = []

    def follow(self, tensor: Tensor) -> None:
        """Record operators on a tensor without computing its gradient."""
        raise NotImplementedError

    def keep(self, result: Tensor) -> None:
        """Traverse a result when gradients are computed, even if no output depends on it."""
        self._kept.append(result)

    def _begin(self) -> None:
        self._tape = _mge.Tape()
        _active.add(self)

    def _end(self) -> _mge.Tape | None:
        tape, self._tape, self._kept = self._tape, None, []
        _active.discard(self)
        return tape

    def _with_kept(
        self, ys: list[Tensor], dys: list[Tensor] | None
    ) -> tuple[list[Tensor], list[Tensor] | None]:
        """Results and their gradients, where the kept results have zeros."""
        if not self._kept:
            return ys, dys
        dys = [_mge.ops.full_like(y, value=1.0) for y in ys] if dys is None else dys
        zeros = [_mge.ops.full_like(y, value=0.0) for y in self._kept]
        return [*ys, *self._kept], [*dys, *zeros]


def active_recordings() -> list[Recording]:
    """The active recordings, in the order in which they were made.

    Example:
        >>> from megengine.autodiff.recording import active_recordings
        >>> active_recordings()
        []
    """
    return sorted(_active, key=lambda recording: recording._number)
