# SPDX-License-Identifier: Apache-2.0
"""Branches and loops that a trace records as control flow."""

from collections.abc import Callable
from typing import Any

from .. import _mge
from ..core.tracing_state import is_recorded, state
from ..tensor import Tensor
from .structure import flatten, unflatten
from .tensor import stack


def cond(
    predicate: Any,
    then_function: Callable[..., Any],
    else_function: Callable[..., Any],
    *operands: Any,
) -> Any:
    """Call one of two functions, chosen by a predicate.

    A traced function records both functions, and each run computes the one that its predicate
    chooses. Otherwise the chosen function is simply called.

    Args:
        predicate: a bool, or a Tensor of one element (zero is False).
        then_function: called with the operands if the predicate is True.
        else_function: called if it is False. In a traced function both must return the same
            structure of Tensors with the same dtypes; the shapes may differ.
        operands: Tensors, or lists, tuples and dicts of them. The functions may use other Tensors,
            too.
    Returns:
        The result of the chosen function. It propagates gradients.
    Raises:
        TypeError: the two functions return different structures or dtypes.
    Example:
        >>> x = Tensor([1.0, -2.0])
        >>> F.cond(x.sum() > 0, lambda a: a * 2, lambda a: -a, x)
        Tensor([-1.  2.], device=xpux:0)
    """
    if not is_recorded(predicate):
        return then_function(*operands) if bool(predicate) else else_function(*operands)
    inputs, structure = flatten(operands, "cond")
    graphs = _Graphs("cond", inputs, structure, carried=0)
    graphs.add(then_function)
    graphs.add(else_function)
    if graphs.results[0] != graphs.results[1]:
        raise TypeError("[cond] the two functions give different structures of Tensors")
    results = _mge.ops.cond(
        predicate, *graphs.operands, then_graph=graphs.graph(0), else_graph=graphs.graph(1)
    )
    count = len(results) - len(graphs.changed)
    return unflatten(graphs.results[0], graphs.take(results, count))


def while_loop(
    cond_function: Callable[..., Any],
    body_function: Callable[..., Any],
    loop_vars: Any,
    max_iterations: int | None = None,
) -> Any:
    """Call a function on loop variables while a condition holds.

    A traced function records the loop, so the number of iterations depends on the values of each
    run. Otherwise it is a Python loop.

    Args:
        cond_function: called with the loop variables; returns a bool or a Tensor of one element.
        body_function: called with the loop variables; returns new ones. In a traced function each
            must keep its shape and dtype.
        loop_vars: a tuple or list of Tensors, or of lists, tuples and dicts of them.
        max_iterations: the largest number of iterations. In a traced function the loop propagates
            gradients only with this limit, and their memory is proportional to it.
    Returns:
        The last loop variables, in the structure of ``loop_vars``.
    Raises:
        TypeError: ``loop_vars`` is not a tuple or list, or the body returns another structure.
        ValueError: a loop variable changes its shape or dtype in a traced function.
    Example:
        >>> start = Tensor(0), Tensor([1.0])
        >>> F.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), start)
        (Tensor(3, dtype=int32, device=xpux:0), Tensor([8.], device=xpux:0))
    """
    if not isinstance(loop_vars, (tuple, list)):
        raise TypeError(
            f"[while_loop] loop_vars must be a tuple or list, got {type(loop_vars).__name__}"
        )
    if max_iterations is not None and max_iterations < 1:
        raise ValueError(f"[while_loop] max_iterations must be positive, got {max_iterations}")
    inputs, structure = flatten(loop_vars, "while_loop")
    if not state.tracing and not is_recorded(*inputs):
        return _loop(cond_function, body_function, loop_vars, structure, max_iterations)
    graphs = _Graphs("while_loop", inputs, structure, carried=len(inputs))
    graphs.add(cond_function, may_change=False)
    graphs.add(body_function)
    _check_loop_results(structure, graphs.results[1])
    results = _mge.ops.while_loop(
        *graphs.operands,
        condition=graphs.graph(0, hands_on=False),
        body=graphs.graph(1),
        carried=graphs.carried,
        max_steps=max_iterations or 0,
    )
    return unflatten(structure, graphs.take(results, len(inputs))[: len(inputs)])


