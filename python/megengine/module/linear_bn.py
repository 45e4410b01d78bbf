# SPDX-License-Identifier: Apache-2.0
"""A linear map and batch normalisation, to be quantised as one."""

import numpy as np

from .. import functional as F
from ..tensor import Parameter, Tensor
from .batchnorm import BatchNorm1d
from .linear import Linear
from .module import Module


class _LinearBnActivation1d(Module):
    def __init__(
        self,
        in_features: int,
        out_features: int,
        bias: bool = True,
        compute_mode: str = "default",
        eps: float = 1e-5,
        momentum: float = 0.9,
        affine: bool = True,
        track_running_stats: bool = True,
        **kwargs,
    ):
        super().__init__(**kwargs)
        self.in_features = in_features
        self.out_features = out_features
        self.linear = Linear(in_features, out_features, bias, compute_mode)
        # Only for the state dict, as in all such modules; the bias in use is that of ``linear``.
        self.bias = Parameter(np.zeros(out_features, np.float32)) if bias else None
        self.bn = BatchNorm1d(out_features, eps, momentum, affine, track_running_stats)


class LinearBn1d(_LinearBnActivation1d):
    """``Linear`` and ``BatchNorm1d``, with the arguments of both.

    Example:
        >>> LinearBn1d(3, 2)(F.ones((5, 3))).shape
        (5, 2)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return self.bn(self.linear(inp))


class LinearBnRelu1d(_LinearBnActivation1d):
    """``Linear``, ``BatchNorm1d`` and ReLU, with the arguments of the first two.

    Example:
        >>> LinearBnRelu1d(3, 2)(F.ones((5, 3))).shape
        (5, 2)
    """

    def forward(self, inp: Tensor) -> Tensor:
        return F.relu(self.bn(self.linear(inp)))
