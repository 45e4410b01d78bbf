# SPDX-License-Identifier: Apache-2.0
"""Random elements set to zero."""

from .. import _mge
from ..core.operands import as_number
from ..random.rng import next_state
from ..tensor import Tensor
from .creation import as_tensor


def dropout(inp: Tensor, drop_prob: float, training: bool = True) -> Tensor:
    """Set random elements to zero and scale the others so that the mean is kept.

    Args:
        inp: any shape, floating.
        drop_prob: chance of an element to be dropped, in [0, 1).
        training: False returns the input.
    Returns:
        Tensor of the shape of ``inp``; the same after the same ``megengine.random.seed``.
    Raises:
        AssertionError: ``drop_prob`` is not in [0, 1).
    Example:
        >>> F.dropout(F.ones(3), 0.0)
        Tensor([1. 1. 1.], device=xpux:0)
    """
    drop_prob = as_number(drop_prob, "dropout", "drop_prob")
    assert 0 <= drop_prob < 1, f"[dropout] drop_prob must be in [0, 1), got {drop_prob}"
    if not training or drop_prob == 0:
        return inp
    inp = as_tensor(inp)
    return _mge.ops.dropout(inp, next_state(inp.device), probability=drop_prob)[0]