def scan(
    function: Callable[..., Any],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
) -> Any:
    """A function applied along the first axis, which hands a value from step to step.

    A traced function records the scan as one operator; otherwise it is a Python loop.

    Args:
        function: called with the carried value and a slice of ``xs``; returns the next carried
            value, of the same structure, shapes and dtypes, and a slice of the results (or None).
        init: the carried value of the first step: a Tensor, or a list, tuple or dict of them.
        xs: Tensors of the same first size in any structure; None: ``function`` gets None.
        length: the number of steps; required if ``xs`` is None.
        reverse: go from the last slice to the first.
    Returns:
        The last carried value, and the slices stacked along a new first axis. Both propagate
        gradients.
    Raises:
        TypeError: the carried value changes its structure.
        ValueError: the first sizes differ, or there is no length.
    Example:
        >>> F.scan(lambda total, x: (total + x, total * x), Tensor(0.0), Tensor([1.0, 2.0, 3.0]))
        (Tensor(6.0, device=xpux:0), Tensor([0. 2. 9.], device=xpux:0))
    """
    carried, carried_structure = flatten(init, "scan")
    sliced, sliced_structure = flatten(xs, "scan")
    length = _scan_length(sliced, length)
    # Only a recording of the function has the shapes and dtypes of no results.
    if length > 0 and not state.tracing and not is_recorded(*carried, *sliced):
        return _walk(function, init, sliced, sliced_structure, length, reverse)
    both = (carried_structure, sliced_structure)
    graphs = _Graphs("scan", carried + sliced, both, carried=len(carried), sliced=len(sliced))
    graphs.add(function)
    results = graphs.results[0]
    if not isinstance(results, (tuple, list)) or len(results) != 2:
        raise TypeError(
            "[scan] the function has to give the carried value and a slice of the results"
        )
    _check_carried(carried_structure, results[0])
    results_of_all = _mge.ops.scan(
        *graphs.operands,
        body=graphs.graph(0, results=len(carried)),
        carried=graphs.carried,
        sliced=len(sliced),
        length=0 if sliced else length,
        reverse=reverse,
    )
    outputs = graphs.take(results_of_all, len(carried))
    last = unflatten(carried_structure, outputs[: len(carried)])
    return last, unflatten(results[1], outputs[len(carried) :])


