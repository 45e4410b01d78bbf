# SPDX-License-Identifier: Apache-2.0
"""In-place arithmetic for optimizers."""

from .. import _mge
from ..core.operands import Operand
from ..tensor import Tensor


def _inplace_add_(dest: Tensor, delta: Tensor, alpha: Operand, beta: Operand) -> Tensor:
    """dest = dest * alpha + delta * beta, in place.

    Args:
        dest: tensor to change.
        delta: of the shape of ``dest``.
        alpha: factor of ``dest``.
        beta: factor of ``delta``.
    Returns:
        ``dest``.
    Example:
        >>> x = Tensor([1.0])
        >>> _inplace_add_(x, Tensor([2.0]), alpha=Tensor(1.0), beta=Tensor(1.0))
        Tensor([3.], device=xpux:0)
    """
    dest._reset(_mge.ops.add(_mge.ops.mul(dest, alpha), _mge.ops.mul(delta, beta)))
    return dest
