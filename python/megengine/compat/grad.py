# SPDX-License-Identifier: Apache-2.0
"""``Grad``: one tape, which passes gradients to functions."""

import itertools
import weakref
from collections.abc import Callable

from ..autodiff.function import Function  # noqa: F401
from ..autodiff.recording import Recording
from ..autodiff.result_gradients import distinct_results
from ..tensor import Tensor

_numbers = itertools.count()
_grad_manager_dict: "weakref.WeakValueDictionary[str, Grad]" = weakref.WeakValueDictionary()


def get_grad_managers() -> "list[Grad]":
    """The ``Grad`` objects that are alive, in no order."""
    return list(_grad_manager_dict.values())


class GradKey(Recording):
    """A tape and the functions that get its gradients; ``Grad`` is the way to use one.

    It records from ``enter``, or from the first ``attach``, to ``backward`` or ``exit``.

    Args:
        name: its name.
    Example:
        >>> key, x = GradKey("example"), Tensor([3.0])
        >>> key.attach(x, print)
        >>> key.backward([x * x], [Tensor([1.0])])
        Tensor([6.], device=xpux:0)
    """

    def __init__(self, name: str | None = None):
        super().__init__(name or "")
        self._attached: list[tuple[weakref.ref, Callable | None]] = []

    def enter(self) -> None:
        """Begin to record."""
        if self._tape is None:
            self._begin()
            self._tape.start()

    def attach(self, tensor: Tensor, callback: Callable | None = None) -> None:
        """Request the gradient of a floating Tensor, which is passed to the function."""
        self.enter()
        self._tape.attach(tensor)
        self._attached.append((weakref.ref(tensor), callback))

    def follow(self, tensor: Tensor) -> None:
        """Record operators on a tensor without computing its gradient."""
        self.attach(tensor)

    def is_attached_to(self, tensor: Tensor) -> bool:
        """Whether the gradient of a Tensor was requested."""
        return any(reference() is tensor for reference, _ in self._attached)

    def suppress(self) -> None:
        """Pause recording until ``resume``."""
        self.enter()
        self._tape.stop()

    def resume(self) -> None:
        """Go on with recording."""
        self.enter()
        self._tape.start()

    def backward(self, ys: list[Tensor], dys: list[Tensor]) -> None:
        """Compute the gradients and hand them to the functions; this ends the recording.

        Args:
            ys: results.
            dys: their gradients, of shapes that broadcast to the results'.
        Raises:
            RuntimeError: nothing is recorded.
        """
        if self._tape is None:
            raise RuntimeError("[Grad] nothing is recorded: use it in a with block, or call wrt")
        ys, dys = self._with_kept(*distinct_results(list(ys), list(dys)))
        tape = self._end()
        attached, self._attached = self._attached, []
        tape.stop()
        try:
            grads = tape.backward(ys, dys)
        finally:
            tape.release()
        for (_, callback), grad in zip(attached, grads, strict=True):
            if callback is not None and grad is not None:
                callback(grad)

    def exit(self) -> None:
        """End the recording and forget it."""
        if self._tape is not None:
            tape = self._end()
            tape.stop()
            tape.release()
            self._attached = []


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
        self._impl = GradKey(f"grad_{next(_numbers)}" if name is None else name)
        _grad_manager_dict[self._name] = self

    @property
    def _name(self) -> str:
        return self._impl.name

    def _is_attached_to(self, tensor: Tensor) -> bool:
        return self._impl.is_attached_to(tensor)

    def wrt(self, *tensors: Tensor, callback: Callable | None = None) -> "Grad":
        """Request the gradients of tensors.

        Args:
            tensors: floating Tensors.
            callback: called with the gradient of each Tensor that has one.
        Returns:
            This object.
        """
        for tensor in tensors:
            self._impl.attach(tensor, callback)
        return self

    def __call__(self, ys: Tensor | list[Tensor], dys: Tensor | list[Tensor]) -> None:
        """Compute the gradients and hand them to the callbacks; this ends the recording.

        Args:
            ys: results.
            dys: their gradients, of shapes that broadcast to the results'.
        Raises:
            RuntimeError: nothing is recorded.
        """
        self._impl.backward(*([v] if isinstance(v, Tensor) else list(v) for v in (ys, dys)))

    def suppress(self) -> None:
        """Pause recording until ``resume``."""
        self._impl.suppress()

    def resume(self) -> None:
        """Go on with recording."""
        self._impl.resume()

    def __enter__(self) -> "Grad":
        self._impl.enter()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb) -> None:
        self._impl.exit()

    def __repr__(self) -> str:
        return f"Grad({self._name!r})"
