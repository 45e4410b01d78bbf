# SPDX-License-Identifier: Apache-2.0
"""``partial_trace``: a part of a training step as a compiled graph."""

import functools
import warnings
from collections.abc import Callable
from typing import Any

from ..core.not_available import NotAvailableError
from .recorded_calls import RecordedCalls
from .tracing import trace


class _PartialTrace:
    """A function that is recorded; as a method, for each object."""

    def __init__(self, function: Callable):
        functools.update_wrapper(self, function, updated=())
        self._calls = RecordedCalls(function)

    def __call__(self, *args, **kwargs):
        return self._calls(*args, **kwargs)

    def __get__(self, instance, owner=None):
        return self if instance is None else functools.partial(self, instance)


def partial_trace(
    func: Callable | None = None,
    *,
    backend: str = "default",
    without_host: bool = True,
    trace_gmcallback: bool = True,
    **trace_options,
) -> Any:
    """Compile the forward and the backward pass of a function for use in eager training.

    The Python code runs once for each combination of shapes, dtypes and other arguments (and of
    ``training`` of the Module and its parts, where the function is a method of a Module, or a
    Module is an argument); graphs run from then on. Tensors from outside, parameters and buffers
    among them, are read and changed by each call. The backward pass computes values of the forward
    pass again rather than to keep them.

    Args:
        func: a function or a Module; None: return a decorator.
        backend: ``"default"``; ``"xla"`` is not in this version.
        without_host: False runs the Python code in each call and checks it, as ``trace`` does;
            gradients are computed eagerly then.
        trace_gmcallback: no effect: callbacks of a GradManager run outside of graphs.
        trace_options: options of ``trace``; they apply if ``without_host`` is False, otherwise they
            only cause a warning.
    Returns:
        The function, compiled.
    Raises:
        NotAvailableError: the backend is not available.
        ValueError: there is no such backend.
    Example:
        >>> from megengine.autodiff import GradManager
        >>> gm, w = GradManager(), Parameter([2.0])
        >>> @partial_trace
        ... def cube(x):
        ...     return x * x * x
        >>> with gm.attach(w):
        ...     gm.backward(cube(w))
        >>> w.grad
        Tensor([12.], device=xpux:0)
    """
    if func is None:
        return functools.partial(
            partial_trace,
            backend=backend,
            without_host=without_host,
            trace_gmcallback=trace_gmcallback,
            **trace_options,
        )
    if backend == "xla":
        raise NotAvailableError("[partial_trace] XLA is not available in this version of megengine")
    if backend != "default":
        raise ValueError(f"[partial_trace] there is no backend {backend!r}")
    if not without_host:
        return trace(func, **trace_options)
    for name in trace_options:
        warnings.warn(f"[partial_trace] {name} has no effect", UserWarning, stacklevel=2)
    return _PartialTrace(func)
