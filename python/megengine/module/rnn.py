# SPDX-License-Identifier: Apache-2.0
"""Recurrent cells, and networks of them."""

import math
from abc import abstractmethod

import numpy as np

from .. import functional as F
from ..core.operands import at_least, beside
from ..core.tensor.extents import extents
from ..core.tracing_state import is_recorded
from ..functional.creation import as_tensor
from ..tensor import Parameter, Tensor
from . import init
from .module import Module


class RNNCellBase(Module):
    """Base class of cells: two weights and two biases, initialised uniformly in ±1/sqrt(hidden
    size).

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        bias: learn biases; otherwise they are zero.
        num_chunks: how many gates.
    Example:
        >>> cell = M.RNNCell(3, 4)
        >>> isinstance(cell, RNNCellBase), cell.weight_ih.shape
        (True, (4, 3))
        >>> cell.reset_parameters()  # draws the weights again
    """

    def __init__(self, input_size: int, hidden_size: int, bias: bool, num_chunks: int):
        super().__init__()
        at_least(type(self).__name__, 0, input_size=input_size)
        at_least(type(self).__name__, 1, hidden_size=hidden_size)
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
        # One row, which broadcasts: another run may have another batch size.
        with beside(inp):
            return F.zeros((1, self.hidden_size), dtype=inp.dtype)

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
        if str(nonlinearity).lower() not in ("tanh", "relu"):
            raise ValueError(
                f"[RNNCell] nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}"
            )
        self.nonlinearity = nonlinearity
        super().__init__(input_size, hidden_size, bias, num_chunks=1)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        hx = self._zero_state(input) if hx is None else hx
        total = F.linear(input, self.weight_ih, self.bias_ih)
        total = total + F.linear(hx, self.weight_hh, self.bias_hh)
        return F.tanh(total) if self.nonlinearity.lower() == "tanh" else F.relu(total)


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
        """The next (hidden, cell) state."""
        hidden, cell = (self._zero_state(input),) * 2 if hx is None else hx
        total = F.linear(input, self.weight_ih, self.bias_ih)
        total = total + F.linear(hidden, self.weight_hh, self.bias_hh)
        i, f, g, o = F.split(total, 4, axis=1)
        cell = F.sigmoid(f) * cell + F.sigmoid(i) * F.tanh(g)
        return F.sigmoid(o) * F.tanh(cell), cell


