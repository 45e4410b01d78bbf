# SPDX-License-Identifier: Apache-2.0
"""Losses. ``reduction`` is ``"mean"``, ``"sum"`` or ``"none"`` and is keyword-only: as a positional
argument it is ignored, because callers rely on that.
"""

import functools
from collections.abc import Callable
from typing import Any

from .. import _mge
from ..core.tensor.dtype import is_integer
from ..core.tensor.shape_arguments import as_places, normal_axis
from ..tensor import Tensor
from .activation import logsigmoid
from .creation import as_tensors
from .math import mean, sum

_REDUCTIONS: dict[str, Callable[..., Tensor]] = {
    "mean": mean,
    "sum": sum,
    "none": lambda loss: loss,
}


def _reduced(loss_function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    @functools.wraps(loss_function)
    def with_reduction(*args: Any, **kwargs: Any) -> Tensor:
        reduction = kwargs.pop("reduction", "mean")
        if reduction not in _REDUCTIONS:
            raise ValueError(
                f"[{loss_function.__name__}] reduction must be in {list(_REDUCTIONS)},"
                f" got {reduction!r}"
            )
        return _REDUCTIONS[reduction](loss_function(*args, **kwargs))

    return with_reduction


@_reduced
def l1_loss(pred: Tensor, label: Tensor, reduction: str = "mean") -> Tensor:
    """Absolute difference.

    Args:
        pred: prediction, any shape.
        label: target, of that shape.
        reduction: see the module.
    Returns:
        Tensor.
    Raises:
        ValueError: ``reduction`` is unknown.
    Example:
        >>> F.nn.l1_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]))
        Tensor(1.0, device=xpux:0)
    """
    return _mge.ops.abs(_mge.ops.sub(pred, label))


@_reduced
def square_loss(pred: Tensor, label: Tensor, reduction: str = "mean") -> Tensor:
    """Squared difference.

    Args:
        pred: prediction, any shape.
        label: target, of that shape.
        reduction: see the module.
    Returns:
        Tensor; float32 for integers.
    Raises:
        ValueError: ``reduction`` is unknown.
    Example:
        >>> F.nn.square_loss(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]))
        Tensor(2.0, device=xpux:0)
    """
    difference = _mge.ops.sub(pred, label)
    if is_integer(difference.dtype):
        difference = difference.astype("float32")
    return _mge.ops.square(difference)


@_reduced
def cross_entropy(
    pred: Tensor,
    label: Tensor,
    axis: int = 1,
    with_logits: bool = True,
    label_smooth: float | None = 0,
    reduction: str = "mean",
) -> Tensor:
    """Cross entropy between predicted class probabilities and class numbers.

    Args:
        pred: logits, or probabilities without ``with_logits``.
        label: class numbers, of the shape of ``pred`` without the axis.
        axis: axis of the classes.
        with_logits: apply a softmax first.
        label_smooth: weight of the uniform distribution in the target, in [0, 1); None is 0.
        reduction: see the module.
    Returns:
        Tensor.
    Raises:
        AssertionError: the ranks do not fit.
        IndexError: a class number is out of range, or ``axis`` is.
        ValueError: ``reduction`` is unknown.
    Example:
        >>> F.nn.cross_entropy(Tensor([[0.0, 0.0]]), Tensor([0]))
        Tensor(0.6931472, device=xpux:0)
    """
    pred, label = as_tensors(pred, label)
    assert pred.ndim == label.ndim + 1, (
        f"[cross_entropy] label must have one rank less than pred ({pred.ndim}), got {label.ndim}"
    )
    axis = normal_axis(axis, pred.ndim, "cross_entropy")
    values = _mge.ops.softmax(pred, axis=axis, log=True) if with_logits else pred
    picked = _mge.ops.indexing_one_hot(values, as_places(label), axis=axis)
    picked = _mge.ops.remove_axis(picked, axes=[axis])
    if not with_logits:
        # Only of the label's class: the gradient of the logarithm is infinite at 0.
        picked = _mge.ops.log(picked)
    if label_smooth is not None and label_smooth != 0:
        logarithm = values if with_logits else _mge.ops.log(values)
        uniform = _mge.ops.mul(mean(logarithm, axis), label_smooth)
        picked = _mge.ops.add(_mge.ops.mul(picked, 1 - label_smooth), uniform)
    return _mge.ops.sub(0, picked)  # a certain class costs 0, not -0


@_reduced
def binary_cross_entropy(
    pred: Tensor, label: Tensor, with_logits: bool = True, reduction: str = "mean"
) -> Tensor:
    """Cross entropy between predicted probabilities and targets in [0, 1].

    Args:
        pred: logits, or probabilities without ``with_logits``.
        label: target, of that shape or one that broadcasts with it.
        with_logits: apply a sigmoid first.
        reduction: see the module.
    Returns:
        Tensor.
    Raises:
        RuntimeError: the shapes do not broadcast.
        ValueError: ``reduction`` is unknown.
    Example:
        >>> F.nn.binary_cross_entropy(Tensor([0.0]), Tensor([1.0]))
        Tensor(0.6931472, device=xpux:0)
    """
    if with_logits:
        yes, no = logsigmoid(pred), logsigmoid(_mge.ops.neg(pred))
    else:
        yes, no = _mge.ops.log(pred), _mge.ops.log(_mge.ops.sub(1, pred))
    weighted = _mge.ops.add(_mge.ops.mul(label, yes), _mge.ops.mul(_mge.ops.sub(1, label), no))
    return _mge.ops.neg(weighted)


@_reduced
def hinge_loss(pred: Tensor, label: Tensor, norm: str = "L1", reduction: str = "mean") -> Tensor:
    """max(0, 1 - pred * label), or its square, summed over axis 1.

    Args:
        pred: (N, C).
        label: 1 or -1, of that shape.
        norm: ``"L1"`` or ``"L2"``.
        reduction: see the module.
    Returns:
        Tensor.
    Raises:
        AssertionError: ``norm`` is another one.
        ValueError: ``reduction`` is unknown.
    Example:
        >>> F.nn.hinge_loss(Tensor([[0.5, -0.5]]), Tensor([[1.0, 1.0]]))
        Tensor(2.0, device=xpux:0)
    """
    assert str(norm).upper() in ("L1", "L2"), f"[hinge_loss] norm is 'L1' or 'L2', got {norm!r}"
    loss = _mge.ops.relu(_mge.ops.sub(1.0, _mge.ops.mul(pred, label)))
    return sum(loss if str(norm).upper() == "L1" else _mge.ops.square(loss), axis=1)


def ctc_loss(
    pred: Tensor,
    pred_lengths: Tensor,
    label: Tensor,
    label_lengths: Tensor,
    blank: int = 0,
    reduction: str = "mean",
) -> Tensor:
    """Connectionist temporal classification: how unlikely the labels are (Graves et al., 2006).

    Probabilities below the smallest normal float32 count as that, and so does it that a sequence
    leaves out labels at its beginning: where the labels fit into no sequence, the loss is finite.

    Args:
        pred: (T, N, C), probabilities.
        pred_lengths: (N,), number of valid steps of T.
        label: (N, S), where the first ``label_lengths`` are valid, or all labels in one vector.
        label_lengths: (N,).
        blank: the class that means no label.
        reduction: ``"mean"`` of loss over label length, ``"sum"`` or ``"none"``; also by position.
    Returns:
        Tensor: a number, or (N,).
    Raises:
        AssertionError: shapes or lengths do not fit, or a label is not a class.
        ValueError: ``reduction`` is unknown.
    Example:
        >>> pred = F.full((2, 1, 2), 0.5)
        >>> F.nn.ctc_loss(pred, Tensor([2]), Tensor([[1]]), Tensor([1]))
        Tensor(0.2876821, device=xpux:0)
    """
    pred, pred_lengths, label, label_lengths = as_tensors(pred, pred_lengths, label, label_lengths)
    if reduction not in _REDUCTIONS:
        raise ValueError(f"[ctc_loss] reduction must be in {list(_REDUCTIONS)}, got {reduction!r}")
    lengths = [t.astype("int32") for t in (pred_lengths, label, label_lengths)]
    loss = _mge.ops.ctc_loss(pred.astype("float32"), *lengths, blank=blank)
    if reduction == "mean":
        loss = loss / _mge.ops.maximum(label_lengths.astype("float32"), 1.0)
    return _REDUCTIONS[reduction](loss)
