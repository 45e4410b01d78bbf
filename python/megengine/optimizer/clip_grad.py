# SPDX-License-Identifier: Apache-2.0
"""Gradients limited in size."""

from collections.abc import Iterable

from ..core.operands import as_number
from ..functional import abs, clip, concat, minimum, norm, stack
from ..functional import max as _max
from ..tensor import Tensor


def _with_grad(tensors: Tensor | Iterable[Tensor]) -> list[Tensor]:
    tensors = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    return [t for t in tensors if t.grad is not None]


def clip_grad_norm(tensors: Tensor | Iterable[Tensor], max_norm: float, ord: float = 2.0) -> Tensor:
    """Scale gradients, in place, so that their common norm is at most a value.

    Args:
        tensors: Tensors whose gradients to scale; those without a gradient are ignored.
        max_norm: largest norm.
        ord: order of the norm; may be infinity.
    Returns:
        The norm before scaling, a Tensor of rank 0.
    Raises:
        TypeError: ``max_norm`` is not a number.
        ValueError: ``max_norm`` is negative or NaN.
    Example:
        >>> p = Parameter([1.0])
        >>> p.grad = Tensor([2.0])
        >>> float(clip_grad_norm(p, 1.0))
        2.0
    """
    max_norm = as_number(max_norm, "clip_grad_norm", "max_norm")
    if not max_norm >= 0.0:
        raise ValueError(f"[clip_grad_norm] max_norm must not be negative, got {max_norm}")
    found = _with_grad(tensors)
    if not found:
        return Tensor(0.0)
    grads = [t.grad.detach().flatten() for t in found]
    if ord == float("inf"):
        size = _max(stack([_max(abs(g)) for g in grads]))
    else:
        size = norm(concat(grads), float(ord))
    scale = minimum(max_norm / (size + 1e-6), 1.0)
    for t in found:
        t.grad._reset(t.grad * scale)
    return size


def clip_grad_value(tensors: Tensor | Iterable[Tensor], lower: float, upper: float) -> None:
    """Limit each element of gradients, in place.

    Args:
        tensors: Tensors whose gradients to clip; those without a gradient are ignored.
        lower: smallest value.
        upper: largest value.
    Raises:
        ValueError: a bound is NaN.
    Example:
        >>> w = Parameter([1.0, 2.0])
        >>> w.grad = Tensor([-5.0, 0.5])
        >>> clip_grad_value(w, -1.0, 1.0)
        >>> w.grad
        Tensor([-1.   0.5], device=xpux:0)
    """
    if lower != lower or upper != upper:
        raise ValueError(f"[clip_grad_value] the bounds must be numbers, got {lower}, {upper}")
    for t in _with_grad(tensors):
        t.grad._reset(clip(t.grad, lower, upper))
