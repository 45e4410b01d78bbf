# SPDX-License-Identifier: Apache-2.0
"""Adam with decoupled weight decay."""

from collections.abc import Iterable

from ..tensor import Parameter
from .adam import Adam


class AdamW(Adam):
    """Adam with decoupled weight decay (Loshchilov and Hutter, 2019).

    Args:
        params: as in ``Optimizer``.
        lr, betas, eps: as in ``Adam``.
        weight_decay: share of the parameter, times ``lr``, that each step takes away.
    Raises:
        ValueError: an option is out of its range.
    Example:
        >>> p = Parameter([1.0])
        >>> p.grad = Tensor([2.0])
        >>> AdamW([p], lr=0.1).step().clear_grad()
        >>> p
        Parameter([0.899], device=xpux:0)
    """

    _decoupled = True

    def __init__(
        self,
        params: Iterable[Parameter] | dict,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
    ):
        super().__init__(params, lr, betas, eps, weight_decay)
