# SPDX-License-Identifier: Apache-2.0
"""ONNX files of ONNX Runtime's quantiser: computed in steps, as it computes them."""

import ctypes
import importlib
import platform
from collections import Counter

import numpy as np
import pytest

from megengine.utils.network import Network

load = importlib.import_module("megengine.onnx.reading").load
onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
quantization = pytest.importorskip("onnxruntime.quantization")
helper = onnx.helper


class Samples(quantization.CalibrationDataReader):
    def __init__(self, axes=2):
        self.rest = iter([{"x": images(seed, axes)} for seed in range(3)])

    def get_next(self):
        return next(self.rest, None)


def exact_session(path):
    """ONNX Runtime, exact without VNNI, too.

    There it adds products of uint8 and int8 in pairs of 16 bits, which saturate. Told to be exact
    it makes both factors uint8; elsewhere that changes nothing. It has no kernels for its own
    QLinear operators then.
    """
    options = runtime.SessionOptions()
    names = {node.op_type for node in onnx.load(path).graph.node}
    if not any(name.startswith("Q") and name != "QuantizeLinear" for name in names):
        options.add_session_config_entry("session.x64quantprecision", "1")
    return runtime.InferenceSession(str(path), options)


def images(seed, axes=2):
    return np.random.default_rng(seed).normal(size=(2, 3, *[12] * axes)).astype(np.float32)


def write_net(path, axes=2):
    """A residual block: two convolutions and a sum, the second one depthwise and with a limit."""
    random = np.random.default_rng(5)
    window, pads = [3] * axes, [1, 1] * axes
    weights = {"a": (8, 3, *window), "c": (8, 1, *window), "e": (8, 8, *[1] * axes)}
    values = [
        onnx.numpy_helper.from_array(random.normal(size=s).astype(np.float32), n)
        for n, s in {**weights, "b": (8,), "d": (8,)}.items()
    ]
    node = helper.make_node
    nodes = [
        node("Conv", ["x", "a", "b"], ["p"], pads=pads),
        node("Relu", ["p"], ["q"]),
        node("Conv", ["q", "c", "d"], ["r"], pads=pads, group=8),
        node("Conv", ["r", "e"], ["s"]),
        node("Add", ["s", "q"], ["y"]),
    ]
    ports = [
        helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [2, c, *[12] * axes])
        for n, c in [("x", 3), ("y", 8)]
    ]
    graph = helper.make_graph(nodes, "block", ports[:1], ports[1:], values)
    sets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)


def kinds_of(path):
    return Counter(operator.type for operator in Network.load(str(path)).all_oprs)


@pytest.mark.parametrize("axes", [1, 2])
@pytest.mark.parametrize("per_channel", [False, True])
@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
def test_static_forms_are_computed_in_steps(tmp_path, form, per_channel, axes):
    write_net(tmp_path / "net.onnx", axes)
    path = tmp_path / "steps.onnx"
    quantization.quantize_static(
        tmp_path / "net.onnx",
        path,
        Samples(axes),
        quant_format=quantization.QuantFormat[form],
        per_channel=per_channel,
        weight_type=quantization.QuantType.QInt8,
    )
    kinds = kinds_of(path)
    assert kinds["ConvBias"] == 3 and kinds["QuantizedAdd"] == 1
    assert not kinds["Convolution"]
    x = images(9, axes)
    expected = exact_session(path).run(None, {"x": x})[0]
    steps = np.unique(np.abs(np.diff(np.unique(expected))))
    y = load(path)(x).numpy()
    # A halfway sum goes to another step, and what comes behind it may differ by one more.
    assert np.abs(y - expected).max() <= 2.01 * steps.min()
    assert np.mean(y != expected) < 0.02


