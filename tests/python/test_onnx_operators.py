# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX files beyond the cases of its suite: other shapes, attributes and dtypes."""

import importlib
import math

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_files import model_of, onnx, port

load = importlib.import_module("megengine.onnx.reading").load
KINDS = onnx.TensorProto


def runtime_of(path):
    return pytest.importorskip("onnxruntime").InferenceSession(str(path)).run


def results_of(path, *arrays):
    outputs = load(path)(*arrays)
    return [y.numpy() for y in (outputs if isinstance(outputs, list) else [outputs])]


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int32, np.uint64])
@pytest.mark.parametrize("name", ["And", "Or", "Xor", "Not"])
def test_bits_of_integers(name, dtype, tmp_path):
    random = np.random.default_rng(21)
    bounds = np.iinfo(dtype).min, np.iinfo(dtype).max
    arrays = [random.integers(*bounds, s, dtype, endpoint=True) for s in [(3, 1, 5), (4, 1)]]
    arrays = arrays[: 1 if name == "Not" else 2]
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    ports = [port(f"x{i}", a.shape, kind) for i, a in enumerate(arrays)]
    node = onnx.helper.make_node(f"Bitwise{name}", [p.name for p in ports], ["y"])
    path = model_of([node], ports, [port("y", None, kind)], tmp_path, opset=18)
    function = {"And": np.bitwise_and, "Or": np.bitwise_or, "Xor": np.bitwise_xor, "Not": np.invert}
    np.testing.assert_array_equal(results_of(path, *arrays)[0], function[name](*arrays))


@pytest.mark.parametrize(
    "given, wanted",
    [("float32", "uint32"), ("int64", "float64"), ("uint8", "bool"), ("bool", "int8")],
)
def test_bits_as_another_dtype(given, wanted, tmp_path):
    x = np.array([[1, 0], [2, 250]]).astype(given)
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(np.dtype(d)) for d in (given, wanted)]
    node = onnx.helper.make_node("BitCast", ["x"], ["y"], to=kinds[1])
    ports = [port("x", [2, 2], kinds[0])], [port("y", [2, 2], kinds[1])]
    expected = x.view(wanted) if wanted != "bool" else x != 0
    np.testing.assert_array_equal(
        results_of(model_of([node], *ports, tmp_path, opset=26), x)[0], expected
    )
    node.attribute[0].i = KINDS.INT16 if kinds[1] != KINDS.INT16 else KINDS.INT32
    with pytest.raises(RuntimeError, match="which has another size"):
        load(model_of([node], *ports, tmp_path, opset=26))


@pytest.mark.parametrize("base", [np.int32, np.int64])
@pytest.mark.parametrize("exponent", [np.int32, np.uint8, np.int64])
def test_powers_of_integers_are_exact(base, exponent, tmp_path):
    x = np.array([3, -3, 1, -1, 0, 7, -2, 2], base)
    n = np.array([19, 19, 200, 127, 0, 10, 31, 30], exponent)
    kinds = [onnx.helper.np_dtype_to_tensor_dtype(np.dtype(d)) for d in (base, exponent)]
    node = onnx.helper.make_node("Pow", ["x", "n"], ["y"])
    ports = [port("x", [8], kinds[0]), port("n", [8], kinds[1])], [port("y", [8], kinds[0])]
    path = model_of([node], *ports, tmp_path)
    np.testing.assert_array_equal(results_of(path, x, n)[0], x ** n.astype(base))
    if exponent != np.uint8:  # 1 / x towards zero
        n = -n
        expected = np.where(abs(x) == 1, x ** abs(n).astype(base), np.where(n == 0, 1, 0))
        np.testing.assert_array_equal(results_of(path, x, n)[0], expected)


