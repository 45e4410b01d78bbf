# SPDX-License-Identifier: Apache-2.0
"""ONNX files with sequences of tensors."""

import importlib

import numpy as np
import pytest
from onnx_files import model_of, number, onnx, port, same_as_runtime

from megengine.utils.network import Network

load = importlib.import_module("megengine.onnx.reading").load
node, graph = onnx.helper.make_node, onnx.helper.make_graph
KINDS = onnx.TensorProto


def sequence(name):
    return onnx.helper.make_tensor_sequence_value_info(name, KINDS.FLOAT, None)


def collecting_loop(steps, counter_shape, axis, new_axis=0):
    """A loop of n steps that puts the `row` of each into a sequence, and what joins its items."""
    body = graph(
        [*steps, node("SequenceInsert", ["a", "row"], ["b"]), node("Identity", ["go"], ["on"])],
        "body",
        [port("i", counter_shape, KINDS.INT64), port("go", [], KINDS.BOOL), sequence("a")],
        [port("on", [], KINDS.BOOL), sequence("b")],
    )
    return [
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["n", "", "none"], ["rows"], body=body),
        node("ConcatFromSequence", ["rows"], ["y"], axis=axis, new_axis=new_axis),
    ]


def test_sequences_known_at_import(tmp_path):
    nodes = [
        node("SplitToSequence", ["x"], ["parts"], axis=1, keepdims=0),
        node("SequenceInsert", ["parts", "v", "first"], ["more"]),
        node("SequenceErase", ["more", "last"], ["fewer"]),
        node("SequenceLength", ["fewer"], ["length"]),
        node("SequenceAt", ["fewer", "first"], ["at"]),
        node("ConcatFromSequence", ["fewer"], ["all"], axis=0, new_axis=1),
    ]
    path = model_of(
        nodes,
        [port("x", [2, 3]), port("v", [2])],
        [port("length", [], KINDS.INT64), port("at", [2]), port("all", [3, 2])],
        tmp_path,
        initializers=[number("first", 0), number("last", -1)],
    )
    same_as_runtime(path, np.random.rand(2, 3).astype(np.float32), np.float32([7, 8]))


def test_sequence_of_parts_with_sizes_from_input(tmp_path):
    nodes = [
        node("SplitToSequence", ["x", "sizes"], ["parts"], axis=1),
        node("SequenceLength", ["parts"], ["length"]),
        node("SequenceAt", ["parts", "one"], ["y"]),
    ]
    path = model_of(
        nodes,
        [port("x", [2, "n"]), port("sizes", [3], KINDS.INT64)],
        [port("length", [], KINDS.INT64), port("y", [2, "m"])],
        tmp_path,
        initializers=[number("one", 1)],
    )
    x = np.random.rand(2, 6).astype(np.float32)
    for sizes in ([1, 2, 3], [2, 4, 0], [3, 0, 3]):
        same_as_runtime(path, x, np.array(sizes))


def test_a_loop_that_collects_a_sequence(tmp_path):
    nodes = collecting_loop([node("Gather", ["x", "i"], ["row"])], [], axis=0)
    weights = [number("n", 3)]
    path = model_of(nodes, [port("x", [3, 2])], [port("y", [6])], tmp_path, initializers=weights)
    same_as_runtime(path, np.random.rand(3, 2).astype(np.float32))


def test_a_loop_that_collects_until_its_own_counter_ends(tmp_path):
    """As PyTorch writes embedding bags: without a number of steps, the count a carried value."""
    body = graph(
        [
            node("Gather", ["x", "k"], ["row"]),
            node("SequenceInsert", ["a", "row"], ["b"]),
            node("Add", ["k", "one"], ["next"]),
            node("Less", ["next", "n"], ["on"]),
        ],
        "body",
        [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), sequence("a"), port("k", [], 7)],
        [port("on", [], KINDS.BOOL), sequence("b"), port("next", [], KINDS.INT64)],
    )
    nodes = [
        node("SequenceEmpty", [], ["none"]),
        node("Loop", ["", "yes", "none", "zero"], ["rows", "count"], body=body),
        node("ConcatFromSequence", ["rows"], ["y"], axis=0),
    ]
    weights = [number("zero", 0), number("one", 1), number("n", 3), number("yes", True, np.bool_)]
    path = model_of(nodes, [port("x", [4, 2])], [port("y", None)], tmp_path, initializers=weights)
    same_as_runtime(path, np.random.rand(4, 2).astype(np.float32))
    weights[2] = number("n", 2000)  # more than are unrolled
    path = model_of(
        nodes, [port("x", [2000, 2])], [port("y", None)], tmp_path, initializers=weights
    )
    same_as_runtime(path, np.random.rand(2000, 2).astype(np.float32))


