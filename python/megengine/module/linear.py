# SPDX-License-Identifier: Apache-2.0
"""Linear maps as modules."""

import numpy as np

from .. import functional as F
from ..core.operands import at_least
from ..tensor import Parameter, Tensor
from . import init
from .module import Module


class Linear(Module):
    """``functional.linear`` with its weight (OUT, IN), which starts normal with standard deviation
    sqrt(1 / IN), and its bias, which starts at zero.

    Args:
        in_features: IN.
        out_features: OUT.
        bias: add a learned bias.
        compute_mode: as in ``functional.linear``.
    Example:
        >>> M.Linear(3, 4)(F.ones((2, 3))).shape
        (2, 4)
    """

    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        compute_mode: str = "default",
        **kwargs,
    ):
        super().__init__(**kwargs)
        at_least(type(self).__name__, 0, in_features=in_features, out_features=out_features)
        self.in_features = in_features
        self.out_features = out_features
        self.weight = Parameter(np.zeros((out_features, in_features), np.float32))
        self.bias = Parameter(np.zeros(out_features, np.float32)) if bias else None
        self.compute_mode = compute_mode
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight again and set the bias to zero.

        Example:
            >>> layer = Linear(2, 1)
            >>> layer.reset_parameters()
            >>> layer.bias
            Parameter([0.], device=xpux:0)
        """
        init.normal_(self.weight, 0.0, init.root_of_ratio(1.0, self.in_features))
        if self.bias is not None:
            init.zeros_(self.bias)

    def calc_linear(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The map with another weight and bias.

        Example:
            >>> layer = Linear(2, 1)
            >>> layer.calc_linear(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]), Tensor([0.5]))
            Tensor([[11.5]], device=xpux:0)
        """
        return F.linear(x, weight, bias, compute_mode=self.compute_mode)

    def forward(self, x: Tensor) -> Tensor:
        return self.calc_linear(x, self.weight, self.bias)

    def _module_info_string(self) -> str:
        return (
            f"in_features={self.in_features}, out_features={self.out_features},"
            f" bias={self.bias is not None}"
        )


class LinearRelu(Linear):
    """``Linear`` and ReLU, to be quantised as one.

    Example:
        >>> LinearRelu(3, 2)(F.ones((5, 3))).shape
        (5, 2)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return F.relu(self.calc_linear(inp, self.weight, self.bias))