@pytest.mark.parametrize(
    "shape, weight, added, removed, bias",
    [
        ((3, 3, 8), (4, 3, 1, 1), [0], [0], None),
        ((2, 3, 8), (4, 3, 1, 8), [2], [2, 3], None),
        ((2, 3, 8), (4, 3, 3, 1), [3], [3], (4, 1)),
        ((2, 3, 8), (4, 3, 1, 3), [2], [2], (1, 1, 4, 1)),
        ((2, 3, 8), (4, 3, 1, 3), [2], [2], (4, 1)),
    ],
)
def test_axes_around_a_convolution(tmp_path, shape, weight, added, removed, bias):
    """Only an axis of rows, removed where it was added, makes a convolution along one axis."""
    random = np.random.default_rng(7)
    node, array = helper.make_node, onnx.numpy_helper.from_array
    values = {
        "scale": np.float32(0.05),
        "zero": np.uint8(128),
        "w": random.integers(-90, 90, weight).astype(np.int8),
        "w_zero": np.int8(0),
        "b": random.normal(size=bias or ()).astype(np.float32),
        "added": np.array(added),
        "removed": np.array(removed),
    }
    nodes = [
        node("QuantizeLinear", ["x", "scale", "zero"], ["q"]),
        node("DequantizeLinear", ["q", "scale", "zero"], ["r"]),
        node("Unsqueeze", ["r", "added"], ["image"]),
        node("DequantizeLinear", ["w", "scale", "w_zero"], ["v"]),
        node("Conv", ["image", "v"], ["c"]),
        node("Squeeze", ["c", "removed"], ["d"]),
        node("Add", ["d", "b"], ["e"]),
        node("QuantizeLinear", ["e" if bias else "d", "scale", "zero"], ["f"]),
        node("DequantizeLinear", ["f", "scale", "zero"], ["y"]),
    ]
    port = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "axes",
        [port("x", onnx.TensorProto.FLOAT, shape)],
        [port("y", onnx.TensorProto.FLOAT, None)],
        [array(value, name) for name, value in values.items()],
    )
    path = tmp_path / "axes.onnx"
    sets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    x = random.normal(size=shape).astype(np.float32)
    expected = exact_session(path).run(None, {"x": x})[0]
    y = load(path)(x).numpy()
    assert y.shape == expected.shape
    assert np.abs(y - expected).max() < 1.01 * values["scale"]


@pytest.mark.parametrize("axes", [1, 2])
def test_dynamic_forms_match(tmp_path, axes):
    write_net(tmp_path / "net.onnx", axes)
    path = tmp_path / "dynamic.onnx"
    quantization.quantize_dynamic(tmp_path / "net.onnx", path)
    assert kinds_of(path)["ConvBias"] == 3
    x = images(9, axes)
    expected = exact_session(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(load(path)(x).numpy(), expected, rtol=1e-5, atol=1e-4)


def test_operators_of_the_runtime(tmp_path):
    """Operators written by its optimizer."""
    random = np.random.default_rng(3)
    nodes = [
        helper.make_node(
            "FusedMatMul", ["x", "w"], ["a"], domain="com.microsoft", alpha=0.5, transB=1
        ),
        helper.make_node(
            "SkipLayerNormalization", ["a", "a", "g"], ["b"], domain="com.microsoft", epsilon=1e-5
        ),
        helper.make_node("Gelu", ["b"], ["c"], domain="com.microsoft"),
        helper.make_node("QuickGelu", ["c"], ["y"], domain="com.microsoft", alpha=1.5),
    ]
    values = [
        onnx.numpy_helper.from_array(random.normal(size=s).astype(np.float32), n)
        for n, s in {"w": (5, 4), "g": (5,)}.items()
    ]
    ports = [
        helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, [3, c])
        for n, c in [("x", 4), ("y", 5)]
    ]
    graph = helper.make_graph(nodes, "g", ports[:1], ports[1:], values)
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    x = random.normal(size=(3, 4)).astype(np.float32)
    expected = exact_session(path).run(None, {"x": x})[0]
    np.testing.assert_allclose(load(path)(x).numpy(), expected, rtol=1e-4, atol=1e-5)


