# SPDX-License-Identifier: Apache-2.0
"""Adam."""

from collections.abc import Iterable

import numpy as np

from .. import _mge
from ..tensor import Parameter
from .optimizer import Optimizer, check_not_negative, is_finite


class Adam(Optimizer):
    """Adam (Kingma and Ba, 2015); weight decay is an L2 penalty on the gradient.

    Args:
        params: as in ``Optimizer``.
        lr: learning rate.
        betas: weights of the old means of the gradient and of its square, in [0, 1).
        eps: added to the divisor.
        weight_decay: L2 penalty.
    Raises:
        ValueError: an option is out of its range.
    Example:
        >>> p = Parameter([1.0])
        >>> p.grad = Tensor([2.0])
        >>> Adam([p], lr=0.1).step().clear_grad()
        >>> p
        Parameter([0.9], device=xpux:0)
    """

    _decoupled = False

    def __init__(
        self,
        params: Iterable[Parameter] | dict,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
    ):
        options = {"lr": lr, "weight_decay": weight_decay, "betas": betas, "eps": eps}
        self._check_options(options)
        super().__init__(params, options)

    def _check_options(self, options: dict) -> None:
        check_not_negative(options["lr"], "Invalid learning rate")
        check_not_negative(options["weight_decay"], "Invalid weight_decay value")
        if not is_finite(options["eps"]):
            raise ValueError(f"Invalid epsilon value: {options['eps']}")
        betas = options["betas"]
        if not isinstance(betas, (tuple, list, np.ndarray)) or len(betas) != 2:
            raise ValueError(f"Invalid betas: {betas}, expected two numbers")
        for k, beta in enumerate(betas):
            if not 0.0 <= beta < 1.0:
                raise ValueError(f"Invalid beta parameter at index {k}: {beta}")

    def _create_state(self, param_group: dict) -> None:
        for param in param_group["params"]:
            self._add_state(param, "exp_avg")
            self._add_state(param, "exp_avg_sq")
            self._add_state(param, "step", 0.0)

    def _updates(self, param_group: dict) -> None:
        beta1, beta2 = param_group["betas"]
        for param, states, lr in self._trained(param_group):
            _mge.updates.adam_step(
                param,
                param.grad,
                states["exp_avg"],
                states["exp_avg_sq"],
                states["step"],
                lr,
                beta1=beta1,
                beta2=beta2,
                epsilon=param_group["eps"],
                weight_decay=param_group["weight_decay"],
                decoupled=self._decoupled,
            )
