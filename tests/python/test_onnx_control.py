# SPDX-License-Identifier: Apache-2.0
"""ONNX files with graphs inside of nodes, and extents that only a run can tell."""

import importlib

import numpy as np
import pytest
from test_onnx_import import model_of, onnx, port

load = importlib.import_module("megengine.onnx.reading").load
node, graph = onnx.helper.make_node, onnx.helper.make_graph
KINDS = onnx.TensorProto


def number(name, value, dtype=np.int64):
    return onnx.numpy_helper.from_array(np.array(value, dtype), name)


def same_as_runtime(path, *inputs):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path))
    names = [port.name for port in session.get_inputs()]
    expected = session.run(None, dict(zip(names, inputs, strict=True)))
    outputs = load(path)(*inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    for y, z in zip(outputs, expected, strict=True):
        assert y.numpy().shape == z.shape and y.numpy().dtype == z.dtype
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-5, atol=1e-6)


def summing_body(*more, condition="go"):
    """a' = a + x * i; collects a'."""
    nodes = [
        node("Cast", ["i"], ["f"], to=KINDS.FLOAT),
        node("Mul", ["x", "f"], ["m"]),
        node("Add", ["a", "m"], ["b"]),
        node("Identity", ["b"], ["s"]),
        *more,
    ]
    inputs = [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", [2])]
    outputs = [port(condition, [], KINDS.BOOL), port("b", [2]), port("s", [2])]
    return graph(nodes, "body", inputs, outputs)


LOOP_INPUTS = [port("n", [], KINDS.INT64), port("x", [2])]
LOOP_OUTPUTS = [port("y", [2]), port("all", ["steps", 2])]


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_loop_of_as_many_steps_as_an_input_says(tmp_path, steps):
    nodes = [
        node("Identity", ["x"], ["start"]),
        node("Loop", ["n", "", "start"], ["y", "all"], body=summing_body()),
    ]
    path = model_of(nodes, LOOP_INPUTS, LOOP_OUTPUTS, tmp_path)
    same_as_runtime(path, np.array(steps), np.float32([1, 2]))


@pytest.mark.parametrize("limit", [3, 100])
@pytest.mark.parametrize("collects", [True, False])
def test_a_loop_whose_steps_find_out_which_is_the_last(tmp_path, limit, collects):
    body = summing_body(
        node("ReduceSum", ["b"], ["sum"], keepdims=0),
        node("Less", ["sum", "most"], ["on"]),
        condition="on",
    )
    if not collects:
        del body.output[2]
    nodes = [
        node("Identity", ["x"], ["start"]),
        node("Loop", ["n", "", "start"], ["y", "all"][: 1 + collects], body=body),
    ]
    outputs = LOOP_OUTPUTS[: 1 + collects]
    most = [number("most", 40, np.float32)]
    path = model_of(nodes, LOOP_INPUTS, outputs, tmp_path, initializers=most)
    same_as_runtime(path, np.array(limit), np.float32([1, 2]))


def test_a_loop_whose_carried_value_grows(tmp_path):
    body = graph(
        [node("Concat", ["a", "x"], ["b"], axis=0), node("Identity", ["go"], ["on"])],
        "body",
        [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k"])],
        [port("on", [], KINDS.BOOL), port("b", ["l"])],
    )
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=body)]
    path = model_of(
        nodes, [port("x", [2])], [port("y", ["m"])], tmp_path, initializers=[number("n", 3)]
    )
    same_as_runtime(path, np.float32([1, 2]))


def test_a_growing_loop_of_unknown_length_is_refused(tmp_path):
    body = graph(
        [node("Concat", ["a", "x"], ["b"], axis=0), node("Identity", ["go"], ["on"])],
        "body",
        [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k"])],
        [port("on", [], KINDS.BOOL), port("b", ["l"])],
    )
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=body, name="grows")]
    path = model_of(nodes, LOOP_INPUTS, [port("y", ["m"])], tmp_path)
    with pytest.raises(RuntimeError, match="'grows'.*changes its shape"):
        load(path)