class RNNBase(Module):
    """Base class of recurrent networks.

    All weights are stored in one parameter: cell by cell (layers, and directions within a layer),
    the weight of the input, that of the state, and their biases. The modules in ``cells`` describe
    the cells; their own parameters are not used.

    Args:
        input_size: width of the input.
        hidden_size: width of the state.
        num_layers: number of layers, each fed by the one before.
        bias: learn biases.
        batch_first: input and output are (batch, sequence, width), not (sequence, batch, width).
        dropout: probability of dropping values between layers, in training.
        bidirectional: also process the sequence from its end.
        proj_size: width of the output and hidden state of an LSTM, which are multiplied by a matrix
            per cell; 0: no projection.
    Raises:
        ValueError: a size or ``num_layers`` is too small, ``dropout`` is outside of [0, 1], or
            ``proj_size`` is outside of [0, hidden_size).
    Example:
        >>> net = M.LSTM(3, 4, num_layers=2)
        >>> isinstance(net, RNNBase), len(net.cells)
        (True, 2)
        >>> net.reset_parameters()  # draws the weights again
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0,
        bidirectional: bool = False,
        proj_size: int = 0,
    ):
        super().__init__()
        who = type(self).__name__
        at_least(who, 0, input_size=input_size)
        at_least(who, 1, hidden_size=hidden_size, num_layers=num_layers)
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(f"[{who}] dropout must be in [0, 1], got {dropout!r}")
        if not 0 <= proj_size < hidden_size:
            raise ValueError(f"[{who}] proj_size must be in [0, {hidden_size}), got {proj_size}")
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.num_directions = 2 if bidirectional else 1
        self.proj_size = proj_size
        if proj_size:
            count = num_layers * self.num_directions
            self._projections = Parameter(np.zeros((count, proj_size, hidden_size), np.float32))
        self.cells = [
            [self.create_cell(layer) for _ in range(self.num_directions)]
            for layer in range(num_layers)
        ]
        gates = self.cells[0][0].gate_hidden_size
        width = sum(
            cell.input_size + self._output_size + (2 if bias else 0)
            for layer in self.cells
            for cell in layer
        )
        self._flatten_weights = Parameter(np.zeros((gates, width), np.float32))
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters again."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for parameter in self.parameters():
            init.uniform_(parameter, -bound, bound)

    @property
    def _output_size(self) -> int:
        # MegEngine's pickles have no projections, whatever their proj_size.
        return self.proj_size if hasattr(self, "_projections") else self.hidden_size

    def _layer_input_size(self, layer: int) -> int:
        return self.input_size if layer == 0 else self._output_size * self.num_directions

    @abstractmethod
    def create_cell(self, layer: int) -> RNNCellBase:
        """The description of a layer's cells."""

    @abstractmethod
    def init_hidden(self, batch_size: int):
        """The state at the start."""

    @abstractmethod
    def get_output_from_hidden(self, hx) -> Tensor:
        """The output of a cell in its state."""

    @abstractmethod
    def _next_state(self, total: Tensor, hx, projection: Tensor | None):
        """The state after one step, from the sum of the contributions of input and state."""

    @abstractmethod
    def _state_of(self, hx, k: int):
        """The state of one cell, from the state of all."""

    @abstractmethod
    def _join_states(self, states: list):
        """The state of all cells, from those of each."""

    def _cell_weights(self):
        """(weight_ih, weight_hh, bias_ih, bias_hh, projection) of each cell in turn."""
        flat = F.flatten(self._flatten_weights)
        at = 0

        def take(*shape: int) -> Tensor:
            nonlocal at
            start, at = at, at + math.prod(shape)
            return F.reshape(flat[start:at], shape)

        projections = getattr(self, "_projections", None)
        for k, cell in enumerate(cell for layer in self.cells for cell in layer):
            gates = cell.gate_hidden_size
            weights = take(gates, cell.input_size), take(gates, self._output_size)
            biases = (take(gates), take(gates)) if self.bias else (None, None)
            yield (*weights, *biases, None if projections is None else projections[k])

    def apply_op(self, input: Tensor, hx):
        """The output of the last layer and the last states; the sequence is the first axis."""
        weights = self._cell_weights()
        states = []
        for layer in range(self.num_layers):
            if layer > 0 and self.dropout > 0 and self.training:
                input = F.dropout(input, self.dropout, training=True)
            outputs = []
            for direction in range(self.num_directions):
                start = self._state_of(hx, len(states))
                output, state = self._run(input, start, next(weights), direction == 1)
                outputs.append(output)
                states.append(state)
            input = F.concat(outputs, axis=2) if len(outputs) > 1 else outputs[0]
        return input, self._join_states(states)

    def _run(self, input: Tensor, hx, weights, is_reversed: bool):
        """Run one cell along the sequence."""
        weight_ih, weight_hh, bias_ih, bias_hh, projection = weights
        from_input = F.linear(input, weight_ih, bias_ih)

        def step(hx, x: Tensor):
            hidden = self.get_output_from_hidden(hx)
            hx = self._next_state(x + F.linear(hidden, weight_hh, bias_hh), hx, projection)
            return hx, self.get_output_from_hidden(hx)

        if is_recorded(input):
            # One operator for sequences of all lengths, whose state has the shape of its results.
            hx = self._of_batch(hx, input)
            hx, outputs = F.scan(step, hx, from_input, reverse=is_reversed)
            return outputs, hx
        steps = list(range(input._tuple_shape[0]))
        outputs = []
        for t in reversed(steps) if is_reversed else steps:
            hx, output = step(hx, from_input[t])
            outputs.append(output)
        return F.stack(outputs[::-1] if is_reversed else outputs), hx

    def _of_batch(self, hx, input: Tensor):
        """A state with one row per sequence."""
        if isinstance(hx, tuple):
            return tuple(self._of_batch(part, input) for part in hx)
        return F.broadcast_to(hx, (extents(input, 0)[1], hx._tuple_shape[1]))

    def forward(self, input: Tensor, hx=None):
        input = as_tensor(input)
        if self.batch_first:
            input = F.transpose(input, (1, 0, 2))
        if input._tuple_shape[0] == 0:
            raise RuntimeError(f"[{type(self).__name__}] the sequences must have a step, got none")
        if hx is None:
            with beside(input):
                hx = self.init_hidden(1)  # broadcasts: the batch may be another one in another run
        output, states = self.apply_op(input, hx)
        return (F.transpose(output, (1, 0, 2)) if self.batch_first else output), states


