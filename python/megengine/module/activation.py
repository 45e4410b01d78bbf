# SPDX-License-Identifier: Apache-2.0
"""Activations as modules; the functions are in ``functional``."""

import numpy as np

from .. import functional as F
from ..tensor import Parameter, Tensor
from .module import Module


class Softmax(Module):
    """``functional.softmax``.

    Args:
        axis: axis that sums to one; None as in ``functional.softmax``.
    Example:
        >>> M.Softmax(axis=0)(Tensor([0.0, 0.0]))
        Tensor([0.5 0.5], device=xpux:0)
    """

    def __init__(self, axis: int | None = None, **kwargs):
        super().__init__(**kwargs)
        self.axis = axis

    def forward(self, inputs: Tensor) -> Tensor:
        return F.softmax(inputs, self.axis)

    def _module_info_string(self) -> str:
        return f"axis={self.axis}"


class Sigmoid(Module):
    """``functional.sigmoid``.

    Example:
        >>> Sigmoid()(Tensor([-1.0, 0.0, 2.0]))
        Tensor([0.2689 0.5    0.8808], device=xpux:0)
    """

    def forward(self, inputs: Tensor) -> Tensor:
        return F.sigmoid(inputs)


class SiLU(Module):
    """``functional.silu``.

    Example:
        >>> SiLU()(Tensor([-1.0, 0.0, 2.0]))
        Tensor([-0.2689  0.      1.7616], device=xpux:0)
    """

    def forward(self, inputs: Tensor) -> Tensor:
        return F.silu(inputs)


class GELU(Module):
    """``functional.gelu``.

    Example:
        >>> GELU()(Tensor([-1.0, 0.0, 2.0]))
        Tensor([-0.1587  0.      1.9545], device=xpux:0)
    """

    def forward(self, inputs: Tensor) -> Tensor:
        return F.gelu(inputs)


class ReLU(Module):
    """``functional.relu``.

    Example:
        >>> ReLU()(Tensor([-1.0, 0.0, 2.0]))
        Tensor([0. 0. 2.], device=xpux:0)
    """

    def forward(self, x: Tensor) -> Tensor:
        return F.relu(x)


class PReLU(Module):
    """``functional.prelu`` with learned slopes.

    Args:
        num_parameters: one slope, or one for each channel of NCHW images.
        init: start value of the slopes.
    Example:
        >>> M.PReLU()(Tensor([-4.0, 1.0]))
        Tensor([-1.  1.], device=xpux:0)
    """

    def __init__(self, num_parameters: int = 1, init: float = 0.25, **kwargs):
        super().__init__(**kwargs)
        self.num_parameters = num_parameters
        shape = (1, num_parameters, 1, 1) if num_parameters > 1 else (1,)
        self.weight = Parameter(np.full(shape, init, np.float32))

    def forward(self, inputs: Tensor) -> Tensor:
        return F.prelu(inputs, self.weight)


class LeakyReLU(Module):
    """``functional.leaky_relu``.

    Args:
        negative_slope: slope below zero.
    Example:
        >>> LeakyReLU()(Tensor([-1.0, 0.0, 2.0]))
        Tensor([-0.01  0.    2.  ], device=xpux:0)
    """

    def __init__(self, negative_slope: float = 0.01, **kwargs):
        super().__init__(**kwargs)
        self.negative_slope = negative_slope

    def forward(self, inputs: Tensor) -> Tensor:
        return F.leaky_relu(inputs, self.negative_slope)
