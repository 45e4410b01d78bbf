# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX files at the ends of what they allow, and beyond."""

import numpy as np
import pytest
from onnx_files import load, model_of, number, onnx, port, same_as_runtime

node = onnx.helper.make_node
KINDS = onnx.TensorProto
BOTTOM = -(1 << 63)


def one_node(tmp_path, op, inputs, constants=(), opset=17, **attributes):
    """Write a model of that operator: inputs by name and shape, then constants."""
    names = [name for name, _ in inputs] + [constant.name for constant in constants]
    nodes = [node(op, names, ["y"], **attributes)]
    ports = [port(name, shape) for name, shape in inputs]
    outputs = [port("y", None)]
    return model_of(nodes, ports, outputs, tmp_path, initializers=constants, opset=opset)


def refused(path, match):
    with pytest.raises(RuntimeError, match=match):
        load(path)


@pytest.mark.parametrize("given", [("low", "high"), ("low", ""), ("", "high"), ("low",), ()])
def test_callers_of_functions_leave_inputs_out(given, tmp_path):
    """Then the nodes in it have none either."""
    clip = node("Clip", ["a", "b", "c"], ["d"])
    sets = [onnx.helper.make_opsetid("", 17)]
    function = onnx.helper.make_function("own", "Limit", ["a", "b", "c"], ["d"], [clip], sets)
    call = node("Limit", ["x", *given], ["y"], domain="own")
    path = model_of(
        [call],
        [port("x", ["n"])],
        [port("y", ["n"])],
        tmp_path,
        functions=[function],
        initializers=[number("low", -1, np.float32), number("high", 2, np.float32)],
    )
    x = np.array([-4.0, 0.5, 3.0], "float32")
    low, high = -1 if "low" in given else -9, 2 if "high" in given else 9
    np.testing.assert_array_equal(load(path)(x).numpy(), np.clip(x, low, high))


@pytest.mark.parametrize("given", [True, False])
def test_functions_ask_for_their_inputs(given, tmp_path):
    def branch(name, made):
        return onnx.helper.make_graph([made], name, [], [port("r", None)])

    body = [
        node("OptionalHasElement", ["b"], ["is_given"]),
        node(
            "If",
            ["is_given"],
            ["d"],
            then_branch=branch("then", node("Add", ["a", "b"], ["r"])),
            else_branch=branch("else", node("Neg", ["a"], ["r"])),
        ),
    ]
    sets = [onnx.helper.make_opsetid("", 18)]
    function = onnx.helper.make_function("own", "Plus", ["a", "b"], ["d"], body, sets)
    call = node("Plus", ["x", "one"] if given else ["x"], ["y"], domain="own")
    path = model_of(
        [call],
        [port("x", ["n"])],
        [port("y", ["n"])],
        tmp_path,
        functions=[function],
        initializers=[number("one", 1, np.float32)],
        opset=18,
    )
    x = np.array([-4.0, 3.0], "float32")
    np.testing.assert_array_equal(load(path)(x).numpy(), x + 1 if given else -x)