@pytest.mark.parametrize("axis, new_axis", [(0, 0), (-1, 0), (0, 1), (1, 1)])
def test_a_loop_of_open_length_that_collects_a_sequence(axis, new_axis, tmp_path):
    """As torch.cat and torch.stack of a list that a script fills."""
    steps = [node("Gather", ["x", "i"], ["item"]), node("Mul", ["item", "item"], ["row"])]
    nodes = [
        *collecting_loop(steps, [], axis, new_axis),
        node("SequenceLength", ["rows"], ["length"]),
        node("SequenceAt", ["rows", "one"], ["second"]),
    ]
    inputs = [port("x", ["k", 3, 2]), port("n", [], KINDS.INT64)]
    outputs = [port("y", None), port("length", [], KINDS.INT64), port("second", [3, 2])]
    path = model_of(nodes, inputs, outputs, tmp_path, initializers=[number("one", 1)])
    for count in (2, 5, 3):
        same_as_runtime(path, np.random.rand(count, 3, 2).astype(np.float32), np.array(count))


def test_a_loop_that_appends_to_a_sequence_with_values(tmp_path):
    nodes = collecting_loop([node("Gather", ["x", "i"], ["row"])], [], axis=0, new_axis=1)
    nodes[0] = node("SequenceConstruct", ["v", "v"], ["none"])
    inputs = [port("v", [2]), port("x", ["k", 2]), port("n", [], KINDS.INT64)]
    path = model_of(nodes, inputs, [port("y", ["m", 2])], tmp_path)
    for count in (3, 1, 0):
        v, x = np.float32([7, 8]), np.random.rand(count, 2).astype(np.float32)
        same_as_runtime(path, v, x, np.array(count))
    inputs[0] = port("v", [3])
    path = model_of(nodes, inputs, [port("y", ["m", 2])], tmp_path)
    with pytest.raises(RuntimeError, match="not supported.* are sequences or change their shape"):
        load(path)


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("extent", [3, "k"])
@pytest.mark.parametrize("axis, new_axis", [(0, 1), (1, 1), (0, 0)])
def test_parts_of_one_element_with_a_given_size(axis, new_axis, extent, keepdims, tmp_path):
    """As torch.unbind is written in scripts: with the size 1 and without the axis."""
    nodes = [
        node("SplitToSequence", ["x", "one"], ["parts"], axis=0, keepdims=keepdims),
        node("SequenceAt", ["parts", "one"], ["part"]),
        node("ConcatFromSequence", ["parts"], ["y"], axis=axis, new_axis=new_axis),
    ]
    outputs = [port("part", None), port("y", None)]
    weights = [number("one", 1)]
    path = model_of(nodes, [port("x", [extent, 4])], outputs, tmp_path, initializers=weights)
    same_as_runtime(path, np.random.rand(3, 4).astype(np.float32))


def test_a_loop_that_counts_in_vectors_of_one(tmp_path):
    """As PyTorch writes x[i:i + 1] in loops: what the body declares, it gets."""
    steps = [node("Add", ["i", "one"], ["next"]), node("Slice", ["x", "i", "next"], ["row"])]
    nodes = collecting_loop(steps, [1], axis=1)
    weights = [number("n", 3), number("one", [1])]
    path = model_of(nodes, [port("x", [5, 2])], [port("y", None)], tmp_path, initializers=weights)
    same_as_runtime(path, np.random.rand(5, 2).astype(np.float32))


def test_output_sequences_are_lists(tmp_path):
    nodes = [
        node("SplitToSequence", ["x", "sizes"], ["parts"], axis=1),
        node("SequenceConstruct", ["x"], ["one"]),
        node("Neg", ["x"], ["y"]),
    ]
    outputs = [port("y", None), sequence("parts"), sequence("one")]
    weights = [number("sizes", [2, 1])]
    path = model_of(nodes, [port("x", ["b", 3])], outputs, tmp_path, initializers=weights)
    model = load(path)
    assert model.output_names == ["y", "parts", "one"]
    x = np.random.rand(4, 3).astype(np.float32)
    y, parts, one = model(x)
    np.testing.assert_array_equal(y.numpy(), -x)
    for part, expected in zip(parts + one, [x[:, :2], x[:, 2:], x], strict=True):
        np.testing.assert_array_equal(part.numpy(), expected)
    # Elsewhere they are outputs with numbers behind their names.
    names = [out.name for out in Network.load(str(path)).output_vars]
    assert names == ["y", "parts.0", "parts.1", "one.0"]


def test_sequences_instead_of_tensors_are_refused(tmp_path):
    nodes = [node("SequenceConstruct", ["x", "x"], ["y"], name="s"), node("Relu", ["y"], ["z"])]
    path = model_of(nodes, [port("x", [2])], [sequence("y"), port("z", [2])], tmp_path)
    with pytest.raises(RuntimeError, match="a sequence or an optional as its input"):
        load(path)
    nothing = [node("SequenceEmpty", [], ["y"])]
    path = model_of(nothing, [port("x", [2])], [sequence("y")], tmp_path)
    with pytest.raises(RuntimeError, match="output 'y': an empty sequence or optional"):
        load(path)
    twice = [node("SequenceConstruct", ["x"], ["y"]), node("Relu", ["x"], ["y.0"])]
    path = model_of(twice, [port("x", [2])], [sequence("y"), port("y.0", [2])], tmp_path)
    with pytest.raises(RuntimeError, match="two outputs have the name 'y.0'"):
        load(path)
