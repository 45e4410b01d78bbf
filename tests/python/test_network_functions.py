# SPDX-License-Identifier: Apache-2.0
"""Functions and methods take a Network's variables: recorded calls, with inputs of a graph."""

import numpy as np
import pytest
from known_differences import CASES
from oracle import Reader, decode, difference, references, resolve, tensors_in

import megengine as mge
from megengine.core.complex_numbers import pairs_of
from megengine.utils.network import Network
from megengine.utils.network_node import VarNode

READER = Reader("functional_cases")
READS_VALUES = ("T.tolist",)


def runs_in_a_graph(row):
    known = {"crash", "unstable", "error", "after"} & set(row)
    return not known and row["id"] not in CASES and "py" not in row["out"]


ROWS = {}
for _row in READER.rows:
    if runs_in_a_graph(_row) and _row["fn"] not in READS_VALUES:
        ROWS.setdefault(_row["fn"], []).append(_row)


class Inputs:
    """Makes inputs of Tensors, and runs the graph on their values."""

    def __init__(self, net):
        self._net, self._feeds = net, {}

    def variable(self, tensor):
        name = f"x{len(self._feeds)}"
        self._feeds[name] = tensor
        return self._net.make_input_node(tensor.shape, tensor.dtype, name=name)

    def values(self, variables):
        names = [f"y{i}" for i in range(len(variables))]
        model = self._net.graph.to_model([v._number for v in variables], names, {}, {})
        found = model.run([self._feeds[name] for name in model.input_names])
        return [value.numpy() for value in found]


class Constants:
    """Makes constants of Tensors, of which all values follow."""

    def __init__(self, net):
        self._net = net

    def variable(self, tensor):
        return self._net.graph.variable(self._net.graph.add_constant(tensor, ""))

    def values(self, variables):
        return [variable.numpy() for variable in variables]


def with_variables(value, maker):
    """The argument with variables in the place of Tensors."""
    if isinstance(value, mge.Tensor):
        return maker.variable(value)
    if isinstance(value, (list, tuple)):
        return type(value)(with_variables(v, maker) for v in value)
    return value


def in_a_graph(array):
    """The values that a graph has for an array: complex numbers are pairs there."""
    return pairs_of(array) if array.dtype.kind == "c" else array


def check(row, maker):
    """None, or what differs."""
    args = [with_variables(decode(a, READER, []), maker) for a in row["args"]]
    kwargs = {
        k: with_variables(decode(v, READER, []), maker) for k, v in row.get("kwargs", {}).items()
    }
    found = tensors_in(resolve(row["fn"])(*args, **kwargs))
    want = [in_a_graph(READER.array(ref)) for ref in references(row["out"])]
    if len(found) != len(want):
        return f"{len(found)} results instead of {len(want)}"
    if not tensors_in([args, *kwargs.values()]):
        return None
    if not all(isinstance(v, VarNode) for v in found):
        return "results that are not in the graph"
    texts = [
        difference(in_a_graph(np.asarray(g)), w, "compare" in row)
        for g, w in zip(maker.values(found), want, strict=True)
    ]
    return next((text for text in texts if text), None)


@pytest.mark.parametrize("kind", [Inputs, Constants])
@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_function_extends_the_graph(name, kind):
    wrong = []
    for row in ROWS[name]:
        try:
            text = check(row, kind(Network()))
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        if text:
            wrong.append(f"{row['id']}: {text}")
    assert not wrong, "\n".join(wrong)
