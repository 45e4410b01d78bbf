# SPDX-License-Identifier: Apache-2.0
"""LAMB, for float32 and for float16 parameters."""

from collections.abc import Iterable

from .. import _mge
from ..tensor import Parameter, Tensor
from .adam import Adam


class LAMB(Adam):
    """Adam with steps that are as long as the parameter, times ``lr`` (You et al., 2020).

    Args:
        params: as in ``Optimizer``.
        lr, betas, eps: as in ``Adam``.
        bias_correction: make up for means that begin at zero.
        weight_decay: share of the parameter that is added to the step before its length is set.
        always_adapt: set the length of the steps without ``weight_decay`` too.
    Raises:
        ValueError: an option is out of its range.
    Example:
        >>> p = Parameter([3.0, 4.0])
        >>> p.grad = Tensor([0.0, 1.0])
        >>> LAMB([p], lr=0.1, always_adapt=True).step().clear_grad()
        >>> p
        Parameter([3.  3.5], device=xpux:0)
    """

    def __init__(
        self,
        params: Iterable[Parameter] | dict,
        lr: float,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        bias_correction: bool = True,
        weight_decay: float = 0.0,
        always_adapt: bool = False,
    ):
        self.bias_correction = bias_correction
        self.always_adapt = always_adapt
        super().__init__(params, lr, betas, eps, weight_decay)

    def _updates(self, param_group: dict) -> None:
        for param, states, lr in self._trained(param_group):
            self._update(param, param.grad, states, lr, param_group)

    def _update(
        self, param: Tensor, grad: Tensor, states: dict, lr: Tensor, param_group: dict
    ) -> None:
        beta1, beta2 = param_group["betas"]
        _mge.updates.lamb_step(
            param,
            grad,
            states["exp_avg"],
            states["exp_avg_sq"],
            states["step"],
            lr,
            beta1=beta1,
            beta2=beta2,
            epsilon=param_group["eps"],
            weight_decay=param_group["weight_decay"],
            bias_correction=bool(self.bias_correction),
            always_adapt=bool(self.always_adapt),
        )


class LAMBFp16(LAMB):
    """``LAMB`` for float16 parameters, with float32 copies of them in its state.

    Args:
        params, lr, betas, eps, bias_correction, weight_decay, always_adapt: as in ``LAMB``.
    Raises:
        ValueError: an option is out of its range.
    Example:
        >>> p = Parameter([1.0], dtype="float16")
        >>> p.grad = Tensor([2.0], dtype="float16")
        >>> LAMBFp16([p], lr=0.5).step().clear_grad()
        >>> p
        Parameter([0.5], dtype=float16, device=xpux:0)
    """

    def _create_state(self, param_group: dict) -> None:
        super()._create_state(param_group)
        for param in param_group["params"]:
            self._add_state(param, "param_fp32", param.astype("float32").numpy())

    def _update(
        self, param: Tensor, grad: Tensor, states: dict, lr: Tensor, param_group: dict
    ) -> None:
        wide = states["param_fp32"]
        super()._update(wide, grad.astype("float32"), states, lr, param_group)
        param._reset(wide.astype(param.dtype))