class RNN(RNNBase):
    """A network of ``RNNCell``; see ``RNNBase`` for the arguments.

    Args:
        nonlinearity: ``"tanh"`` or ``"relu"``.
    Raises:
        ValueError: as in ``RNNBase`` and ``RNNCell``, or ``proj_size`` is not 0.
    Example:
        >>> output, h = M.RNN(3, 4)(F.ones((5, 2, 3)))
        >>> output.shape, h.shape
        ((5, 2, 4), (1, 2, 4))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0,
        bidirectional: bool = False,
        proj_size: int = 0,
        nonlinearity: str = "tanh",
    ):
        if proj_size:
            raise ValueError("[RNN] proj_size must be 0: it is for LSTM")
        self.nonlinearity = nonlinearity
        sizes = (input_size, hidden_size, num_layers)
        super().__init__(*sizes, bias, batch_first, dropout, bidirectional, proj_size)

    def create_cell(self, layer: int) -> RNNCell:
        width = self._layer_input_size(layer)
        return RNNCell(width, self.hidden_size, self.bias, self.nonlinearity)

    def init_hidden(self, batch_size: int) -> Tensor:
        return F.zeros((self.num_layers * self.num_directions, batch_size, self.hidden_size))

    def get_output_from_hidden(self, hx: Tensor) -> Tensor:
        return hx

    def _next_state(self, total: Tensor, hx: Tensor, projection: Tensor | None) -> Tensor:
        return F.tanh(total) if self.nonlinearity.lower() == "tanh" else F.relu(total)

    def _state_of(self, hx: Tensor, k: int) -> Tensor:
        return hx[k]

    def _join_states(self, states: list[Tensor]) -> Tensor:
        return F.stack(states)


class LSTM(RNNBase):
    """A network of ``LSTMCell``; see ``RNNBase`` for the arguments.

    Example:
        >>> output, (h, c) = M.LSTM(3, 4)(F.ones((5, 2, 3)))
        >>> output.shape, c.shape
        ((5, 2, 4), (1, 2, 4))
    """

    def create_cell(self, layer: int) -> LSTMCell:
        return LSTMCell(self._layer_input_size(layer), self.hidden_size, self.bias)

    def init_hidden(self, batch_size: int) -> tuple[Tensor, Tensor]:
        cells = self.num_layers * self.num_directions
        hidden, cell = ((cells, batch_size, n) for n in (self._output_size, self.hidden_size))
        return F.zeros(hidden), F.zeros(cell)

    def get_output_from_hidden(self, hx: tuple[Tensor, Tensor]) -> Tensor:
        return hx[0]

    def _next_state(
        self, total: Tensor, hx: tuple[Tensor, Tensor], projection: Tensor | None
    ) -> tuple[Tensor, Tensor]:
        hidden, cell = _lstm_state(total, hx[1])
        return (hidden if projection is None else F.linear(hidden, projection)), cell

    def _state_of(self, hx: tuple[Tensor, Tensor], k: int) -> tuple[Tensor, Tensor]:
        return hx[0][k], hx[1][k]

    def _join_states(self, states: list) -> tuple[Tensor, Tensor]:
        return F.stack([s[0] for s in states]), F.stack([s[1] for s in states])


def _lstm_state(total: Tensor, cell: Tensor) -> tuple[Tensor, Tensor]:
    """The state after one step; gates are in the order input, forget, cell, output."""
    i, f, g, o = F.split(total, 4, axis=1)
    cell = F.sigmoid(f) * cell + F.sigmoid(i) * F.tanh(g)
    return F.sigmoid(o) * F.tanh(cell), cell
