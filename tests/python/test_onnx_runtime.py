# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX Runtime's own (com.microsoft), beside ONNX Runtime; steps of optimizers."""

import importlib

import numpy as np
import pytest

onnx = pytest.importorskip("onnx")
runtime = pytest.importorskip("onnxruntime")
load = importlib.import_module("megengine.onnx.reading").load

MICROSOFT, TRAINING = "com.microsoft", "ai.onnx.preview.training"


def real(*shape, seed=5):
    return np.random.default_rng(seed + len(shape)).normal(size=shape).astype(np.float32)


def steps(*shape, seed=5):
    return np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)


def small(*shape):
    """Scales of steps."""
    return (0.02 * np.abs(real(*shape)) + 0.01).astype(np.float32)


def scale(value):
    return np.array(value, np.float32)


def zero(value):
    return np.array(value, np.uint8)


def model_of(path, name, inputs, outputs, domain=MICROSOFT, results=None, **attributes):
    """A model of one node; its inputs are arrays, and None for those that are left out."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    made = [f"y{i}" for i in range(outputs)]
    node = onnx.helper.make_node(name, names, made, domain=domain, **attributes)
    kind = onnx.helper.np_dtype_to_tensor_dtype
    port = onnx.helper.make_tensor_value_info
    given = [port(n, kind(x.dtype), x.shape) for n, x in zip(names, inputs, strict=True) if n]
    dtype = results or next(x for x in inputs if x is not None).dtype
    floats = onnx.TensorProto.FLOAT if dtype != np.uint8 else onnx.TensorProto.UINT8
    results = [port(n, floats, None) for n in made]
    sets = [onnx.helper.make_opsetid("", 17)]
    if domain:
        sets.append(onnx.helper.make_opsetid(domain, 1))
    graph = onnx.helper.make_graph([node], "g", given, results)
    onnx.save(onnx.helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    return {n: x for n, x in zip(names, inputs, strict=True) if n}


def ours(path, feed):
    outputs = load(path)(*feed.values())
    return [y.numpy() for y in (outputs if isinstance(outputs, list) else [outputs])]


def assert_same(path, feed, at_most=0):
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected, actual = session.run(None, feed), ours(path, feed)
    for y, e in zip(actual, expected, strict=True):
        assert y.shape == e.shape and y.dtype == e.dtype
        if e.dtype == np.uint8:
            assert np.abs(y.astype(int) - e).max() <= at_most
        else:
            np.testing.assert_allclose(y, e, rtol=1e-4, atol=1e-5)


X = real(2, 5, 12)
GROUP_OF_COLUMN = (np.arange(80, dtype=np.int32) * 7) % 3
LAST = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)

CASES = {
    "bias_gelu": ("BiasGelu", [X, real(12)], 1, {}),
    "fast_gelu": ("FastGelu", [X, real(12)], 1, {}),
    "fast_gelu_alone": ("FastGelu", [X], 1, {}),
    "gemm_leaky": (
        "FusedGemm",
        [real(3, 4), real(4, 5), real(5)],
        1,
        {"activation": "LeakyRelu", "activation_alpha": 0.2},
    ),
    "conv_hard_sigmoid": (
        "FusedConv",
        [real(1, 3, 5, 5), real(4, 3, 1, 1), real(4)],
        1,
        {"activation": "HardSigmoid", "activation_params": [1 / 6, 0.5]},
    ),
    "batch_behind": (
        "FusedMatMul",
        [real(5, 2, 4), real(3, 2, 4, seed=6)],
        1,
        {"transBatchA": 1, "transBatchB": 1, "transB": 1},
    ),
    "matmul_4_bits": (
        "MatMulNBits",
        [real(2, 5, 64), steps(7, 2, 16), small(14)],
        1,
        {"K": 64, "N": 7, "bits": 4, "block_size": 32},
    ),
    "matmul_4_bits_zeros": (
        "MatMulNBits",
        [real(3, 80), steps(7, 3, 16), small(21), steps(14), None, real(7)],
        1,
        {"K": 80, "N": 7, "bits": 4, "block_size": 32, "accuracy_level": 1},
    ),
    "matmul_8_bits": (
        "MatMulNBits",
        [real(3, 64), steps(7, 4, 16), small(28), steps(28)],
        1,
        {"K": 64, "N": 7, "bits": 8, "block_size": 16},
    ),
    "matmul_4_bits_real_zeros": (
        "MatMulNBits",
        [real(3, 80), steps(7, 3, 16), small(21), real(21) + 8],
        1,
        {"K": 80, "N": 7, "bits": 4, "block_size": 32},
    ),
    "matmul_4_bits_reordered": (
        "MatMulNBits",
        [real(3, 80), steps(7, 3, 16), small(21), None, GROUP_OF_COLUMN, real(7)],
        1,
        {"K": 80, "N": 7, "bits": 4, "block_size": 32},
    ),
    "matmul_4_bits_reordered_with_padding": (
        "MatMulNBits",
        [real(3, 80), steps(7, 3, 16), small(21), None, np.pad(GROUP_OF_COLUMN, (0, 16))],
        1,
        {"K": 80, "N": 7, "bits": 4, "block_size": 32},
    ),
    "skip_rms": (
        "SkipSimplifiedLayerNormalization",
        [X, real(2, 5, 12, seed=8), real(12)],
        1,
        {"epsilon": 1e-5},
    ),
    "attention": ("Attention", [X, real(12, 36), real(36)], 1, {"num_heads": 3}),
    "attention_mask": (
        "Attention",
        [X, real(12, 36), real(36), LAST],
        1,
        {"num_heads": 3},
    ),
    "attention_lengths": (
        "Attention",
        [X, real(12, 36), real(36), np.array([3, 5], np.int32)],
        1,
        {"num_heads": 3},
    ),
    "attention_past": (
        "Attention",
        [X, real(12, 36), real(36), None, real(2, 2, 3, 4, 4)],
        2,
        {"num_heads": 3, "unidirectional": 1},
    ),
    "heads": (
        "MultiHeadAttention",
        [X, real(2, 7, 12, seed=9), real(2, 7, 12, seed=10), real(36)],
        1,
        {"num_heads": 4, "scale": 0.3},
    ),
    "heads_mask": (
        "MultiHeadAttention",
        [X, real(2, 5, 12, seed=9), real(2, 5, 12, seed=10), None, LAST],
        1,
        {"num_heads": 2},
    ),
    "heads_past": (
        "MultiHeadAttention",
        [
            X,
            real(2, 5, 12, seed=9),
            real(2, 5, 12, seed=10),
            None,
            None,
            real(1, 2, 5, 8),
            real(2, 2, 3, 6),
            real(2, 2, 3, 6, seed=11),
        ],
        3,
        {"num_heads": 2},
    ),
    "steps_mul": (
        "QLinearMul",
        [steps(3, 4), scale(0.1), zero(3), steps(4), scale(0.2), zero(100), scale(5), zero(128)],
        1,
        {},
    ),
    "steps_sigmoid": (
        "QLinearSigmoid",
        [steps(3, 4), scale(0.05), zero(128), scale(1 / 256), zero(0)],
        1,
        {},
    ),
    "steps_leaky": (
        "QLinearLeakyRelu",
        [steps(3, 4), scale(0.05), zero(128), scale(0.04), zero(60)],
        1,
        {"alpha": 0.3},
    ),
    "steps_average": (
        "QLinearAveragePool",
        [steps(1, 3, 7, 6), scale(0.05), zero(128), scale(0.04), zero(110)],
        1,
        {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 0, 1, 1], "count_include_pad": 1},
    ),
    "steps_softmax": (
        "QLinearSoftmax",
        [steps(2, 3, 5), scale(0.02), zero(128), scale(1 / 256), zero(0)],
        1,
        {"axis": 2, "opset": 13},
    ),
    "steps_softmax_of_rows": (
        "QLinearSoftmax",
        [steps(2, 3, 5), scale(0.02), zero(128), scale(1 / 256), zero(0)],
        1,
        {"axis": 1, "opset": 12},
    ),
    "product_of_integers": (
        "MatMulIntegerToFloat",
        [steps(2, 3, 6), steps(6, 4, seed=7), scale(0.1), small(4), zero(99), None, real(4)],
        1,
        {"results": np.float32},
    ),
    "product_with_integers": (
        "DynamicQuantizeMatMul",
        [real(2, 3, 6), steps(6, 4), small(4), np.full(4, 120, np.uint8), real(4)],
        1,
        {},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_operators_of_the_runtime(case, tmp_path):
    name, inputs, outputs, attributes = CASES[case]
    path = tmp_path / "net.onnx"
    assert_same(path, model_of(path, name, inputs, outputs, **attributes), at_most=1)


def test_steps_side_by_side(tmp_path):
    path = tmp_path / "net.onnx"
    inputs = [
        scale(0.1),
        zero(7),
        steps(2, 3),
        scale(0.2),
        zero(9),
        steps(2, 4),
        scale(0.1),
        zero(7),
    ]
    feed = model_of(path, "QLinearConcat", inputs, 1, axis=1)
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.UINT8
    onnx.save(model, path)
    assert_same(path, feed)


def test_a_choice_of_steps(tmp_path):
    path = tmp_path / "net.onnx"
    sides = [steps(4), scale(0.1), zero(3), steps(3, 4), scale(0.2), zero(9)]
    inputs = [real(3, 1) > 0, *sides, scale(0.15), zero(20)]
    assert_same(path, model_of(path, "QLinearWhere", inputs, 1, results=np.uint8), at_most=1)


def test_means_of_steps(tmp_path):
    x = steps(2, 3, 4)
    path = tmp_path / "net.onnx"
    inputs = [x, scale(0.1), zero(3), scale(0.05), zero(9)]
    model_of(path, "QLinearReduceMean", inputs, 1, axes=[1], keepdims=0)
    real_mean = (0.1 * (x.astype(np.float32) - 3)).mean(1)
    expected = np.clip(np.rint(real_mean / np.float32(0.05)) + 9, 0, 255)
    given = [i for i in inputs if i is not None]
    assert np.abs(load(path)(*given).numpy().astype(int) - expected).max() <= 1


@pytest.mark.parametrize("name, kept", [("QAttention", 1), ("DynamicQuantizeLSTM", 3)])
def test_layers_with_quantised_weights(name, kept, tmp_path):
    """They make steps of their operands too, we do not: as close as those are."""
    path = tmp_path / "net.onnx"
    if name == "QAttention":
        weights = steps(12, 36, seed=8)
        inputs = [steps(2, 5, 12), weights, real(36), scale(0.01), scale(0.004), None]
        inputs += [zero(128), zero(120)]
        feed = model_of(path, name, inputs, 1, results=np.float32, num_heads=3)
    else:
        weights = [steps(1, 4, 24, seed=8), steps(1, 6, 24, seed=9)]
        scales = [np.full(1, 0.006, np.float32), np.full(1, 120, np.uint8)]
        inputs = [real(5, 2, 4), *weights, real(1, 48), None, None, None, None, *scales, *scales]
        feed = model_of(path, name, inputs, 3, hidden_size=6)
        # The runtime wants weights that never change.
        model = onnx.load(path)
        for name in ("x1", "x2", "x8", "x9", "x10", "x11"):
            model.graph.initializer.append(onnx.numpy_helper.from_array(feed.pop(name), name))
            model.graph.input.remove(next(i for i in model.graph.input if i.name == name))
        onnx.save(model, path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    expected, actual = session.run(None, feed), ours(path, feed)
    assert len(actual) == kept
    for y, e in zip(actual, expected, strict=True):
        assert y.shape == e.shape and np.abs(y - e).max() <= 0.02 * np.abs(e).max()


@pytest.mark.parametrize("name", ["LayerNormalization", "SimplifiedLayerNormalization"])
def test_norms_that_the_runtime_puts_into_older_sets(name, tmp_path):
    path = tmp_path / "net.onnx"
    feed = model_of(path, name, [X, real(12)], 1, domain="", axis=-1, epsilon=1e-5)
    model = onnx.load(path)
    model.opset_import[0].version = 14
    onnx.save(model, path)
    assert_same(path, feed)


@pytest.mark.parametrize("with_mask", [False, True])
def test_words_places_and_segments(with_mask, tmp_path):
    random = np.random.default_rng(2)
    words = random.integers(0, 9, (2, 5)).astype(np.int32)
    tables = [real(9, 12), real(8, 12, seed=6), real(2, 12, seed=7)]
    inputs = [words, words % 2, *tables, real(12), real(12, seed=8)]
    path = tmp_path / "net.onnx"
    feed = model_of(path, "EmbedLayerNormalization", inputs + [LAST] * with_mask, 2, epsilon=1e-6)
    model = onnx.load(path)
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    model.graph.output[1].type.tensor_type.elem_type = onnx.TensorProto.INT32
    onnx.save(model, path)
    assert_same(path, feed)


def test_words_places_and_segments_in_steps(tmp_path):
    words = np.random.default_rng(2).integers(0, 9, (2, 5)).astype(np.int32)
    tables = [steps(*shape, seed=6) for shape in ((9, 12), (8, 12), (2, 12), (12,), (12,))]
    scales = [scale(0.01 * (k + 1)) for k in range(5)]
    zeros = [zero(100 + k) for k in range(5)]
    path = tmp_path / "net.onnx"
    inputs = [words, words % 2, *tables, None, *scales, *zeros]
    feed = model_of(path, "QEmbedLayerNormalization", inputs, 1, results=np.float32, epsilon=1e-6)
    model = onnx.load(path)
    # The runtime wants a mask's index beside the result.
    model.graph.node[0].output.append("y1")
    onnx.save(model, path)
    assert_same(path, feed)


OPTIMIZERS = {
    "adagrad": ("Adagrad", 1, {"decay_factor": 0.1, "norm_coefficient": 0.01}),
    "adam": ("Adam", 2, {"norm_coefficient": 0.01, "norm_coefficient_post": 0.1}),
    "momentum": ("Momentum", 1, {"alpha": 0.9, "beta": 0.7, "mode": "standard"}),
    "nesterov": ("Momentum", 1, {"alpha": 0.9, "beta": 0.7, "mode": "nesterov"}),
}


@pytest.mark.parametrize("count", [0, 3])
@pytest.mark.parametrize("case", OPTIMIZERS)
def test_steps_of_optimizers(case, count, tmp_path):
    """By what ONNX itself computes, two weights at once."""
    name, kept, attributes = OPTIMIZERS[case]
    attributes = {"norm_coefficient": 0.02} | attributes
    state = [np.abs(real(*s, seed=20 + k)) for k in range(kept) for s in ((3, 2), (4,))]
    weights = [real(3, 2), real(4), real(3, 2, seed=12), real(4, seed=12)]
    inputs = [np.float32(0.1), np.array(count, np.int64), *weights, *state]
    path = tmp_path / "net.onnx"
    feed = model_of(path, name, inputs, 2 * (1 + kept), domain=TRAINING, **attributes)
    evaluator = importlib.import_module("onnx.reference").ReferenceEvaluator(str(path))
    for y, e in zip(ours(path, feed), evaluator.run(None, feed), strict=True):
        np.testing.assert_allclose(y, e, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [np.uint16, np.int16, np.uint8])
def test_sixteen_bit_quantisation_uses_the_runtime_domain(dtype, tmp_path):
    middle = int(np.iinfo(dtype).max) // 2 + 1
    x, zero_point = 9 * real(3, 8), np.array(middle if dtype != np.int16 else 7).astype(dtype)
    node, kind = onnx.helper.make_node, onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"], domain=MICROSOFT),
        node("DequantizeLinear", ["q", "s", "z"], ["y"], domain=MICROSOFT),
    ]
    port = onnx.helper.make_tensor_value_info
    floats = onnx.TensorProto.FLOAT
    constants = [
        onnx.numpy_helper.from_array(np.float32(0.003), "s"),
        onnx.numpy_helper.from_array(zero_point, "z"),
    ]
    graph = onnx.helper.make_graph(
        nodes,
        "g",
        [port("x", floats, [3, 8])],
        [port("q", kind, None), port("y", floats, None)],
        constants,
    )
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid(MICROSOFT, 1)]
    path = tmp_path / "m.onnx"
    onnx.save(onnx.helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    session = runtime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    for y, e in zip(ours(path, {"x": x}), session.run(None, {"x": x}), strict=True):
        assert y.dtype == e.dtype
        np.testing.assert_array_equal(y, e)


WIDTH, SHARED, QUERIES = 32, 2, 4
GROUPED = {
    # lengths of the sequences, words of this run, words that the memory of the past holds
    "first": ([5], 5, 0, {}),
    "first_of_two": ([5, 5], 5, 0, {}),
    "first_with_padding": ([5, 3], 5, 0, {}),
    "first_in_capacity": ([5], 5, 9, {}),
    "next": ([8], 1, 7, {}),
    "next_of_two": ([8, 6], 1, 7, {}),
    "next_in_capacity": ([8, 5], 1, 12, {}),
    "several": ([10], 3, 7, {}),
    "window": ([10], 1, 9, {"local_window_size": 3}),
    "first_in_a_window": ([6], 6, 0, {"local_window_size": 2}),
    "neighbours": ([4], 4, 0, {"rotary_interleaved": 1}),
    "not_turned": ([8], 1, 7, {"do_rotary": 0}),
    "scale": ([8], 1, 7, {"scale": 0.3}),
}


def grouped(
    path, lengths, words, capacity, *, packed=False, turned=WIDTH, sink=False, **attributes
):
    """A model whose batch, words and room are open, and inputs for it."""
    batch, total = len(lengths), max(lengths)
    feed = {"q": real(batch, words, QUERIES * WIDTH)}
    if packed:
        feed["q"] = real(batch, words, (QUERIES + 2 * SHARED) * WIDTH)
    else:
        feed["k"] = real(batch, words, SHARED * WIDTH, seed=6)
        feed["v"] = real(batch, words, SHARED * WIDTH, seed=7)
    feed["past_k"] = real(batch, SHARED, capacity, WIDTH)
    feed["past_v"] = real(batch, SHARED, capacity, WIDTH, seed=6)
    feed["ends"] = np.array(lengths, np.int32) - 1
    feed["total"] = np.array(total, np.int32)
    angles = np.arange(32)[:, None] * np.linspace(0.1, 1, turned // 2)
    weights = [
        onnx.numpy_helper.from_array(f(angles).astype(np.float32), n)
        for f, n in ((np.cos, "cos"), (np.sin, "sin"))
    ]
    attributes = {"do_rotary": 1, **attributes}
    tables = ["cos", "sin"] if attributes["do_rotary"] else []
    names = [n if n in feed else "" for n in ("q", "k", "v", "past_k", "past_v", "ends", "total")]
    if sink:
        tables += [""] * (4 - len(tables)) + ["sink"]
        weights.append(onnx.numpy_helper.from_array(real(QUERIES), "sink"))
    node = onnx.helper.make_node(
        "GroupQueryAttention",
        names + tables,
        ["y", "keys", "values"],
        domain=MICROSOFT,
        num_heads=QUERIES,
        kv_num_heads=SHARED,
        **attributes,
    )
    open_axes = {"q": 2, "k": 2, "v": 2, "ends": 1, "total": 0}
    port, kind = onnx.helper.make_tensor_value_info, onnx.helper.np_dtype_to_tensor_dtype

    def shape(name, array):
        extents = list(array.shape)
        extents[: open_axes.get(name, 1)] = ["batch", "words"][: open_axes.get(name, 1)]
        if name.startswith("past"):
            extents[2] = "room"
        return extents

    given = [port(n, kind(x.dtype), shape(n, x)) for n, x in feed.items()]
    made = [port(n, onnx.TensorProto.FLOAT, None) for n in ("y", "keys", "values")]
    sets = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid(MICROSOFT, 1)]
    graph = onnx.helper.make_graph([node], "g", given, made, weights if tables else [])
    onnx.save(onnx.helper.make_model(graph, opset_imports=sets, ir_version=8), path)
    return feed


def assert_grouped(path, feed, lengths, words):
    expected = runtime.InferenceSession(str(path)).run(None, feed)
    for name, y, e in zip("ykv", ours(path, feed), expected, strict=True):
        assert y.shape == e.shape and y.dtype == e.dtype
        for i, length in enumerate(lengths):
            # Results for the padding of a first run, and after the end of a sequence, are
            # undefined.
            part = (i, slice(words if words < max(lengths) else length))
            part = part if name == "y" else (i, slice(None), slice(length))
            np.testing.assert_allclose(y[part], e[part], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("case", GROUPED)
def test_attention_in_groups_with_a_past(case, tmp_path):
    lengths, words, capacity, attributes = GROUPED[case]
    path = tmp_path / "model.onnx"
    feed = grouped(path, lengths, words, capacity, **attributes)
    assert_grouped(path, feed, lengths, words)


@pytest.mark.parametrize("how", [{"packed": True}, {"turned": WIDTH // 2}])
def test_attention_in_groups_of_other_operands(how, tmp_path):
    path = tmp_path / "model.onnx"
    assert_grouped(path, grouped(path, [8], 2, 6, **how), [8], 2)


@pytest.mark.parametrize(
    "how",
    [{"softcap": 2.0}, {"smooth_softmax": 1}, {"sink": True}, {"sink": True, "softcap": 3.0}],
)
@pytest.mark.parametrize("lengths, words, free", [([8], 1, 7), ([5, 5], 5, 0)])
def test_attention_in_groups_with_other_scores(how, lengths, words, free, tmp_path):
    """Capped scores; a softmax whose sum has one more term."""
    path = tmp_path / "model.onnx"
    assert_grouped(path, grouped(path, lengths, words, free, **how), lengths, words)


@pytest.mark.parametrize("name", ["K", "N", "block_size"])
def test_products_of_sizes_beyond_all_weights(name, tmp_path):
    path, sizes = tmp_path / "model.onnx", {"K": 64, "N": 7, "block_size": 32}
    operands = [real(2, 5, 64), steps(7, 2, 16), small(14)]
    sizes[name] = (1 << 63) - 1
    model_of(path, "MatMulNBits", operands, 1, **sizes)
    with pytest.raises(RuntimeError, match=f"'{name}' is {sizes[name]}, expected a number of 32"):
        load(path)


@pytest.mark.parametrize("interleaved", [0, 1])
@pytest.mark.parametrize("from_first", [True, False])
@pytest.mark.parametrize("heads", [4, None])
def test_turning_by_places(heads, from_first, interleaved, tmp_path):
    x = real(2, 5, 32) if heads is None else real(2, heads, 5, 8)
    places = np.array([3]) if from_first else np.array([[0, 1, 2, 3, 4], [9, 8, 1, 2, 3]])
    angles = np.arange(16)[:, None] * np.linspace(0.1, 1, 4)
    tables = [f(angles).astype(np.float32) for f in (np.cos, np.sin)]
    path = tmp_path / "model.onnx"
    count = {} if heads else {"num_heads": 4, "rotary_embedding_dim": 8}
    inputs = [x, places, *tables]
    feed = model_of(path, "RotaryEmbedding", inputs, 1, interleaved=interleaved, **count)
    assert_same(path, feed)