def write_products(path):
    """A product with a matrix, a Gemm with a limit, and a product of two values."""
    random = np.random.default_rng(6)
    weights = {"a": (24, 40), "b": (17, 40), "c": (17,)}
    values = [
        onnx.numpy_helper.from_array(random.normal(size=s).astype(np.float32), n)
        for n, s in weights.items()
    ]
    node = helper.make_node
    nodes = [
        node("MatMul", ["x", "a"], ["p"]),
        node("Gemm", ["p", "b", "c"], ["q"], transB=1),
        node("Relu", ["q"], ["r"]),
        node("Transpose", ["r"], ["s"], perm=[1, 0]),
        node("MatMul", ["r", "s"], ["y"]),
    ]
    ports = [
        helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [9, 24]),
        helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [9, 9]),
    ]
    graph = helper.make_graph(nodes, "products", ports[:1], ports[1:], values)
    sets = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)


class Rows(Samples):
    def __init__(self):
        self.rest = iter([{"x": rows(seed)} for seed in range(3)])


def rows(seed):
    return np.random.default_rng(seed).normal(size=(9, 24)).astype(np.float32)


@pytest.mark.parametrize("form", ["QDQ", "QOperator"])
@pytest.mark.parametrize("per_channel", [False, True])
def test_products_with_constant_matrices_are_computed_in_steps(tmp_path, form, per_channel):
    # Bit 20 of AT_HWCAP (16) is "asimddp".
    if platform.machine() == "aarch64" and not ctypes.CDLL(None).getauxval(16) & 1 << 20:
        pytest.skip("ONNX Runtime's sums saturate on Arm without instructions for dot products")
    write_products(tmp_path / "net.onnx")
    path = tmp_path / "steps.onnx"
    quantization.quantize_static(
        tmp_path / "net.onnx",
        path,
        Rows(),
        quant_format=quantization.QuantFormat[form],
        per_channel=per_channel,
        weight_type=quantization.QuantType.QInt8,
    )
    kinds = kinds_of(path)
    assert kinds["ConvBias"] == 2 and kinds["MatrixMul"] == 1
    x = rows(9)
    expected = exact_session(path).run(None, {"x": x})[0]
    step = np.abs(np.diff(np.unique(expected))).min()
    # A halfway sum goes to another step; the last product gathers such differences.
    assert np.abs(load(path)(x).numpy() - expected).max() <= 3 * step + 1e-4


@pytest.mark.parametrize("form", ["QDQ", "QOperator", "dynamic"])
def test_products_in_steps_take_any_batch(tmp_path, form):
    node, port = helper.make_node, helper.make_tensor_value_info
    random = np.random.default_rng(7)
    values = [
        onnx.numpy_helper.from_array(random.normal(size=s).astype(np.float32), n)
        for n, s in {"a": (24, 10), "b": (10, 6)}.items()
    ]
    nodes = [node("MatMul", ["x", "a"], ["p"]), node("MatMul", ["p", "b"], ["y"])]
    ports = [port(n, onnx.TensorProto.FLOAT, ["n", "t", c]) for n, c in [("x", 24), ("y", 6)]]
    graph = helper.make_graph(nodes, "open", ports[:1], ports[1:], values)
    sets = [helper.make_opsetid("", 17)]
    net, path = tmp_path / "net.onnx", tmp_path / "steps.onnx"
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), net)

    class Sequences(Samples):
        def __init__(self):
            self.rest = iter([{"x": rows(seed)[None]} for seed in range(3)])

    if form == "dynamic":
        quantization.quantize_dynamic(net, path)
    else:
        format = quantization.QuantFormat[form]
        quantization.quantize_static(net, path, Sequences(), quant_format=format)
    assert kinds_of(path)["ConvBias"] == 2
    session, model = exact_session(path), load(path)
    for shape in [(1, 9), (3, 3), (9, 1)]:
        x = rows(8).reshape(*shape, 24)
        expected = session.run(None, {"x": x})[0]
        np.testing.assert_allclose(model(x).numpy(), expected, atol=0.02 * np.abs(expected).max())


