# SPDX-License-Identifier: Apache-2.0
"""Names of open dimensions: what readers report, and files that keep them."""

import importlib
import io

import numpy as np
import pytest
from onnx_cases import extents
from onnx_files import model_of, onnx, port

from megengine import _mge
from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.network import Network

load = importlib.import_module("megengine.onnx.reading").load
node = onnx.helper.make_node
SHAPES = {"x": ("batch", "seq", 4), "w": (4, 3), "tail": ("seq + 1", None)}


@pytest.fixture
def path(tmp_path):
    """y = relu(x @ w), and the exponentials of tail."""
    nodes = [
        node("MatMul", ["x", "w"], ["product"]),
        node("Relu", ["product"], ["y"]),
        node("Exp", ["tail"], ["e"]),
    ]
    inputs = [port(name, shape) for name, shape in SHAPES.items()]
    return model_of(nodes, inputs, [port("y", [None] * 3), port("e", [None] * 2)], tmp_path)


@pytest.mark.parametrize("trainable", [False, True])
def test_a_read_model_reports_names(path, trainable):
    assert load(path, trainable=trainable).input_shapes == SHAPES


def test_graph_inference_reports_names(path):
    assert GraphInference(path).input_shapes == SHAPES


def test_a_changed_network_keeps_names(path):
    network, file = Network.load(path), io.BytesIO()
    y = network.var_filter.name("y").as_unique() * 2
    y.name = "doubled"
    network.remove_output(*network.dest_vars)
    network.add_output(y)
    network.dump(file)
    found = GraphInference(io.BytesIO(file.getvalue()))
    assert found.input_shapes == {name: SHAPES[name] for name in ("x", "w")}
    ones = np.ones((2, 5, 4), "float32")
    assert found.run(inp_dict={"x": ones, "w": ones[0, :4, :3]})["doubled"].shape == (2, 5, 3)


def test_a_model_without_names_has_numbers(tmp_path):
    model = model_of(
        [node("Relu", ["x"], ["y"])], [port("x", [2, 3])], [port("y", [2, 3])], tmp_path
    )
    assert load(model).input_shapes == {"x": (2, 3)}


def test_names_are_exported_again(path, tmp_path):
    _mge.load(path).write(tmp_path / "named.mge")
    _mge.load(tmp_path / "named.mge").write_onnx(tmp_path / "again.onnx")
    model = onnx.load(tmp_path / "again.onnx")
    onnx.checker.check_model(model, full_check=True)
    assert [extents(value)[:2] for value in model.graph.input[:2]] == [["batch", "seq"], [4, 3]]
    assert extents(model.graph.input[2]) == ["seq + 1", "tail_1"]
    assert extents(model.graph.output[0]) == ["batch", "seq", 3]
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(tmp_path / "again.onnx"))
    random = np.random.default_rng(1)
    shapes = (6, 2), (3, 5, 4), (4, 3)
    tail, x, w = (random.standard_normal(s).astype("float32") for s in shapes)
    y, _ = session.run(None, {"x": x, "w": w, "tail": tail})
    np.testing.assert_allclose(y, np.maximum(x @ w, 0), rtol=1e-5, atol=1e-6)


def test_names_stay_where_sizes_have_to_be_multiples(tmp_path):
    target = onnx.numpy_helper.from_array(np.array([-1, 8], np.int64), "target")
    model = model_of(
        [node("Reshape", ["x", "target"], ["y"])],
        [port("x", ["n", "m"])],
        [port("y", [None, 8])],
        tmp_path,
        initializers=[target],
    )
    _mge.load(model).write_onnx(tmp_path / "again.onnx")
    assert load(tmp_path / "again.onnx").input_shapes == {"x": ("n", "m")}
    assert load(tmp_path / "again.onnx")(np.zeros((4, 6), "float32")).shape == (3, 8)


def test_sizes_that_differ_are_named_where_shapes_do_not_fit(tmp_path):
    model = model_of(
        [node("Add", ["x", "y"], ["z"])],
        [port("x", ["n", 2]), port("y", ["n", 2])],
        [port("z", ["n", 2])],
        tmp_path,
    )
    ones = [np.ones((n, 2), "float32") for n in range(4)]
    add = load(model)
    assert add(ones[3], ones[1]).shape == (3, 2)  # it broadcasts
    with pytest.raises(RuntimeError, match="dimension 'n' is 3 in input 'x' and 2 in input 'y'"):
        add(ones[3], ones[2])
