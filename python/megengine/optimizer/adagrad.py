# SPDX-License-Identifier: Apache-2.0
"""Adagrad."""

from collections.abc import Iterable

from .. import _mge
from ..tensor import Parameter
from .optimizer import Optimizer, is_not_negative


class Adagrad(Optimizer):
    """Adagrad (Duchi, Hazan and Singer, 2011).

    s += g * g; p -= lr / (1 + (step - 1) * lr_decay) * g / sqrt(s + eps).

    Args:
        params: as in ``Optimizer``.
        lr: learning rate.
        lr_decay: how fast it falls.
        eps: added under the root.
        weight_decay: L2 penalty.
    Raises:
        AssertionError: an option is negative or not finite.
    Example:
        >>> net = M.Linear(2, 1)
        >>> optimizer = Adagrad(net.parameters(), lr=0.01)
        >>> optimizer.param_groups[0]["lr"]
        0.01
    """

    def __init__(
        self,
        params: Iterable[Parameter] | dict,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
    ):
        options = {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        self._check_options(options)
        super().__init__(params, options)

    def _check_options(self, options: dict) -> None:
        for name, called in (
            ("lr", "learning rate"),
            ("lr_decay", "learning rate decay"),
            ("eps", "epsilon value"),
            ("weight_decay", "weight_decay value"),
        ):
            assert is_not_negative(options[name]), f"Invalid {called}: {options[name]}"

    def _create_state(self, param_group: dict) -> None:
        for param in param_group["params"]:
            self._add_state(param, "square_avg")
            self._add_state(param, "step", 0.0)

    def _updates(self, param_group: dict) -> None:
        for param, states, lr in self._trained(param_group):
            _mge.updates.adagrad_step(
                param,
                param.grad,
                states["square_avg"],
                states["step"],
                lr,
                lr_decay=param_group["lr_decay"],
                epsilon=param_group["eps"],
                weight_decay=param_group["weight_decay"],
            )
