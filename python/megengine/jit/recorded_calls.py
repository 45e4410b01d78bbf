# SPDX-License-Identifier: Apache-2.0
"""Functions whose Python code runs once per combination of argument types; afterwards a graph
runs."""

from collections.abc import Callable, Hashable
from contextlib import nullcontext

from .. import _mge
from ..core.nesting import Nesting
from ..core.quantised import shown
from ..core.random_turn import traced_call, turn
from ..core.tracing_state import state
from ..module import Module
from ..optimizer import Optimizer
from ..tensor import Tensor


class _Place:
    """Stands for a Tensor in a structure.

    Args:
        tensor: the one; of quantised and complex dtypes graphs have the plain Tensor only.
    """

    def __init__(self, tensor: Tensor):
        self._meaning = tensor._meaning

    def fill(self, tensor: Tensor) -> Tensor:
        """The Tensor itself, or of a plain one the Tensor that it is for."""
        is_plain = self._meaning is not None and tensor._meaning is None
        return tensor._meant_as(self._meaning) if is_plain else tensor


def _plain(tensor: Tensor) -> Tensor:
    return tensor if tensor._meaning is None else tensor._plain()


def _split(value, tensors: list[Tensor], nesting: Nesting | None = None):
    """The value with places instead of its Tensors, which go to the list."""
    if isinstance(value, Tensor):
        tensors.append(value)
        return _Place(value)
    if isinstance(value, dict):
        nesting = nesting or Nesting("trace")
        return {key: _split(value[key], tensors, nesting) for key in nesting.parts(value)}
    if isinstance(value, (list, tuple)):
        nesting = nesting or Nesting("trace")
        return _like(value, [_split(part, tensors, nesting) for part in nesting.parts(value)])
    return value


def _join(structure, tensors):
    """The value with the Tensors of an iterator."""
    if isinstance(structure, _Place):
        return structure.fill(next(tensors))
    if isinstance(structure, dict):
        return {key: _join(part, tensors) for key, part in structure.items()}
    if isinstance(structure, (list, tuple)):
        return _like(structure, [_join(part, tensors) for part in structure])
    return structure


def _like(sequence, parts: list):
    if hasattr(sequence, "_fields"):
        return type(sequence)(*parts)
    return type(sequence)(parts)


def _kind(value, nesting: Nesting | None = None) -> Hashable:
    """The key of a recording: shapes and dtypes of Tensors, and other values."""
    if isinstance(value, Tensor):
        # A graph has the scales of quantised Tensors as constants.
        return Tensor, shown(value.dtype), value._tuple_shape, str(value.device)
    if isinstance(value, Module):
        return value, _modes(value)
    if isinstance(value, Optimizer):
        return value, _kind([_without_params(group) for group in value.param_groups])
    if isinstance(value, dict):
        nesting = nesting or Nesting("trace")
        return dict, tuple((key, _kind(value[key], nesting)) for key in nesting.parts(value))
    if isinstance(value, (list, tuple)):
        nesting = nesting or Nesting("trace")
        return type(value), tuple(_kind(part, nesting) for part in nesting.parts(value))
    if not isinstance(value, Hashable):
        raise TypeError(
            f"[trace] an argument of {type(value).__name__} may change between calls, but Python"
            " code runs once: give arrays as Tensors"
        )
    return type(value), value


def _modes(module: Module) -> tuple[bool, ...]:
    """Whether the module and each of its parts is in training mode.

    ``Module.modules`` sorts and names the parts, which takes four times as long.
    """
    modes, seen = [], set()
    waiting: list = [module]
    while waiting:
        value = waiting.pop()
        if not isinstance(value, (Module, list, tuple, dict)) or id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, Module):
            modes.append(value.training)
            attributes = vars(value)
            waiting += [attributes.get(name) for name in value._modules]
        else:
            waiting += value.values() if isinstance(value, dict) else value
    return tuple(modes)


def _settings() -> tuple[Hashable, ...]:
    """The settings of this thread that operators follow when they are recorded."""
    return _mge.mixed_precision(), _mge.get_default_device()


def _without_params(group: dict) -> dict:
    """The options of an optimizer, which a recording has as constants."""
    return {name: value for name, value in group.items() if name != "params"}


class _Recording:
    """One run of a function as a graph. Outer Tensors that it uses are operands of each call, so
    that it sees their current values; changed ones get their new values."""

    def __init__(self, function: Callable, args: tuple, kwargs: dict):
        inputs: list[Tensor] = []
        structure = _split((args, kwargs), inputs)
        # Objects that are compared by identity must stay alive.
        self._kept = structure

        def run(arguments: list[Tensor]) -> list[Tensor]:
            given, named = _join(structure, iter(arguments))
            results: list[Tensor] = []
            self._result = _split(function(*given, **named), results)
            self._count = len(results)
            return results

        before = state.tracing, state.symbolic_shape
        state.tracing, state.symbolic_shape = True, False
        try:
            self._grad_owners: list[Tensor] = []
            graph, self._captured, self._changed, _ = _mge.capture_subgraph(
                run, inputs, [], grad_owners=self._grad_owners
            )
        finally:
            state.tracing, state.symbolic_shape = before
        operands = range(len(inputs) + len(self._captured))
        self._graded = self._count + len(self._grad_owners)
        outputs = range(self._graded + len(self._changed))
        self._graph = _mge.arranged_subgraph(graph, list(operands), [], list(outputs))

    @property
    def changes_something(self) -> bool:
        """Whether a call gives Tensors from outside other values."""
        return bool(self._changed)

    def run(self, inputs: list[Tensor]):
        results: tuple = ()
        if self._graph.output_count:
            # A conditional whose branches are the same graph is a call: it has gradients, and is
            # compiled once.
            results = _mge.ops.cond(
                True,
                *map(_plain, [*inputs, *self._captured]),
                then_graph=self._graph,
                else_graph=self._graph,
            )
        for tensor, grad in zip(self._grad_owners, results[self._count :], strict=False):
            tensor.grad = grad
        for tensor, value in zip(self._changed, results[self._graded :], strict=True):
            tensor._reset(_Place(tensor).fill(value))
        return _join(self._result, iter(results[: self._count]))


class RecordedCalls:
    """A function with its recordings.

    Args:
        function: the function to record.
    """

    def __init__(self, function: Callable):
        self._function = function
        self._owner = getattr(function, "__self__", function)
        self._recordings: dict[Hashable, _Recording] = {}

    @property
    def count(self) -> int:
        """Number of runs of the Python code."""
        return len(self._recordings)

    def __call__(self, *args, **kwargs):
        if state.tracing:
            return self._function(*args, **kwargs)
        modes = _modes(self._owner) if isinstance(self._owner, Module) else None
        key = modes, _kind(args), _kind(kwargs), *_settings()
        recording = self._recordings.get(key)
        if recording is None:
            recording = self._recorded(key, args, kwargs)
        inputs: list[Tensor] = []
        _split((args, kwargs), inputs)
        # No other call reads the tensors that this one changes, such as a random number stream.
        with turn() if recording.changes_something else nullcontext():
            return recording.run(inputs)

    def _recorded(self, key: Hashable, args: tuple, kwargs: dict) -> _Recording:
        with turn(), traced_call():
            recording = self._recordings.get(key)  # recorded by another thread
            if recording is None:
                recording = self._recordings[key] = _Recording(self._function, args, kwargs)
            return recording