@pytest.mark.parametrize("form", ["QuantizeLinear", "QLinearAdd"])
def test_sums_of_steps_that_are_broadcast_in_other_batches(tmp_path, form):
    """As words and their places: in a batch of one both have the same shape."""
    place = onnx.numpy_helper.from_array(np.arange(-60, 60, dtype=np.int8).reshape(1, 6, 20), "p")
    numbers = [
        onnx.numpy_helper.from_array(np.float32(value), name)
        for name, value in {"s": 0.05, "t": 0.02, "u": 0.07}.items()
    ]
    zero = onnx.numpy_helper.from_array(np.int8(3), "z")
    node, port = helper.make_node, helper.make_tensor_value_info
    nodes = [node("QuantizeLinear", ["x", "s", "z"], ["a"])]
    if form == "QLinearAdd":
        operands = ["a", "s", "z", "p", "t", "z", "u", "z"]
        nodes.append(node("QLinearAdd", operands, ["y"], domain="com.microsoft"))
    else:
        nodes += [
            node("DequantizeLinear", ["a", "s", "z"], ["b"]),
            node("DequantizeLinear", ["p", "t", "z"], ["q"]),
            node("Add", ["b", "q"], ["sum"]),
            node("QuantizeLinear", ["sum", "u", "z"], ["y"]),
        ]
    # A reshape by numbers made of the sum's shape: they have to be known for every batch.
    nodes += [
        node("Shape", ["y"], ["shape"]),
        node("Slice", ["shape", "i", "j"], ["first"]),
        node("Concat", ["first", "rest"], ["target"], axis=0),
        node("Reshape", ["y", "target"], ["z_"]),
    ]
    integers = [
        onnx.numpy_helper.from_array(np.array(value, np.int64), name)
        for name, value in {"i": [0], "j": [1], "rest": [3, 40]}.items()
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [port("x", 1, ["b", 6, 20])],
        [port("z_", onnx.TensorProto.INT8, None)],
        [place, zero, *numbers, *integers],
    )
    sets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    path = str(tmp_path / "sum.onnx")
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    session, model = runtime.InferenceSession(path), load(path)
    for batch in (1, 3):
        x = np.random.default_rng(batch).normal(size=(batch, 6, 20)).astype(np.float32)
        (expected,) = session.run(None, {"x": x})
        y = model(x).numpy()
        assert y.shape == expected.shape
        assert np.abs(y.astype(int) - expected).max() <= (form == "QLinearAdd")


def test_steps_of_rows_with_a_bias_at_open_sizes(tmp_path):
    """A linear layer of a transformer: its product takes the bias and the steps."""
    random = np.random.default_rng(3)
    node = helper.make_node
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["x_steps"]),
        node("DequantizeLinear", ["x_steps", "s", "z"], ["x_real"]),
        node("DequantizeLinear", ["w", "ws"], ["w_real"]),
        node("MatMul", ["x_real", "w_real"], ["m"]),
        node("QuantizeLinear", ["m", "s", "z"], ["m_steps"]),
        node("DequantizeLinear", ["m_steps", "s", "z"], ["m_real"]),
        node("Add", ["m_real", "bias"], ["sum"]),
        node("QuantizeLinear", ["sum", "s", "z"], ["y_steps"]),
        node("DequantizeLinear", ["y_steps", "s", "z"], ["y"]),
    ]
    values = {
        "s": np.float32(0.05),
        "z": np.uint8(128),
        "w": random.integers(-9, 10, (4, 6), dtype=np.int8),
        "ws": np.float32(0.02),
        "bias": random.normal(size=6).astype(np.float32),
    }
    weights = [onnx.numpy_helper.from_array(value, name) for name, value in values.items()]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ["b", "t", 4])
    y = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ["b", "t", 6])
    graph = helper.make_graph(nodes, "rows", [x], [y], weights)
    sets = [helper.make_opsetid("", 17)]
    path = tmp_path / "rows.onnx"
    onnx.save(helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    model, session = load(path), exact_session(path)
    for shape in ((1, 8, 4), (2, 3, 4), (3, 1, 4)):
        x = random.normal(size=shape).astype(np.float32)
        np.testing.assert_allclose(model(x).numpy(), session.run(None, {"x": x})[0], atol=0.051)
