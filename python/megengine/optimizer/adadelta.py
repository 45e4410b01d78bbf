# SPDX-License-Identifier: Apache-2.0
"""Adadelta."""

import math
from collections.abc import Iterable

from .. import _mge
from ..tensor import Parameter
from .optimizer import Optimizer, is_not_negative


class Adadelta(Optimizer):
    """Adadelta (Zeiler, 2012).

    s = rho * s + (1 - rho) * g * g; d = sqrt(a + eps) / sqrt(s + eps) * g; p -= lr * d;
    a = rho * a + (1 - rho) * d * d.

    Args:
        params: as in ``Optimizer``.
        lr: factor of the step.
        rho: weight of the old means, in [0, 1].
        eps: added under the roots.
        weight_decay: L2 penalty.
    Raises:
        AssertionError: an option is out of its range.
    Example:
        >>> net = M.Linear(2, 1)
        >>> optimizer = Adadelta(net.parameters(), lr=1.0)
        >>> optimizer.param_groups[0]["lr"]
        1.0
    """

    def __init__(
        self,
        params: Iterable[Parameter] | dict,
        lr: float = 1.0,
        rho: float = 0.9,
        eps: float = 1e-6,
        weight_decay: float = 0.0,
    ):
        options = {"lr": lr, "rho": rho, "eps": eps, "weight_decay": weight_decay}
        self._check_options(options)
        super().__init__(params, options)

    def _check_options(self, options: dict) -> None:
        for name, called, most in (
            ("lr", "learning rate", math.inf),
            ("rho", "rho value", 1.0),
            ("eps", "epsilon value", math.inf),
            ("weight_decay", "weight_decay value", math.inf),
        ):
            assert is_not_negative(options[name], most), f"Invalid {called}: {options[name]}"

    def _create_state(self, param_group: dict) -> None:
        for param in param_group["params"]:
            self._add_state(param, "square_avg")
            self._add_state(param, "acc_delta")
            self._add_state(param, "step", 0.0)

    def _updates(self, param_group: dict) -> None:
        for param, states, lr in self._trained(param_group):
            _mge.updates.adadelta_step(
                param,
                param.grad,
                states["square_avg"],
                states["acc_delta"],
                states["step"],
                lr,
                rho=param_group["rho"],
                epsilon=param_group["eps"],
                weight_decay=param_group["weight_decay"],
            )
