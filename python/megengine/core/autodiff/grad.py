# SPDX-License-Identifier: Apache-2.0
"""``Grad``: one tape, whose gradients go to functions."""

from collections.abc import Callable

from ... import _mge
from ...autodiff.function import Function  # noqa: F401
from ...autodiff.result_gradients import like_results
from ...tensor import Tensor


class Grad:
    """Records from the beginning of its ``with`` block, or from the first ``wrt``, to its call.

    Args:
        name: shown in its representation.
    Example:
        >>> x = Tensor([3.0])
        >>> with Grad() as grad:
        ...     _ = grad.wrt(x, callback=print)
        ...     y = x * x
        ...     grad(y, Tensor([1.0]))
        Tensor([6.], device=xpux:0)
    """

    def __init__(self, name: str | None = None):
        self._name = name
        self._tape: _mge.Tape | None = None
        self._callbacks: list[Callable | None] = []

    def _begin(self) -> _mge.Tape:
        if self._tape is None:
            self._tape = _mge.Tape()
            self._tape.start()
        return self._tape

    def wrt(self, *tensors: Tensor, callback: Callable | None = None) -> "Grad":
        """Ask for the gradients of tensors.

        Args:
            tensors: floating Tensors.
            callback: is called with the gradient of each that has one.
        Returns:
            This object.
        """
        tape = self._begin()
        for tensor in tensors:
            tape.attach(tensor)
            self._callbacks.append(callback)
        return self

    def __call__(self, ys: Tensor | list[Tensor], dys: Tensor | list[Tensor]) -> None:
        """Compute the gradients and hand them to the callbacks; this ends the recording.

        Args:
            ys: results.
            dys: their gradients, of shapes that broadcast to theirs.
        Raises:
            RuntimeError: nothing is recorded.
        """
        if self._tape is None:
            raise RuntimeError("[Grad] nothing is recorded: use it in a with block, or call wrt")
        ys, dys = ([v] if isinstance(v, Tensor) else list(v) for v in (ys, dys))
        tape, self._tape = self._tape, None
        callbacks, self._callbacks = self._callbacks, []
        tape.stop()
        try:
            grads = tape.backward(ys, like_results(ys, dys))
        finally:
            tape.release()
        for callback, grad in zip(callbacks, grads, strict=True):
            if callback is not None and grad is not None:
                callback(grad)

    def suppress(self) -> None:
        """Record nothing until ``resume``."""
        self._begin().stop()

    def resume(self) -> None:
        """Go on with recording."""
        self._begin().start()

    def __enter__(self) -> "Grad":
        self._begin()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb) -> None:
        if self._tape is not None:
            self._tape.stop()
            self._tape.release()
            self._tape = None
            self._callbacks = []

    def __repr__(self) -> str:
        return f"Grad({self._name!r})"
