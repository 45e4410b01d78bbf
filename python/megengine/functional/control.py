# SPDX-License-Identifier: Apache-2.0
"""Branches and loops that a trace records as such, whatever way they take."""

from collections.abc import Callable

from .. import _mge
from ..core.structure import flatten, unflatten
from ..core.tracing_state import state
from ..tensor import Tensor
from .tensor import stack


def cond(predicate, then_function: Callable, else_function: Callable, *operands):
    """One of two functions of the operands, which a value chooses.

    In a traced function both are recorded, and each run computes the one that its own
    predicate chooses. Elsewhere the chosen one is simply called.

    Args:
        predicate: a bool, or a Tensor of one element: zero is False.
        then_function: called with the operands where the predicate is True.
        else_function: called where it is not. In a traced function the two give the same
            structure of Tensors with the same dtypes; their shapes may differ.
        operands: Tensors, or lists, tuples and dicts of them. The functions may use others too.
    Returns:
        What the chosen function gives. Gradients go through it.
    Raises:
        TypeError: the two functions give different structures or dtypes.
    Example:
        >>> x = Tensor([1.0, -2.0])
        >>> F.cond(x.sum() > 0, lambda a: a * 2, lambda a: -a, x)
        Tensor([-1.  2.], device=xpux:0)
    """
    if not state.tracing or isinstance(predicate, bool):
        return then_function(*operands) if bool(predicate) else else_function(*operands)
    inputs, structure = flatten(operands, "cond")
    graphs = _Graphs("cond")
    then_graph = graphs.add(then_function, inputs, structure)
    else_graph = graphs.add(else_function, inputs, structure)
    if graphs.results[0] != graphs.results[1]:
        raise TypeError("[cond] the two functions give different structures of Tensors")
    results = _mge.ops.cond(
        predicate,
        *inputs,
        *graphs.captured,
        then_graph=graphs.whole(then_graph),
        else_graph=graphs.whole(else_graph),
    )
    return unflatten(graphs.results[0], results)


def while_loop(
    cond_function: Callable, body_function: Callable, loop_vars, max_iterations: int | None = None
):
    """The loop variables after as many calls of a function as a condition asks for.

    In a traced function the loop itself is recorded, so that each run goes round as often as its
    own values say. Elsewhere it is a loop of Python.

    Args:
        cond_function: called with the loop variables; gives a bool or a Tensor of one element.
        body_function: called with the loop variables; gives new ones. In a traced function each
            keeps its shape and dtype.
        loop_vars: a tuple or list of Tensors, or of lists, tuples and dicts of them.
        max_iterations: goes round no more often than that. In a traced function gradients go
            through the loop only with this limit, and their memory is proportional to it.
    Returns:
        The last loop variables, in the structure of ``loop_vars``.
    Raises:
        TypeError: ``loop_vars`` is no tuple or list, or the body gives another structure.
        ValueError: a loop variable changes its shape or dtype in a traced function.
    Example:
        >>> start = Tensor(0), Tensor([1.0])
        >>> F.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), start)
        (Tensor(3, dtype=int32, device=xpux:0), Tensor([8.], device=xpux:0))
    """
    if not isinstance(loop_vars, (tuple, list)):
        raise TypeError(
            f"[while_loop] loop_vars has to be a tuple or list, got {type(loop_vars).__name__}"
        )
    if max_iterations is not None and max_iterations < 1:
        raise ValueError(f"[while_loop] max_iterations has to be positive, got {max_iterations}")
    inputs, structure = flatten(loop_vars, "while_loop")
    if not state.tracing:
        return _loop(cond_function, body_function, loop_vars, structure, max_iterations)
    graphs = _Graphs("while_loop")
    condition = graphs.add(cond_function, inputs, structure)
    body = graphs.add(body_function, inputs, structure)
    _check_loop_results(structure, graphs.results[1])
    results = _mge.ops.while_loop(
        *inputs,
        *graphs.captured,
        condition=graphs.whole(condition),
        body=graphs.whole(body),
        carried=len(inputs),
        max_steps=max_iterations or 0,
    )
    return unflatten(structure, results[: len(inputs)])


