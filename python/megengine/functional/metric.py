# SPDX-License-Identifier: Apache-2.0
"""Metrics of predictions."""

from collections.abc import Sequence

from .. import _mge
from ..core.operands import is_whole
from ..tensor import Tensor
from .math import topk as _topk


def topk_accuracy(
    logits: Tensor, target: Tensor, topk: int | Sequence[int] = 1
) -> Tensor | list[Tensor]:
    """Share of samples whose class is among the k most likely ones.

    Args:
        logits: (N, C).
        target: (N,), int32 class numbers.
        topk: k, or several.
    Returns:
        Tensor of rank 0; a list of them for more than one k.
    Raises:
        RuntimeError: a k is not in [1, C].
    Example:
        >>> F.metric.topk_accuracy(Tensor([[0.1, 0.9], [0.8, 0.2]]), Tensor([1, 1]))
        Tensor(0.5, device=xpux:0)
    """
    counts = (topk,) if is_whole(topk) else tuple(topk)
    best = _best(logits, max(counts))
    hits = _mge.ops.equal(best, _mge.ops.add_axis(target, axes=[1]))
    shares = []
    for k in counts:
        found = _mge.ops.convert(hits[:, :k], dtype="float32")
        shares.append(_mge.ops.mean(_mge.ops.sum(found, axes=[1]), axes=[0]))
    return shares[0] if len(shares) == 1 else shares


def _best(logits: Tensor, count: int) -> Tensor:
    return _topk(logits, count, descending=True)[1]
