# SPDX-License-Identifier: Apache-2.0
"""``GradManager``: records operators on tensors, then computes gradients."""

import functools
import threading
import weakref
from collections.abc import Callable, Iterable
from typing import Any

from ..core.counted import counted
from ..core.tensor.dtype import is_differentible_dtype
from ..tensor import Tensor
from .recording import Recording
from .result_gradients import distinct_results


class _Backwarding(threading.local):
    manager = None


_backwarding = _Backwarding()


def get_backwarding_grad_manager() -> "GradManager | None":
    """The manager whose ``backward`` is running on this thread, or None.

    Example:
        >>> get_backwarding_grad_manager() is None
        True
    """
    return _backwarding.manager


class BackwardCallback:
    """A callback of ``GradManager.attach`` that is called while ``backward`` runs.

    Other callbacks are called after the backward pass. This one, with the other callbacks of its
    tensor, is called as soon as the gradient of the tensor is complete, so work that it starts runs
    beside the rest of the pass.
    """

    def before_backward(self, manager: "GradManager", ys: list[Tensor]) -> None:
        """Called before the gradients of ``ys`` are computed."""

    def __call__(self, tensor: Tensor, grad: Tensor):
        """Return the gradient, or an object whose ``get`` returns it."""
        return grad

    def after_backward(self, manager: "GradManager") -> Callable[[], None]:
        """Called when all gradients are known, before their ``get``.

        Returns:
            A function that is called when all callbacks have returned from this method.
        """
        return lambda: None

    def backward_has_failed(self, manager: "GradManager") -> None:
        """Called instead of ``after_backward`` when the backward pass raises."""


class _Attached:
    """An attached tensor with its finalizer and the callbacks for its gradient."""

    def __init__(self, tensor: Tensor, forget: Callable):
        self.tensor = weakref.ref(tensor, forget)
        self.callbacks: list[Callable] = []