class _Graphs:
    """The functions of one operator as graphs that end up with the same inputs.

    Outer tensors that one of them uses become inputs of all. Tensors that one of them changes (a
    random number stream, the statistics of a normalisation) are passed through, and get their new
    values at the end.
    """

    def __init__(
        self, who: str, inputs: list[Tensor], structure: Any, carried: int, sliced: int = 0
    ) -> None:
        self._who = who
        self._inputs, self._structure = inputs, structure
        self._carried, self._sliced = carried, sliced
        self.captured: list[Tensor] = []
        self.changed: list[Tensor] = []
        self._places: list[int] = []  # indices of the changed tensors among the captured ones
        self.results: list[Any] = []  # by graph, the structure of its function's result
        self._parts: list[
            Any
        ] = []  # by graph: the graph, the tensors captured so far, its results, the changed tensors

    def add(self, function: Callable[..., Any], may_change: bool = True) -> None:
        """Record a function of the inputs, of the last ``sliced`` ones by their slices."""

        def run(arguments: Any) -> Any:
            flat, result = flatten(function(*unflatten(self._structure, arguments)), self._who)
            self.results.append(result)
            counts.append(len(flat))
            return flat

        counts: list[int] = []
        graph, self.captured, changed, places = _mge.capture_subgraph(
            run, self._inputs, self.captured, self._sliced
        )
        if changed and not may_change:
            raise TypeError(f"[{self._who}] the condition changes a Tensor from outside")
        for tensor, place in zip(changed, places, strict=True):
            if not any(tensor is known for known in self.changed):
                self.changed.append(tensor)
                self._places.append(place)
        self._parts.append((graph, len(self.captured), counts[0], changed))

    @property
    def carried(self) -> int:
        """Number of operands carried from step to step, including the changed tensors."""
        return self._carried + len(self.changed)

    @property
    def operands(self) -> list[Tensor]:
        rest = [t for i, t in enumerate(self.captured) if i not in self._places]
        return [
            *self._inputs[: self._carried],
            *self.changed,
            *self._inputs[self._carried :],
            *rest,
        ]

    def graph(self, index: int, results: int | None = None, hands_on: bool = True) -> Any:
        """A recorded function of the operands.

        The changed tensors follow the first ``results`` results (None: all) if it ``hands_on``.
        """
        graph, captured, count, changed = self._parts[index]
        results = count if results is None else results
        first = len(self._inputs)

        def place(i: int) -> Any:
            return first + i if i < captured else -1

        rest = [i for i in range(len(self.captured)) if i not in self._places]
        order = [
            *range(self._carried),
            *(place(i) for i in self._places),
            *range(self._carried, first),
            *(place(i) for i in rest),
        ]
        like = [self.captured[i] for i in (*self._places, *rest) if i >= captured]
        new_values = [
            next((count + k for k, t in enumerate(changed) if t is tensor), -1 - self._carried - n)
            for n, tensor in enumerate(self.changed)
        ]
        outputs = [*range(results), *(new_values if hands_on else ()), *range(results, count)]
        return _mge.arranged_subgraph(graph, order, like, outputs)

    def take(self, results: Any, before: int) -> list[Tensor]:
        """The results without those that the changed Tensors get, behind the first ones."""
        found: list[Tensor] = list(results)
        for tensor, value in zip(self.changed, found[before:], strict=False):
            tensor._reset(value)
        return found[:before] + found[before + len(self.changed) :]


def _check_loop_results(structure: Any, results: Any) -> None:
    is_sequence = isinstance(results, (list, tuple))
    if not is_sequence or tuple(results) != tuple(structure):
        raise TypeError(
            "[while_loop] the body gives another structure than the loop variables have"
        )


def _check_carried(structure: Any, results: Any) -> None:
    if structure != results:
        raise TypeError("[scan] the carried value changes its structure")


def _loop(
    cond_function: Callable[..., Any],
    body_function: Callable[..., Any],
    loop_vars: Any,
    structure: Any,
    max_iterations: int | None,
) -> Any:
    values, steps = tuple(loop_vars), 0
    while (max_iterations is None or steps < max_iterations) and bool(cond_function(*values)):
        values = body_function(*values)
        _check_loop_results(structure, flatten(values, "while_loop")[1])
        steps += 1
    return getattr(loop_vars, "_make", type(loop_vars))(values)


def _scan_length(sliced: list[Tensor], length: int | None) -> int:
    if not all(x._tuple_shape for x in sliced):
        raise ValueError("[scan] xs need a first axis")
    lengths = {int(x._tuple_shape[0]) for x in sliced}
    if length is not None:
        lengths.add(int(length))
    if len(lengths) != 1:
        found = "no length" if not lengths else f"lengths {sorted(lengths)}"
        raise ValueError(f"[scan] needs one length, got {found}")
    return lengths.pop()


def _walk(
    function: Callable[..., Any],
    init: Any,
    sliced: list[Tensor],
    structure: Any,
    length: int,
    reverse: bool,
) -> Any:
    carried, results, result_structure = init, [], None
    carried_structure = flatten(init, "scan")[1]
    for i in reversed(range(length)) if reverse else range(length):
        carried, result = function(carried, unflatten(structure, [x[i] for x in sliced]))
        _check_carried(carried_structure, flatten(carried, "scan")[1])
        flat, result_structure = flatten(result, "scan")
        results.append(flat)
    if reverse:
        results.reverse()
    stacked = [stack(list(column), axis=0) for column in zip(*results, strict=True)]
    return carried, unflatten(result_structure, stacked)