def scan(function: Callable, init, xs=None, length: int | None = None, reverse: bool = False):
    """A function applied along the first axis, which hands a value from step to step.

    In a traced function the walk itself is recorded as one operator, elsewhere it is a loop of
    Python.

    Args:
        function: called with the carried value and a slice of ``xs``; gives the next carried
            value, of the same structure, shapes and dtypes, and a slice of the results (or None).
        init: what is carried into the first step: a Tensor, or a list, tuple or dict of them.
        xs: Tensors of the same first extent in any structure; None: ``function`` gets None.
        length: the number of steps; needed where ``xs`` is None.
        reverse: from the last slice to the first.
    Returns:
        The last carried value, and the slices stacked along a new first axis. Gradients go
        through both.
    Raises:
        TypeError: the carried value changes its structure.
        ValueError: the first extents differ, or there is no length.
    Example:
        >>> F.scan(lambda total, x: (total + x, total * x), Tensor(0.0), Tensor([1.0, 2.0, 3.0]))
        (Tensor(6.0, device=xpux:0), Tensor([0. 2. 9.], device=xpux:0))
    """
    carried, carried_structure = flatten(init, "scan")
    sliced, sliced_structure = flatten(xs, "scan")
    length = _scan_length(sliced, length)
    if not state.tracing:
        return _walk(function, init, sliced, sliced_structure, length, reverse)
    graphs = _Graphs("scan")
    both = (carried_structure, sliced_structure)
    body = graphs.add(function, carried + sliced, both, sliced=len(sliced))
    results = graphs.results[0]
    if not isinstance(results, (tuple, list)) or len(results) != 2:
        raise TypeError(
            "[scan] the function has to give the carried value and a slice of the results"
        )
    _check_carried(carried_structure, results[0])
    outputs = _mge.ops.scan(
        *carried,
        *sliced,
        *graphs.captured,
        body=graphs.whole(body),
        carried=len(carried),
        sliced=len(sliced),
        length=0 if sliced else length,
        reverse=reverse,
    )
    last = unflatten(carried_structure, outputs[: len(carried)])
    return last, unflatten(results[1], outputs[len(carried) :])


class _Graphs:
    """The functions of one operator as graphs. Tensors from outside that one of them uses are
    inputs of all.
    """

    def __init__(self, who: str):
        self._who = who
        self.captured: list[Tensor] = []
        self.results: list = []  # by graph, the structure of what its function gives
        self._counts: list[int] = []

    def add(self, function: Callable, inputs: list[Tensor], structure, sliced: int = 0):
        """Record a function of inputs like these, of the last ``sliced`` ones like their slices."""

        def run(arguments):
            flat, result = flatten(function(*unflatten(structure, arguments)), self._who)
            self.results.append(result)
            return flat

        graph, self.captured = _mge.capture_subgraph(run, inputs, self.captured, sliced)
        self._counts.append(len(self.captured))
        return len(self._counts) - 1, graph

    def whole(self, added):
        """The graph with the inputs that later ones brought."""
        index, graph = added
        missing = self.captured[self._counts[index] :]
        return _mge.with_more_inputs(graph, missing) if missing else graph


def _check_loop_results(structure, results) -> None:
    is_sequence = isinstance(results, (list, tuple))
    if not is_sequence or tuple(results) != tuple(structure):
        raise TypeError(
            "[while_loop] the body gives another structure than the loop variables have"
        )


def _check_carried(structure, results) -> None:
    if structure != results:
        raise TypeError("[scan] the carried value changes its structure")


def _loop(cond_function, body_function, loop_vars, structure, max_iterations):
    values, steps = tuple(loop_vars), 0
    while (max_iterations is None or steps < max_iterations) and bool(cond_function(*values)):
        values = body_function(*values)
        _check_loop_results(structure, flatten(values, "while_loop")[1])
        steps += 1
    return type(loop_vars)(values)


def _scan_length(sliced: list[Tensor], length: int | None) -> int:
    lengths = {int(x._tuple_shape[0]) if x._tuple_shape else None for x in sliced}
    if None in lengths:
        raise ValueError("[scan] xs need a first axis")
    if length is not None:
        lengths.add(int(length))
    if len(lengths) != 1:
        found = "no length" if not lengths else f"lengths {sorted(lengths)}"
        raise ValueError(f"[scan] needs one length, got {found}")
    return lengths.pop()


def _walk(function, init, sliced, structure, length, reverse):
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