class GradManager(Recording):
    """Computes gradients with respect to the tensors attached to it.

    Example:
        >>> x = Tensor([3.0])
        >>> gm = GradManager().attach(x)
        >>> with gm:
        ...     y = x * x
        ...     gm.backward(y)
        >>> x.grad
        Tensor([6.], device=xpux:0)
    """

    def __init__(self):
        super().__init__()
        self._attached: dict[int, _Attached] = {}
        self._on_tape: list[int | None] = []
        self._backward_callbacks: list[BackwardCallback] | None = []  # None: to be collected again
        self._beside: list[GradManager] = []  # the others of a group that records

    def attached_tensors(self) -> list[Tensor]:
        """The tensors that are attached and still alive.

        Example:
            >>> x = Tensor([3.0])
            >>> len(GradManager().attach(x).attached_tensors())
            1
        """
        found = (entry.tensor() for entry in self._attached.values())
        return [tensor for tensor in found if tensor is not None]

    def attach(
        self, tensors: Tensor | Iterable[Tensor], callbacks: Callable | Iterable | None = None
    ) -> "GradManager":
        """Attach tensors; their gradients are computed for everything recorded from now on.

        Args:
            tensors: floating Tensors; they are not kept alive.
            callbacks: ``callback(tensor, gradient)``, or several; the result of the last one (or of
                its ``get()``) becomes the gradient.
        Returns:
            The manager.
        Raises:
            AssertionError: one of them is not a floating Tensor.
            TypeError: ``tensors`` is a module.
        Example:
            >>> x = Tensor([3.0])
            >>> gm = GradManager().attach(x, callbacks=lambda tensor, grad: grad / 2)
            >>> with gm:
            ...     gm.backward(x * x)
            >>> x.grad.numpy().tolist()
            [3.0]
        """
        if hasattr(tensors, "parameters"):
            raise TypeError(
                f"[GradManager] attach wants Tensors, got {type(tensors).__name__}; pass its"
                " parameters()"
            )
        tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
        if callbacks is None:
            callbacks = []
        callbacks = [callbacks] if callable(callbacks) else list(callbacks)
        for tensor in tensors:
            assert isinstance(tensor, Tensor), (
                f"[GradManager] only Tensors can be attached, got {type(tensor).__name__}"
            )
            assert is_differentible_dtype(tensor.dtype), (
                f"[GradManager] only floating tensors can be attached, got {tensor.dtype}"
            )
            key = id(tensor)
            entry = self._attached.get(key)
            if entry is None or entry.tensor() is None:
                forget = functools.partial(_forget, weakref.ref(self), key)
                entry = self._attached[key] = _Attached(tensor, forget)
                if self._tape is not None:
                    self._put_on_tape(key, tensor)
            entry.callbacks += callbacks
            self._backward_callbacks = None
        return self

    def _put_on_tape(self, key: int, tensor: Tensor) -> None:
        self._tape.attach(tensor)
        self._on_tape.append(key)

    def follow(self, tensor: Tensor) -> None:
        """Record operators on a tensor without computing its gradient.

        Example:
            >>> x = Tensor([3.0])
            >>> gm = GradManager()
            >>> with gm:
            ...     gm.follow(x)
            ...     y = x * 2
            >>> x.grad is None
            True
        """
        self._tape.attach(tensor)
        self._on_tape.append(None)

    def record(self) -> None:
        """Start to record.

        Raises:
            RuntimeError: it records already.
        Example:
            >>> x = Tensor([3.0])
            >>> gm = GradManager().attach(x)
            >>> gm.record()
            >>> gm.backward(x * x)
            >>> x.grad.numpy().tolist()
            [6.0]
        """
        if self._tape is not None:
            raise RuntimeError("already recording: leave the `with` block or call release() first")
        self._begin()
        self._on_tape = []
        for key, entry in list(self._attached.items()):
            tensor = entry.tensor()
            if tensor is not None:
                self._put_on_tape(key, tensor)
        self._tape.start()

    def backward(
        self,
        y: Tensor | list[Tensor] | None = None,
        dy: Tensor | list[Tensor] | None = None,
    ) -> None:
        """Compute the gradients, add them to ``grad`` of the attached tensors, stop recording.

        Args:
            y: results to differentiate; None: no results.
            dy: their gradients, of shapes that broadcast to the results'; None for ones.
        Raises:
            RuntimeError: nothing was recorded, or the numbers of results and gradients differ.
        Example:
            >>> x = Tensor([1.0, 2.0])
            >>> gm = GradManager().attach(x)
            >>> with gm:
            ...     gm.backward(x * x, dy=Tensor([1.0, 10.0]))
            >>> x.grad.numpy().tolist()
            [2.0, 40.0]
        """
        if self._tape is None:
            raise RuntimeError(
                "no computation history: did you forget record() or call a method that clears"
                " the history?"
            )
        ys = [] if y is None else _listed("y", y)
        dys = None if dy is None else _listed("dy", dy)
        if dys is not None and len(ys) != len(dys):
            raise RuntimeError(
                f"[backward] {counted(len(ys), 'result')}, but {counted(len(dys), 'gradient')} of"
                " results"
            )
        before, _backwarding.manager = _backwarding.manager, self
        paused = self._pause_beside() if self._beside else []
        try:
            self._tape.stop()
            if len(ys) > 1 or dys is not None:
                ys, dys = distinct_results(ys, dys)
            ys, dys = self._with_kept(ys, dys)
            if self._backward_callbacks is None:
                self._backward_callbacks = self._collect_backward_callbacks()
            if self._backward_callbacks:
                self._deliver(self._differentiate_with(self._backward_callbacks, ys, dys))
            else:
                self._deliver(self._called(self._tape.backward(ys, dys), {}))
        finally:
            _backwarding.manager = before
            self.release()
            for tape in paused:
                tape.start()

    def _pause_beside(self) -> list:
        """Pause the others of the group; return their tapes."""
        tapes = [gm._tape for gm in self._beside if gm._tape and gm._tape.is_recording]
        for tape in tapes:
            tape.stop()
        return tapes

    def _collect_backward_callbacks(self) -> list[BackwardCallback]:
        found = (c for entry in self._attached.values() for c in entry.callbacks)
        return list(dict.fromkeys(c for c in found if isinstance(c, BackwardCallback)))

    def _differentiate_with(
        self, callbacks: list[BackwardCallback], ys: list[Tensor], dys: list[Tensor] | None
    ) -> list[tuple[Tensor, Any]]:
        """Differentiate while callbacks of backward passes begin work; return what to deliver."""
        for callback in callbacks:
            callback.before_backward(self, ys)
        early: dict[int, Any] = {}
        try:
            grads = self._tape.backward(ys, dys, functools.partial(self._call_early, early))
            found = self._called(grads, early)
        except BaseException:
            for callback in callbacks:
                callback.backward_has_failed(self)
            raise
        for finish in [callback.after_backward(self) for callback in callbacks]:
            finish()
        return found

    def _call_early(self, results: dict, position: int, grad: Tensor) -> None:
        """Call the callbacks of a gradient while ``backward`` runs, if one of them wants it."""
        key = self._on_tape[position]
        entry = None if key is None else self._attached.get(key)
        if entry is None or not any(isinstance(c, BackwardCallback) for c in entry.callbacks):
            return
        tensor = entry.tensor()
        if tensor is not None:
            results[key] = _called(entry, tensor, grad)

    def _called(self, grads: list, early: dict) -> list[tuple[Tensor, Any]]:
        """The attached tensors with the results of their callbacks, which may have begun work."""
        found = []
        for key, grad in dict(zip(self._on_tape, grads, strict=True)).items():
            entry = None if key is None else self._attached.get(key)
            tensor = None if entry is None else entry.tensor()
            if grad is None or tensor is None:
                continue
            if key in early:
                grad = early[key]
            elif entry.callbacks:
                grad = _called(entry, tensor, grad)
            found.append((tensor, grad))
        return found

    def _deliver(self, found: list[tuple[Tensor, Any]]) -> None:
        """Wait for the results of callbacks and add them to ``grad`` of the tensors."""
        for tensor, grad in found:
            if not isinstance(grad, Tensor) and hasattr(grad, "get"):
                grad = grad.get()
            if tensor.format != "default" and isinstance(grad, Tensor):
                grad.format = tensor.format
            old = getattr(tensor, "grad", None)
            if old is not None and grad is not None:
                old += grad  # owners of the gradient see the sum
                grad = old
            tensor.grad = grad

    def release(self) -> None:
        """Stop recording and discard the recorded operators.

        Example:
            >>> gm = GradManager().attach(Tensor([3.0]))
            >>> gm.record()
            >>> gm.release()
            >>> gm.record()  # can start again
            >>> gm.release()
        """
        if self._tape is not None:
            tape = self._end()
            self._on_tape = []
            tape.stop()
            tape.release()

    def __enter__(self) -> "GradManager":
        self.record()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb) -> None:
        self.release()

    def __or__(self, other) -> "GradManagerGroup":
        return GradManagerGroup([self]).merge_with(other)

    __ror__ = __or__