@pytest.mark.parametrize("axis, size", [(0, 2), (1, 3), (-1, 4)])
@pytest.mark.parametrize("kind", [KINDS.UINT8, KINDS.INT16])
def test_steps_in_blocks(axis, size, kind, tmp_path):
    """The last block of an axis may be cut."""
    random = np.random.default_rng(22)
    shape, dtype = [3, 7, 5], onnx.helper.tensor_dtype_to_np_dtype(kind)
    blocks = [-(-n // size) if i == axis % 3 else n for i, n in enumerate(shape)]
    constants = [
        onnx.numpy_helper.from_array(random.choice([0.5, 0.3, 1], blocks).astype("float32"), "s"),
        onnx.numpy_helper.from_array(random.integers(0, 9, blocks).astype(dtype), "z"),
    ]
    how = {"axis": axis, "block_size": size}
    nodes = [
        onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["q"], **how),
        onnx.helper.make_node("DequantizeLinear", ["q", "s", "z"], ["y"], **how),
    ]
    ports = [port("x", shape)], [port("q", shape, kind), port("y", shape)]
    path = model_of(nodes, *ports, tmp_path, initializers=constants, opset=21)
    x = (random.integers(-40, 40, shape) / 4).astype("float32")
    for y, z in zip(results_of(path, x), runtime_of(path)(None, {"x": x}), strict=True):
        np.testing.assert_array_equal(y, z)


def test_quantised_values_match_onnx_runtime(tmp_path):
    """Halves go to the even step, and x is divided by the scale."""
    x = (np.arange(-600, 600) / 4).astype("float32")
    for scale in [0.5, 0.3, 0.1]:
        constant = onnx.numpy_helper.from_array(np.float32(scale), "s")
        zero = onnx.numpy_helper.from_array(np.int8(3), "z")
        node = onnx.helper.make_node("QuantizeLinear", ["x", "s", "z"], ["y"])
        ports = [port("x", [1200])], [port("y", [1200], KINDS.INT8)]
        path = model_of([node], *ports, tmp_path, initializers=[constant, zero])
        np.testing.assert_array_equal(results_of(path, x)[0], runtime_of(path)(None, {"x": x})[0])


@pytest.mark.parametrize("is_training", [False, True])
def test_dropout_in_training(is_training, tmp_path):
    node = onnx.helper.make_node("Dropout", ["x", "r", "t"], ["y", "m"], seed=5)
    ports = [port("x", [300, 7]), port("r", []), port("t", [], KINDS.BOOL)]
    outputs = [port("y", [300, 7]), port("m", [300, 7], KINDS.BOOL)]
    path = model_of([node], ports, outputs, tmp_path)
    x = np.random.default_rng(23).normal(size=(300, 7)).astype("float32")
    y, mask = results_of(path, x, np.float32(0.3), np.array(is_training))
    if not is_training:
        assert mask.all() and (y == x).all()
        return
    assert abs(mask.mean() - 0.7) < 0.04
    np.testing.assert_allclose(y, np.where(mask, x / 0.7, 0), rtol=1e-6)
    y, mask = results_of(path, x, np.float32(0), np.array(True))
    assert mask.all() and (y == x).all()


@pytest.mark.parametrize("mode", ["TF", "IDF", "TFIDF"])
@pytest.mark.parametrize("shape", [(9,), (3, 8), (2, 1)])
def test_counts_of_sequences(mode, shape, tmp_path):
    """A sequence has its weight and its column, whose order is another one."""
    node = onnx.helper.make_node(
        *("TfIdfVectorizer", ["x"], ["y"]),
        **{"mode": mode, "min_gram_length": 1, "max_gram_length": 3, "max_skip_count": 2},
        **{"ngram_counts": [0, 2, 6], "ngram_indexes": [4, 0, 1, 2, 3]},
        pool_int64s=[1, 2, 1, 1, 2, 0, 0, 1, 2],
        weights=[0.5, 2.0, 3.0, 0.25, 7.0],
    )
    path = model_of([node], [port("x", shape, KINDS.INT64)], [port("y", None)], tmp_path)
    x = np.random.default_rng(24).integers(0, 3, shape)
    np.testing.assert_allclose(
        results_of(path, x)[0], runtime_of(path)(None, {"x": x})[0], rtol=1e-6
    )


@pytest.mark.parametrize("rule", ["linear", "gated", "delta", "gated_delta"])
@pytest.mark.parametrize("heads, shared", [(1, 1), (2, 3)])
def test_attention_with_a_memory(rule, heads, shared, tmp_path):
    """Two halves of a sequence one after the other give what the whole gives."""
    random = np.random.default_rng(25)
    batch, steps, keys, values = 2, 6, 3, 4
    widths = {"q": heads * shared * keys, "k": heads * keys, "v": heads * values}
    names = ["q", "k", "v", "past", "decay" * ("gated" in rule), "beta" * ("delta" in rule)]
    widths |= {"decay": heads * keys, "beta": heads}
    given = {n: random.uniform(-1, 1, (batch, steps, widths[n])) for n in names if n in widths}
    given = {n: (a if n != "decay" else -abs(a)).astype("float32") for n, a in given.items()}
    past = [batch, heads, keys, values]
    node = onnx.helper.make_node(
        *("LinearAttention", names, ["y", "present"]),
        **{"update_rule": rule, "q_num_heads": heads * shared, "kv_num_heads": heads},
    )
    ports = [port(n, [batch, "steps", a.shape[2]]) for n, a in given.items()] + [port("past", past)]
    path = model_of([node], ports, [port("y", None), port("present", None)], tmp_path, opset=27)
    model = load(path)

    def run(part, memory):
        arrays = {n: a[:, part] for n, a in given.items()} | {"past": memory}
        return [y.numpy() for y in model(**arrays)]

    start = random.normal(size=past).astype("float32")
    y, present = run(slice(0, 6), start)
    first, between = run(slice(0, 4), start)
    second, last = run(slice(4, 6), between)
    np.testing.assert_allclose(np.concatenate([first, second], 1), y, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(last, present, rtol=1e-4, atol=1e-5)
    reference = ReferenceEvaluator(str(path)).run(None, given | {"past": start})
    np.testing.assert_allclose(y, reference[0], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(present, reference[1], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("width", [1, 2, 4])
def test_causal_convolution_continues_from_its_state(width, tmp_path):
    random = np.random.default_rng(26)
    node = onnx.helper.make_node(
        "CausalConvWithState", ["x", "w", "b", "past"], ["y", "present"], activation="silu"
    )
    ports = [port("x", [2, 3, "n"]), port("past", [2, 3, width - 1])]
    weights = [random.normal(size=s).astype("float32") for s in [(3, 1, width), (3,)]]
    constants = [onnx.numpy_helper.from_array(a, n) for a, n in zip(weights, "wb", strict=True)]
    outputs = [port("y", None), port("present", None)]
    path = model_of([node], ports, outputs, tmp_path, initializers=constants, opset=27)
    model = load(path)
    x = random.normal(size=(2, 3, 9)).astype("float32")
    start = random.normal(size=(2, 3, width - 1)).astype("float32")
    whole = model(x=x, past=start)[0].numpy()
    first, between = model(x=x[..., :2], past=start)
    second = model(x=x[..., 2:], past=between.numpy())[0]
    np.testing.assert_allclose(np.concatenate([first.numpy(), second.numpy()], 2), whole, atol=1e-6)
    reference = ReferenceEvaluator(str(path)).run(None, {"x": x, "past": start})
    np.testing.assert_allclose(whole, reference[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["reverse", "bidirectional"])
def test_sequences_of_own_lengths_are_read_backwards(kind, direction, tmp_path):
    random = np.random.default_rng(27)
    gates, ways = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 1 + (direction == "bidirectional")
    shapes = {"w": (ways, gates * 3, 2), "r": (ways, gates * 3, 3), "b": (ways, gates * 6)}
    constants = [
        onnx.numpy_helper.from_array(random.normal(size=s).astype("float32"), n)
        for n, s in shapes.items()
    ]
    names = ["y", "h"] + ["c"] * (kind == "LSTM")
    node = onnx.helper.make_node(
        kind, ["x", "w", "r", "b", "n"], names, hidden_size=3, direction=direction
    )
    ports = [port("x", [5, 4, 2]), port("n", [4], KINDS.INT32)]
    path = model_of([node], ports, [port(n, None) for n in names], tmp_path, initializers=constants)
    given = {
        "x": random.normal(size=(5, 4, 2)).astype("float32"),
        "n": np.array([5, 1, 3, 4], "int32"),
    }
    for y, z in zip(results_of(path, *given.values()), runtime_of(path)(None, given), strict=True):
        np.testing.assert_allclose(y, z, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("shapes", [[(2, 3), (3, 4)], [(5, 1, 2, 3), (4, 3, 1)], [(3,), (2, 3, 4)]])
@pytest.mark.parametrize("dtype", ["int32", "uint64", "int64"])
def test_products_of_integers(shapes, dtype, tmp_path):
    random = np.random.default_rng(28)
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = onnx.helper.make_node("MatMul", ["a", "b"], ["y"])
    ports = [port(n, s, kind) for n, s in zip("ab", shapes, strict=True)]
    path = model_of([node], ports, [port("y", None, kind)], tmp_path)
    a, b = [random.integers(0, 1 << 20, s).astype(dtype) for s in shapes]
    np.testing.assert_array_equal(results_of(path, a, b)[0], a @ b)


def test_integers_under_real_numbers(tmp_path):
    """Bounds, logarithms: what is left of the result towards zero."""
    x = np.array([[-4, -1, 0], [1, 2, 5]], "int64")
    for node in [
        onnx.helper.make_node("Shrink", ["x"], ["y"], bias=0.7, lambd=1.1),
        onnx.helper.make_node("ReduceLogSumExp", ["x"], ["y"], axes=[1]),
        onnx.helper.make_node("ReduceLogSum", ["x"], ["y"], axes=[0]),
    ]:
        path = model_of(
            [node], [port("x", [2, 3], KINDS.INT64)], [port("y", None, KINDS.INT64)], tmp_path
        )
        values = x if node.op_type != "ReduceLogSum" else x + 5
        expected = runtime_of(path)(None, {"x": values})[0]
        np.testing.assert_array_equal(results_of(path, values)[0], expected)


def test_run_time_bounds_are_numbers(tmp_path):
    """Bounds of slices, also for tensors whose shape is known only at run time."""
    nodes = [
        onnx.helper.make_node("Pad", ["x", "p"], ["a"]),
        onnx.helper.make_node("Shape", ["a"], ["s"]),
        onnx.helper.make_node("Sub", ["s", "one"], ["t"]),
        onnx.helper.make_node("Slice", ["a", "b", "t"], ["y"]),
        onnx.helper.make_node("Slice", ["x", "b", "e"], ["z"]),
    ]
    one = onnx.numpy_helper.from_array(np.array([1], "int64"), "one")
    ports = [port("x", [2, 3])] + [
        port(n, [k], KINDS.INT64) for n, k in [("p", 4), ("b", 2), ("e", 2)]
    ]
    path = model_of(nodes, ports, [port("y", None), port("z", None)], tmp_path, initializers=[one])
    x = np.arange(6, dtype="float32").reshape(2, 3)
    pads, begin, end = np.array([1, 0, 2, 1]), np.array([1, 0]), np.array([2, -(2**63)])
    y, z = results_of(path, x, pads, begin, end)
    np.testing.assert_array_equal(y, np.pad(x, [(1, 2), (0, 1)])[1:-1, :-1])
    np.testing.assert_array_equal(z, x[1:2, :0])


@pytest.mark.parametrize("name", ["MaxPool", "AveragePool", "LpPool"])
def test_pools_along_four_axes(name, tmp_path):
    """ONNX Runtime has none: a fourth axis that the window leaves alone is one of more images."""
    x = np.random.default_rng(3).normal(size=(2, 3, 4, 5, 4, 3)).astype(np.float32)
    sizes = {"kernel_shape": [2, 3, 2, 1], "strides": [1, 2, 2, 1]}
    node = onnx.helper.make_node(name, ["x"], ["y"], **sizes)
    path = model_of([node], [port("x", x.shape)], [port("y", None)], tmp_path)
    y = results_of(path, x)[0]
    flat = np.moveaxis(x, -1, 1).reshape(2, 9, 4, 5, 4)
    sizes = {key: value[:3] for key, value in sizes.items()}
    node = onnx.helper.make_node(name, ["x"], ["y"], **sizes)
    path = model_of([node], [port("x", flat.shape)], [port("y", None)], tmp_path)
    expected = runtime_of(path)(None, {"x": flat})[0]
    expected = np.moveaxis(expected.reshape(2, 3, 3, *expected.shape[2:]), 1, -1)
    np.testing.assert_allclose(y, expected, rtol=1e-5, atol=1e-6)


def test_tensorflow_operators_without_onnx_form(tmp_path):
    """tf2onnx writes Erfc, which no runtime of ONNX knows."""
    x = np.linspace(-3, 3, 50, dtype=np.float32)
    node = onnx.helper.make_node("Erfc", ["x"], ["y"])
    path = model_of([node], [port("x", [50])], [port("y", [50])], tmp_path)
    expected = np.array([math.erfc(v) for v in x])
    np.testing.assert_allclose(results_of(path, x)[0], expected, atol=1e-6)


def test_single_channel_uses_a_whole_block(tmp_path):
    """Behind convolutions in blocks: what is computed of it is computed of the block."""
    random = np.random.default_rng(23)
    weights = {
        "w": 0.1 * random.normal(size=(16, 16, 3, 3)),
        "one": random.normal(size=(1, 16, 1, 1)),
    }
    constants = [onnx.numpy_helper.from_array(v.astype("f"), k) for k, v in weights.items()]
    node = onnx.helper.make_node
    nodes = [
        node("Conv", ["x", "w"], ["a"], pads=[1, 1, 1, 1]),
        node("Relu", ["a"], ["b"]),
        node("Conv", ["b", "one"], ["c"]),
        node("Sigmoid", ["c"], ["d"]),
        node("Neg", ["d"], ["e"]),
        node("Exp", ["e"], ["y"]),
    ]
    ports = [port("x", ["b", 16, 32, 32])], [port("y", None)]
    path = model_of(nodes, *ports, tmp_path, initializers=constants)
    for batch in (1, 2):
        x = random.normal(size=(batch, 16, 32, 32)).astype("f")
        expected = runtime_of(path)(None, {"x": x})[0]
        np.testing.assert_allclose(results_of(path, x)[0], expected, atol=1e-5)


def resized(tmp_path, dtype, wanted, **attributes):
    """Ours, ONNX Runtime's, and the exact numbers."""
    random = np.random.default_rng(31)
    x = random.integers(*((0, 200) if dtype == np.uint8 else (-100, 100)), (2, 3, 9, 7)).astype(
        dtype
    )
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    node = onnx.helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], **attributes)
    sizes = onnx.numpy_helper.from_array(np.array([2, 3, *wanted]), "sizes")
    ports = [port("x", ["batch", 3, 9, 7], kind)], [port("y", ["batch", 3, *wanted], kind)]
    path = model_of([node], *ports, tmp_path, initializers=[sizes], opset=18)
    ours = results_of(path, x)[0]
    assert ours.dtype == dtype
    theirs = runtime_of(path)(None, {"x": x})[0]
    real = [port("x", x.shape)], [port("y", [2, 3, *wanted])]
    exact = model_of([node], *real, tmp_path, initializers=[sizes], opset=18)
    return ours, theirs, results_of(exact, x.astype("float32"))[0]


@pytest.mark.parametrize("dtype", [np.uint8, np.int8, np.int32])
@pytest.mark.parametrize("wanted", [(13, 10), (5, 4), (13, 3)])
@pytest.mark.parametrize("places", ["half_pixel", "align_corners"])
def test_images_of_integers_in_another_size(dtype, wanted, places, tmp_path):
    attributes = {"mode": "linear", "coordinate_transformation_mode": places}
    ours, theirs, exact = resized(tmp_path, dtype, wanted, **attributes)
    whole = abs(exact - np.rint(exact)) < 1e-4  # which may be cut to the number below
    np.testing.assert_array_equal(ours[~whole], theirs[~whole])
    np.testing.assert_array_equal(ours[~whole], np.trunc(exact)[~whole])
    assert np.all(abs(ours.astype(int) - theirs)[whole] <= 1)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
@pytest.mark.parametrize("wanted", [(5, 4), (13, 3)])
def test_smoothed_images_of_bytes(mode, wanted, tmp_path):
    """Rounded along each axis, from the last one on."""
    ours, theirs, exact = resized(tmp_path, np.uint8, wanted, mode=mode, antialias=1)
    assert np.mean(ours != theirs) < 0.02 and np.all(abs(ours.astype(int) - theirs) <= 1)
    assert np.all(abs(ours - np.clip(exact, 0, 255)) <= 1.5)
