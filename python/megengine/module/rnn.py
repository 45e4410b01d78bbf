# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells."""

import math
from abc import abstractmethod

import numpy as np

from .. import functional as F
from ..core.not_available import not_available
from ..tensor import Parameter, Tensor
from . import init
from .module import Module

_NOT_AVAILABLE = ("RNN", "LSTM", "RNNBase")


class RNNCellBase(Module):
    """What cells share: two weights and two biases, uniform in ±1/sqrt(hidden size) at the start.

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        bias: learn biases; otherwise they are zero.
        num_chunks: how many gates.
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int):
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        self.gate_hidden_size = num_chunks * hidden_size
        gates = self.gate_hidden_size
        self.weight_ih = Parameter(np.zeros((gates, input_size), np.float32))
        self.weight_hh = Parameter(np.zeros((gates, hidden_size), np.float32))
        made = Parameter if bias else Tensor
        self.bias_ih = made(np.zeros(gates, np.float32))
        self.bias_hh = made(np.zeros(gates, np.float32))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    def _zero_state(self, inp: Tensor) -> Tensor:
        return F.zeros((inp._tuple_shape[0], self.hidden_size), dtype=inp.dtype, device=inp.device)

    @abstractmethod
    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""


class RNNCell(RNNCellBase):
    """activation(input @ weight_ih.T + bias_ih + hx @ weight_hh.T + bias_hh).

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        bias: learn biases.
        nonlinearity: ``"tanh"`` or ``"relu"``.
    Raises:
        ValueError: ``nonlinearity`` is another one.
    Example:
        >>> M.RNNCell(3, 4)(F.ones((2, 3))).shape
        (2, 4)
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh"
    ):
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"[RNNCell] nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}"
            )
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, bias, num_chunks=1)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        hx = self._zero_state(input) if hx is None else hx
        total = F.linear(input, self.weight_ih, self.bias_ih)
        total = total + F.linear(hx, self.weight_hh, self.bias_hh)
        return F.tanh(total) if self.nonlinearity == "tanh" else F.relu(total)


class LSTMCell(RNNCellBase):
    """One step of a long short-term memory (Hochreiter and Schmidhuber, 1997).

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        bias: learn biases.
    Example:
        >>> h, c = M.LSTMCell(3, 4)(F.ones((2, 3)))
        >>> h.shape
        (2, 4)
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool = True):
        super().__init__(input_size, hidden_size, bias, num_chunks=4)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        """The next (hidden, cell) state; gates are in the order input, forget, cell, output."""
        hidden, cell = (self._zero_state(input),) * 2 if hx is None else hx
        total = F.linear(input, self.weight_ih, self.bias_ih)
        total = total + F.linear(hidden, self.weight_hh, self.bias_hh)
        i, f, g, o = F.split(total, 4, axis=1)
        cell = F.sigmoid(f) * cell + F.sigmoid(i) * F.tanh(g)
        return F.sigmoid(o) * F.tanh(cell), cell


def __getattr__(name: str):
    return not_available(__name__, name, _NOT_AVAILABLE)
