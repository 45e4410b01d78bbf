# SPDX-License-Identifier: Apache-2.0
"""Functions and methods take a Network's variables: recorded calls, with inputs of a graph."""

from collections import OrderedDict

import pytest
from known_differences import CASES, FUNCTIONS
from oracle import Reader, decode, difference, references, resolve, tensors_in

import megengine as mge
from megengine.utils.network import Network
from megengine.utils.network_node import VarNode

READER = Reader("functional_cases")
READS_VALUES = ("T.tolist",)


def runs_in_a_graph(row):
    known = {"crash", "unstable", "error", "after"} & set(row)
    return not known and row["id"] not in CASES and "py" not in row["out"]


ROWS = {}
for _row in READER.rows:
    if runs_in_a_graph(_row) and _row["fn"] not in (*FUNCTIONS, *READS_VALUES):
        ROWS.setdefault(_row["fn"], []).append(_row)


def with_variables(value, net, feeds):
    """The argument with inputs of the network in the place of Tensors."""
    if isinstance(value, mge.Tensor):
        name = f"x{len(feeds)}"
        feeds[name] = value
        return net.make_input_node(value.shape, value.dtype, name=name)
    if isinstance(value, (list, tuple)):
        return type(value)(with_variables(v, net, feeds) for v in value)
    return value


def check(row):
    """None, or what differs."""
    net, feeds = Network(), OrderedDict()
    args = [with_variables(decode(a, READER, []), net, feeds) for a in row["args"]]
    kwargs = {
        k: with_variables(decode(v, READER, []), net, feeds)
        for k, v in row.get("kwargs", {}).items()
    }
    found = tensors_in(resolve(row["fn"])(*args, **kwargs))
    want = [READER.array(ref) for ref in references(row["out"])]
    variables = [v for v in found if isinstance(v, VarNode)]
    if len(found) != len(want):
        return f"{len(found)} results instead of {len(want)}"
    if not feeds:
        return None
    if len(variables) != len(found):
        return f"{len(found) - len(variables)} results are not in the graph"
    net.add_output(*variables)
    numbers = [v.id for v in variables]
    model = net.graph.to_model(numbers, [f"y{i}" for i in range(len(numbers))], {}, {})
    got = model.run([feeds[name] for name in model.input_names])
    texts = [difference(g.numpy(), w, "compare" in row) for g, w in zip(got, want, strict=True)]
    return next((text for text in texts if text), None)


@pytest.mark.parametrize("name", sorted(ROWS))
def test_a_function_extends_the_graph(name):
    wrong = []
    for row in ROWS[name]:
        try:
            text = check(row)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        if text:
            wrong.append(f"{row['id']}: {text}")
    assert not wrong, "\n".join(wrong)
