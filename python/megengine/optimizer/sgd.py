# SPDX-License-Identifier: Apache-2.0
"""Stochastic gradient descent."""

from collections.abc import Iterable

from .. import _mge
from ..tensor import Parameter
from .optimizer import Optimizer, is_not_negative


class SGD(Optimizer):
    """Stochastic gradient descent with momentum (Nesterov's, if wanted) and weight decay.

    g += weight_decay * p; v = momentum * v + g; p -= lr * v, or lr * (g + momentum * v).

    Args:
        params: as in ``Optimizer``.
        lr: learning rate.
        momentum: weight of the old step.
        nesterov: Nesterov's variant (Sutskever et al., 2013).
        weight_decay: L2 penalty.
    Raises:
        AssertionError: ``lr``, ``momentum`` or ``weight_decay`` is negative or not finite, or
            ``nesterov`` without momentum.
    Example:
        >>> p = Parameter([1.0])
        >>> p.grad = Tensor([2.0])
        >>> SGD([p], lr=0.1).step().clear_grad()
        >>> p
        Parameter([0.8], device=xpux:0)
    """

    def __init__(
        self,
        params: Iterable[Parameter] | dict,
        lr: float,
        momentum: float = 0.0,
        nesterov: bool = False,
        weight_decay: float = 0.0,
    ):
        self.nesterov = nesterov
        options = {"lr": lr, "momentum": momentum, "weight_decay": weight_decay}
        self._check_options(options)
        super().__init__(params, options)

    def _check_options(self, options: dict) -> None:
        for name, called in (
            ("lr", "learning rate"),
            ("momentum", "momentum value"),
            ("weight_decay", "weight_decay value"),
        ):
            assert is_not_negative(options[name]), f"Invalid {called}: {options[name]}"
        assert not self.nesterov or options["momentum"] > 0.0, (
            "Nesterov momentum requires a momentum"
        )

    def _create_state(self, param_group: dict) -> None:
        if param_group["momentum"] != 0.0:
            for param in param_group["params"]:
                self._add_state(param, "momentum_buffer")

    def _updates(self, param_group: dict) -> None:
        momentum = param_group["momentum"]
        for param, states, lr in self._trained(param_group):
            velocity = states["momentum_buffer"] if momentum else None
            _mge.updates.sgd_step(
                param,
                param.grad,
                velocity,
                lr,
                momentum=momentum,
                weight_decay=param_group["weight_decay"],
                nesterov=self.nesterov,
            )
