# SPDX-License-Identifier: Apache-2.0
"""Errors of a constant parameter of an ONNX operator are errors of a run-time parameter, too."""

import numpy as np
import pytest
from onnx_files import load, model_of, number, onnx, port

node = onnx.helper.make_node
KINDS = onnx.TensorProto


def both_ways(tmp_path, op, data, parameters, outputs=1, opset=18, **attributes):
    """Give calls of a model with constant parameters, and of one with inputs."""
    names = [f"p{i}" for i in range(len(parameters))]
    arrays = [np.array(p, np.int64) for p in parameters]
    nodes = [node(op, ["x", *names], [f"y{i}" for i in range(outputs)], **attributes)]
    ends = [port(f"y{i}", None) for i in range(outputs)]
    x = port("x", data.shape)
    constants = [number(n, a) for n, a in zip(names, arrays, strict=True)]
    ports = [port(n, a.shape, KINDS.INT64) for n, a in zip(names, arrays, strict=True)]

    def of_constants():
        path = model_of(nodes, [x], ends, tmp_path, initializers=constants, opset=opset)
        return load(path)(data)

    def of_inputs():
        path = model_of(nodes, [x, *ports], ends, tmp_path, opset=opset)
        return load(path)(data, *arrays)

    return of_constants, of_inputs


@pytest.mark.parametrize(
    "op, shape, parameters, how",
    [
        ("Split", [5], [[2, 2]], {"outputs": 2}),
        ("Split", [5], [[-1, 6]], {"outputs": 2}),
        ("Tile", [1, 2, 3], [[1, -1, 1]], {}),
        ("Expand", [2, 3], [[-1, 3]], {}),
        ("Gather", [3], [[-4]], {}),
        ("Gather", [3], [[1 << 40]], {}),
        ("Gather", [3], [[1 << 32]], {}),
        ("GatherElements", [3], [[-4]], {}),
        ("GatherND", [3, 2], [[[-4, 0]]], {}),
        ("TopK", [3], [[4]], {"outputs": 2}),
        ("TopK", [3], [[-1]], {"outputs": 2}),
        ("Slice", [3], [[0], [2], [3]], {}),
        ("Slice", [3, 3], [[0, 0], [2, 2], [1, -1]], {}),
        ("Slice", [3], [[0], [2], [0], [0]], {}),
        ("ReduceSum", [2, 3], [[2]], {}),
        ("ReduceSum", [2, 3], [[1, -1]], {}),
        ("Squeeze", [1, 3], [[1]], {}),
        ("Squeeze", [1, 3], [[-3]], {}),
        ("Unsqueeze", [3], [[0, 0]], {}),
        ("Unsqueeze", [3], [[3]], {}),
        ("CumSum", [3], [1], {}),
        ("Pad", [3], [[3, 0]], {"mode": "reflect"}),
        ("Reshape", [6], [[-1, -1]], {}),
        ("Reshape", [6], [[-2, 3]], {}),
    ],
)
def test_both_ways_are_refused(op, shape, parameters, how, tmp_path):
    for call in both_ways(tmp_path, op, np.zeros(shape, np.float32), parameters, **how):
        with pytest.raises((RuntimeError, IndexError, ValueError)):
            call()


def test_error_names_the_problem_and_the_value(tmp_path):
    (_, late) = both_ways(tmp_path, "Split", np.zeros(5, np.float32), [[2, 2]], outputs=2)
    with pytest.raises(RuntimeError, match="add up to the size of axis 0, got 4"):
        late()


@pytest.mark.parametrize("is_constant", [True, False])
def test_frames_move_on(is_constant, tmp_path):
    nodes = [node("STFT", ["x", "step", "", "length"], ["y"])]
    numbers = [number("step", 0), number("length", 4)]
    ports = [port("x", [1, 16, 1])] + ([] if is_constant else [port("step", [], KINDS.INT64)])
    constants = numbers if is_constant else numbers[1:]
    path = model_of(nodes, ports, [port("y", None)], tmp_path, initializers=constants)
    with pytest.raises(RuntimeError, match="the frame step must be at least 1, got 0"):
        load(path)(np.zeros([1, 16, 1], np.float32), *([] if is_constant else [np.array(0)]))


@pytest.mark.parametrize("scale", [np.nan, 0, -1, np.inf])
@pytest.mark.parametrize("is_constant", [True, False])
def test_scales_are_numbers_above_zero(scale, is_constant, tmp_path):
    scales = np.array([1, 1, scale], np.float32)
    nodes = [node("Resize", ["x", "", "s"], ["y"])]
    ports = [port("x", [1, 1, 4])] + ([] if is_constant else [port("s", [3])])
    constants = [number("s", scales, np.float32)] if is_constant else []
    path = model_of(nodes, ports, [port("y", None)], tmp_path, initializers=constants)
    with pytest.raises(RuntimeError, match="a scale must be above 0"):
        load(path)(np.zeros([1, 1, 4], np.float32), *([] if is_constant else [scales]))


@pytest.mark.parametrize("n", [3, 10])
def test_slices_backwards_of_any_extent_begin_at_the_first(n, tmp_path):
    """The extent is known in a run only; the bounds are known before."""
    numbers = [number("s", [-11]), number("e", [-99]), number("a", [0]), number("t", [-1])]
    nodes = [node("Slice", ["x", "s", "e", "a", "t"], ["y"])]
    path = model_of(nodes, [port("x", ["n"])], [port("y", ["m"])], tmp_path, initializers=numbers)
    np.testing.assert_array_equal(load(path)(np.arange(n, dtype=np.float32)).numpy(), [0])
