# SPDX-License-Identifier: Apache-2.0
"""Gradients of single operators."""

import io
from collections.abc import Sequence

from ..autodiff import GradManager
from ..functional import zeros
from ..jit import trace
from ..operators.opdef import OpDef, apply
from ..tensor import Tensor
from ..utils.network_node import OpenGraph
from .common import TensorAttr


def make_backward_graph(
    op: OpDef,
    attrs: Sequence[TensorAttr],
    needs_grad: Sequence[bool],
    output_has_grad: Sequence[bool],
) -> tuple[str, list[bool], list[bool]]:
    """Return the values that the gradient of an operator reads.

    Args:
        op: the operator with its parameters.
        attrs: shape, dtype and device of each input.
        needs_grad: which inputs need a gradient.
        output_has_grad: which outputs have one.
    Returns:
        A key of the graph; whether it reads each input, each output and each output gradient;
        whether each input gets a gradient.
    Example:
        >>> from megengine.core.ops.builtin import Elemwise
        >>> vector = TensorAttr((2,), "float32", "xpux")
        >>> make_backward_graph(Elemwise("mul"), [vector, vector], [True, False], [True])
        ('backward_graph', [False, True, False, True], [True, False])
    """
    places = [None if attr.comp_node is None else str(attr.comp_node) for attr in attrs]
    inputs = [
        zeros(tuple(attr.shape), dtype=attr.dtype, device=place)
        for attr, place in zip(attrs, places, strict=True)
    ]
    results = [zeros(result.shape, dtype=result.dtype) for result in apply(op, *inputs)]
    wanted = [number for number, needs in enumerate(needs_grad) if needs]
    used = [number for number, has in enumerate(output_has_grad) if has]

    def gradients(*values: Tensor):
        x, dy = values[: len(inputs)], values[len(inputs) :]
        with GradManager().attach([x[number] for number in wanted]) as tape:
            y = apply(op, *x)
            tape.backward([y[number] for number in used], [dy[number] for number in used])
        given = [x[number].grad for number in wanted]
        return [*y, *(gradient for gradient in given if gradient is not None)], [
            gradient is not None for gradient in given
        ]

    found: list[bool] = []

    def recorded(*values: Tensor):
        tensors, found[:] = gradients(*values)
        return tensors

    if not wanted or not used:
        return "backward_graph", [False] * (len(inputs) + 2 * len(results)), [False] * len(inputs)
    traced = trace(recorded, symbolic=True, capture_as_const=True)
    traced(*inputs, *results)
    has_grad = dict(zip(wanted, found, strict=True))
    read = _read_by_gradients(traced, len(inputs), len(results))
    return "backward_graph", read, [has_grad.get(number, False) for number in range(len(inputs))]


def _read_by_gradients(traced: trace, input_count: int, result_count: int) -> list[bool]:
    """Which inputs, results and gradients of results the outputs behind the results read."""
    stream = io.BytesIO()
    names = [f"x{number}" for number in range(input_count + result_count)]
    traced.dump(stream, arg_names=names, optimize_for_inference=False, silent=True)
    graph = OpenGraph(stream.getvalue(), "gradient")
    outputs = [graph.variable(number) for number in graph.outputs]
    # An output that is an input or another output is a copy of it.
    results = [var.owner for var in outputs[:result_count]]
    waiting, seen = list(outputs[result_count:]), set()
    while waiting:
        var = waiting.pop()
        if var._number in seen:
            continue
        seen.add(var._number)
        if all(var.owner is not maker for maker in results):
            waiting += var.owner.inputs
    by_name = {graph.variable(number).name for number in seen}
    read = [name in by_name for name in names]
    made = [any(var._number in seen for var in maker.outputs) for maker in results]
    return read[:input_count] + made + read[input_count:]