@pytest.mark.parametrize(
    "trips, reason", [("", "never ends"), ("n", "a loop of 9223372036854775807 steps")]
)
def test_loops_without_an_end_are_refused(tmp_path, trips, reason):
    nodes = [
        node("Identity", ["x"], ["start"]),
        node("Loop", [trips, "", "start"], ["y", "all"], body=summing_body()),
    ]
    weights = [number("n", 2**63 - 1)]
    path = model_of(nodes, [port("x", [2])], LOOP_OUTPUTS, tmp_path, initializers=weights)
    with pytest.raises(RuntimeError, match=reason):
        load(path)


def test_loops_in_loops_that_would_be_written_out_for_ever_are_refused(tmp_path):
    def nested(depth):
        inner = "a" if not depth else "c"
        nodes = [node("Loop", ["n", "", "a"], ["c"], body=nested(depth - 1))] if depth else []
        nodes += [node("Concat", [inner, "x"], ["b"], axis=0), node("Identity", ["go"], ["on"])]
        inputs = [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k"])]
        return graph(nodes, "body", inputs, [port("on", [], KINDS.BOOL), port("b", ["l"])])

    nodes = [node("Loop", ["n", "", "x"], ["y"], body=nested(4))]
    weights = [number("n", 1000), onnx.numpy_helper.from_array(np.float32([1, 2]), "x")]
    path = model_of(nodes, [], [port("y", ["m"])], tmp_path, initializers=weights)
    with pytest.raises(RuntimeError, match="is not a valid ONNX model|without a counterpart"):
        load(path)


@pytest.mark.parametrize("backwards", [0, 1])
def test_a_scan_along_any_axis_in_either_direction(tmp_path, backwards):
    body = graph(
        [node("Add", ["a", "x"], ["b"]), node("Mul", ["b", "x"], ["s"])],
        "body",
        [port("a", [2]), port("x", [2])],
        [port("b", [2]), port("s", [2])],
    )
    scan = node(
        "Scan",
        ["a0", "xs"],
        ["y", "all"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[1],
        scan_input_directions=[backwards],
        scan_output_directions=[1 - backwards],
    )
    path = model_of(
        [scan],
        [port("a0", [2]), port("xs", [2, "n"])],
        [port("y", [2]), port("all", [2, "n"])],
        tmp_path,
    )
    same_as_runtime(path, np.float32([1, 2]), np.random.rand(2, 5).astype(np.float32))


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("op", ["Mod", "Min", "Less", "Div"])
def test_what_follows_from_an_open_extent_is_computed_in_every_run(tmp_path, batch, op):
    """Equal for many extents, and not for all."""
    nodes = [
        node("Shape", ["x"], ["shape"], start=0, end=1),
        node(op, ["shape", "two"], ["k"]),
        node("Cast", ["k"], ["f"], to=KINDS.FLOAT),
        node("Add", ["x", "f"], ["y"]),
    ]
    inputs, outputs = [port("x", ["n", 2])], [port("y", ["n", 2])]
    path = model_of(nodes, inputs, outputs, tmp_path, initializers=[number("two", [2])])
    same_as_runtime(path, np.ones((batch, 2), np.float32))


@pytest.mark.parametrize("shape", [(4, 4), (4, 6)])
def test_open_extents_are_not_taken_to_be_equal(tmp_path, shape):
    nodes = [
        node("Shape", ["x"], ["h"], start=0, end=1),
        node("Shape", ["x"], ["w"], start=1, end=2),
        node("Equal", ["h", "w"], ["k"]),
        node("Cast", ["k"], ["f"], to=KINDS.FLOAT),
        node("Add", ["x", "f"], ["y"]),
    ]
    path = model_of(nodes, [port("x", ["h_", "w_"])], [port("y", ["h_", "w_"])], tmp_path)
    same_as_runtime(path, np.ones(shape, np.float32))
