# SPDX-License-Identifier: Apache-2.0
"""Batched matrix products as a module."""

import numpy as np

from .. import functional as F
from ..core.operands import at_least
from ..tensor import Parameter, Tensor
from . import init
from .module import Module


class BatchMatMulActivation(Module):
    """weight @ x + bias for each matrix of a batch, with an activation.

    Args:
        batch: B.
        in_features: IN.
        out_features: OUT.
        bias: add a learned bias (OUT,) to each column, or to each row if ``x`` has OUT columns, as
            in MegEngine, which supports a bias only for that number of columns.
        nonlinear_mode: ``"identity"`` or ``"relu"``.
    Raises:
        ValueError: ``nonlinear_mode`` is unknown.
    Example:
        >>> M.BatchMatMulActivation(2, 3, 4)(F.ones((2, 3, 5))).shape
        (2, 4, 5)
        >>> layer = M.BatchMatMulActivation(2, 3, 4)
        >>> layer.reset_parameters()  # draws the weight again
        >>> layer.weight.shape
        (2, 4, 3)
    """

    def __init__(
        self,
        batch: int,
        in_features: int,
        out_features: int,
        bias: bool = True,
        nonlinear_mode: str = "identity",
        **kwargs,
    ):
        super().__init__(**kwargs)
        mode = nonlinear_mode.lower()
        if mode not in ("identity", "relu"):
            raise ValueError(
                "[BatchMatMulActivation] nonlinear_mode is 'identity' or 'relu',"
                f" got {nonlinear_mode!r}"
            )
        sizes = {"batch": batch, "in_features": in_features, "out_features": out_features}
        at_least("BatchMatMulActivation", 0, **sizes)
        self.batch = batch
        self.in_features = in_features
        self.out_features = out_features
        self.nonlinear_mode = mode
        self.weight = Parameter(np.zeros((batch, out_features, in_features), np.float32))
        self.bias = Parameter(np.zeros(out_features, np.float32)) if bias else None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the weight again and set the bias to zero."""
        init.normal_(self.weight, 0.0, init.root_of_ratio(1.0, self.in_features))
        if self.bias is not None:
            init.zeros_(self.bias)

    def calc_bmm(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The product with another weight and bias, and the activation."""
        out = F.matmul(weight, x)
        if bias is not None:
            is_row = out.ndim < 2 or out._tuple_shape[-1] == self.out_features
            out = out + (bias if is_row else F.expand_dims(bias, 1))
        return F.relu(out) if self.nonlinear_mode == "relu" else out

    def forward(self, x: Tensor) -> Tensor:
        return self.calc_bmm(x, self.weight, self.bias)

    def _module_info_string(self) -> str:
        return (
            f"batch={self.batch}, in_features={self.in_features},"
            f" out_features={self.out_features}, bias={self.bias is not None}"
        )
