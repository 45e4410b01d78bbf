# SPDX-License-Identifier: Apache-2.0
"""Adagrad."""

from collections.abc import Iterable

from ..functional import sqrt
from ..tensor import Parameter, Tensor
from .optimizer import Optimizer


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
        AssertionError: an option is negative.
    """

    def __init__(
        self,
        params: Iterable[Parameter] | dict,
        lr: float = 1e-2,
        lr_decay: float = 0.0,
        eps: float = 1e-10,
        weight_decay: float = 0.0,
    ):
        assert lr >= 0.0, f"Invalid learning rate: {lr}"
        assert lr_decay >= 0, f"Invalid learning rate decay: {lr_decay}"
        assert eps >= 0.0, f"Invalid epsilon value: {eps}"
        assert weight_decay >= 0, f"Invalid weight_decay value: {weight_decay}"
        super().__init__(
            params, {"lr": lr, "lr_decay": lr_decay, "eps": eps, "weight_decay": weight_decay}
        )

    def _create_state(self, param_group: dict) -> None:
        for param in param_group["params"]:
            self._add_state(param, "square_avg")
            self._add_state(param, "step", 0.0)

    def _updates(self, param_group: dict) -> None:
        lr, decay = Tensor(param_group["lr"]), param_group["weight_decay"]
        for param in param_group["params"]:
            if param.grad is None:
                continue
            states = self._state[param]
            step = states["step"] + 1
            grad = param.grad + param * decay if decay else param.grad
            square = states["square_avg"] + grad * grad
            rate = lr / (1 + (step - 1) * param_group["lr_decay"])
            param._reset(param - rate * (grad / sqrt(square + param_group["eps"])))
            states["step"]._reset(step)
            states["square_avg"]._reset(square)