def _listed(name: str, given: Tensor | Iterable[Tensor]) -> list[Tensor]:
    if isinstance(given, Tensor):
        return [given]
    if not isinstance(given, Iterable):
        raise TypeError(
            f"[backward] {name} must be a Tensor or Tensors, got {type(given).__name__}"
        )
    return list(given)


def _called(entry: _Attached, tensor: Tensor, grad):
    """The gradient that the callbacks return."""
    for callback in entry.callbacks:
        grad = callback(tensor, grad)
    return grad


def _forget(manager: weakref.ref, key: int, reference: weakref.ref) -> None:
    """Called when an attached tensor dies: its id may be used again."""
    alive = manager()
    entry = None if alive is None else alive._attached.get(key)
    if entry is not None and entry.tensor is reference:
        del alive._attached[key]
        alive._backward_callbacks = None


class GradManagerGroup:
    """Managers that record together; none records the backward pass of another.

    Args:
        gms: the managers.
    Example:
        >>> x = Tensor([3.0])
        >>> first, second = GradManager().attach(x), GradManager().attach(x)
        >>> with first | second:
        ...     y = x * x
        ...     first.backward(y)
        >>> x.grad
        Tensor([6.], device=xpux:0)
    """

    def __init__(self, gms: Iterable[GradManager]):
        self._gms = list(gms)

    def merge_with(self, other: "GradManager | GradManagerGroup") -> "GradManagerGroup":
        """A group of these and other managers.

        Example:
            >>> first, second = GradManager(), GradManager()
            >>> group = (first | second).merge_with(GradManager())
            >>> len(group._gms)
            3
        """
        if isinstance(other, GradManager):
            other = GradManagerGroup([other])
        return GradManagerGroup([*self._gms, *other._gms])

    __or__ = merge_with
    __ror__ = merge_with

    def __enter__(self) -> "GradManagerGroup":
        for gm in self._gms:
            gm._beside = [other for other in self._gms if other is not gm]
            gm.record()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb) -> None:
        for gm in self._gms:
            gm.release()
            gm._beside = []
