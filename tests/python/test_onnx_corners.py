# SPDX-License-Identifier: Apache-2.0
"""Operators of ONNX files at the ends of what they allow, and beyond."""

import io

import numpy as np
import pytest
from onnx_files import load, model_of, number, onnx, port, same_as_runtime

from megengine import _mge

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


@pytest.mark.parametrize("start, end", [(-9, BOTTOM), (-5, -9), (9, -3), (-9, -5)])
def test_slices_backwards_begin_at_the_first_at_least(start, end, tmp_path):
    numbers = [number("starts", [start]), number("ends", [end])]
    numbers += [number("axes", [0]), number("steps", [-1])]
    x = np.arange(5, dtype="float32")
    begin, past = np.clip(start + 5 * (start < 0), 0, 4), np.clip(end + 5 * (end < 0), -1, 4)
    expected = x[[i for i in range(begin, past, -1)]]
    path = one_node(tmp_path, "Slice", [("x", [5])], numbers)
    np.testing.assert_array_equal(load(path)(x).numpy(), expected)


@pytest.mark.parametrize("reverse", [0, 1])
def test_sums_up_to_the_element_before(reverse, tmp_path):
    """No element is taken off a sum again: it may have been a large one."""
    x = np.array([[1, 2**30, 3, np.inf], [4, 5, 6, 7]], "float32")
    how = {"exclusive": 1, "reverse": reverse}
    path = one_node(tmp_path, "CumSum", [("x", [2, "n"])], [number("axis", 1)], **how)
    turned = x[:, ::-1] if reverse else x
    sums = np.cumsum(np.pad(turned, ((0, 0), (1, 0)))[:, :-1], axis=1)
    expected = sums[:, ::-1] if reverse else sums
    np.testing.assert_array_equal(load(path)(x).numpy(), expected)
    assert load(path)(x[:, :0]).numpy().shape == (2, 0)


@pytest.mark.parametrize("given", [("low", "high"), ("low", ""), ("", "high"), ("low",), ()])
def test_function_inputs_may_be_omitted(given, tmp_path):
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
def test_functions_request_their_inputs(given, tmp_path):
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


LAYERS = {
    "clipped": {"clip": 0.4},
    "hard": {"activations": ["HardSigmoid", "Softsign", "Relu"]},
    "with numbers": {
        "activations": ["HardSigmoid", "LeakyRelu", "ThresholdedRelu"],
        "activation_alpha": [0.25, 0.05, 0.3],
        "activation_beta": [0.4],
    },
    "others": {
        "activations": ["Affine", "Elu", "ScaledTanh"],
        "activation_alpha": [0.5, 0.7, 1.2],
        "activation_beta": [0.1, 0.8],
    },
    "coupled": {"input_forget": 1},
}


@pytest.mark.parametrize("how", LAYERS)
@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
@pytest.mark.parametrize("direction", ["forward", "bidirectional"])
def test_functions_of_recurrent_layers(kind, how, direction, tmp_path):
    if how == "coupled" and kind != "LSTM":
        pytest.skip("only LSTM has a gate that forgets")
    random = np.random.default_rng(41)
    count = {"RNN": 1, "GRU": 2, "LSTM": 3}[kind]
    gates, ways = {"RNN": 1, "GRU": 3, "LSTM": 4}[kind], 1 + (direction == "bidirectional")
    attributes = dict(LAYERS[how])
    if "activations" in attributes:
        attributes["activations"] = attributes["activations"][:count] * ways
        for name in ("activation_alpha", "activation_beta"):
            if name in attributes:
                attributes[name] = attributes[name] * ways
    if kind != "LSTM" and how in ("with numbers", "others"):
        # As many numbers as the functions take.
        takes = {
            "HardSigmoid": (1, 1),
            "LeakyRelu": (1, 0),
            "Affine": (1, 1),
            "Elu": (1, 0),
        }
        names = attributes["activations"]
        attributes["activation_alpha"] = [0.3 + 0.1 * i for i in range(len(names))]
        attributes["activation_beta"] = [0.1] * sum(takes[name][1] for name in names)
    shapes = {"w": (ways, gates * 3, 2), "r": (ways, gates * 3, 3), "b": (ways, gates * 6)}
    weights = [number(n, 0.4 * random.normal(size=s), np.float32) for n, s in shapes.items()]
    names = ["y", "h"] + ["c"] * (kind == "LSTM")
    layer = node(
        kind, ["x", "w", "r", "b"], names, hidden_size=3, direction=direction, **attributes
    )
    ports = [port("x", [5, 4, 2])], [port(n, None) for n in names]
    path = model_of([layer], *ports, tmp_path, initializers=weights)
    same_as_runtime(path, random.normal(size=(5, 4, 2)).astype("float32"))


def test_a_state_that_its_weights_do_not_have(tmp_path):
    weights = [
        number("w", np.zeros((1, 6, 2)), np.float32),
        number("r", np.zeros((1, 6, 2)), np.float32),
    ]
    path = one_node(tmp_path, "GRU", [("x", [5, 4, 2])], weights, hidden_size=1 << 30)
    refused(path, "its hidden_size is 1073741824, its weights have shape")


@pytest.mark.parametrize("sizes", [[2, 2], [2, 4], [6, -1]])
def test_incomplete_parts(sizes, tmp_path):
    nodes = [node("Split", ["x", "sizes"], ["y", "z"], axis=1)]
    ports = [port("x", ["n", 5])], [port("y", None), port("z", None)]
    refused(model_of(nodes, *ports, tmp_path, initializers=[number("sizes", sizes)]), "part")


@pytest.mark.parametrize("first", [(0, 2), (7, 9), (-1, 2), (1, -2), (0, 0)])
@pytest.mark.parametrize("extent", [3, "n"])
def test_margins_that_wrap(first, extent, tmp_path):
    """More than once, where an image is shorter than they are."""
    pads = number("pads", [0, first[0], 0, first[1]])
    path = one_node(tmp_path, "Pad", [("x", [2, extent])], [pads], opset=19, mode="wrap")
    x = np.arange(6, dtype="float32").reshape(2, 3)
    left = x[:, max(0, -first[0]) : 3 + min(0, first[1])]
    expected = np.pad(left, ((0, 0), tuple(max(0, n) for n in first)), mode="wrap")
    np.testing.assert_array_equal(load(path)(x).numpy(), expected)


def test_rows_that_a_run_chooses_are_normalised(tmp_path):
    nodes = [
        node("Compress", ["x", "is_chosen"], ["rows"], axis=0),
        node("LayerNormalization", ["rows", "scale", "bias"], ["y"], axis=-1),
    ]
    weights = [
        number("scale", [1, 2, 3, 4], np.float32),
        number("bias", [0, 1, 0, 1], np.float32),
    ]
    ports = [port("x", ["n", 4]), port("is_chosen", ["n"], KINDS.BOOL)], [port("y", None)]
    path = model_of(nodes, *ports, tmp_path, initializers=weights)
    x = np.random.default_rng(42).normal(size=(5, 4)).astype("float32")
    same_as_runtime(path, x, np.array([True, False, True, True, False]))


@pytest.mark.parametrize(
    "opset, scale", [(10, 0.6), (10, 0.5), (10, 0.3), (10, 1.7), (10, 2), (9, 1.7), (9, 2)]
)
def test_the_nearest_elements_of_older_versions(opset, scale, tmp_path):
    scales = number("scales", [1, 1, scale, scale], np.float32)
    op = "Resize" if opset == 10 else "Upsample"
    path = one_node(tmp_path, op, [("x", [1, 2, 7, 4])], [scales], opset=opset, mode="nearest")
    same_as_runtime(path, np.arange(56, dtype="float32").reshape(1, 2, 7, 4))


@pytest.mark.parametrize("step", [BOTTOM, BOTTOM + 1, -(1 << 62), (1 << 63) - 1])
def test_steps_beyond_all_extents(step, tmp_path):
    bounds = [number("from", [2 if step < 0 else 0]), number("to", [BOTTOM if step < 0 else 9])]
    constants = [*bounds, number("axes", [0]), number("steps", [step])]
    path = one_node(tmp_path, "Slice", [("x", ["n"])], constants)
    x = np.arange(5, dtype="float32")
    np.testing.assert_array_equal(load(path)(x).numpy(), [2 if step < 0 else 0])


FAR = (1 << 63) - 1


@pytest.mark.parametrize(
    "op, shape, attributes, match",
    [
        ("MaxPool", [1, 1, 5], {"kernel_shape": [2], "pads": [FAR, FAR]}, "padding"),
        ("AveragePool", [1, 1, 5], {"kernel_shape": [2], "pads": [BOTTOM, 0]}, "padding"),
        ("Conv", [1, 1, 5], {"pads": [FAR, 1]}, "padding"),
        ("ConvTranspose", [1, 1, 5], {"pads": [-1, 0]}, "padding -1 and 0"),
        (
            "ConvTranspose",
            [1, 1, 5],
            {"output_padding": [FAR]},
            "with output_padding 9223372036854775807",
        ),
        ("ConvTranspose", [1, 1, 5], {"output_shape": [BOTTOM]}, "its output_shape holds"),
        (
            "ConvTranspose",
            [1, 1, 5, 5, 5],
            {"group": 1 << 30},
            "1073741824 groups do not divide 1 channel",
        ),
    ],
)
def test_windows_beyond_all_images(op, shape, attributes, match, tmp_path):
    if "Pool" in op:
        attributes = {"ceil_mode": 1, "strides": [2], **attributes}
    axes = len(shape) - 2
    weight = number("w", np.zeros((1, 8) + (2,) * axes if axes > 1 else (1, 1, 2)), np.float32)
    constants = [] if "Pool" in op else [weight]
    refused(one_node(tmp_path, op, [("x", shape)], constants, **attributes), match)


@pytest.mark.parametrize(
    "op, name, given",
    [
        ("Concat", "axis", BOTTOM),
        ("Concat", "axis", 1 << 32),
        ("Cast", "to", (1 << 32) + 1),
        ("Softmax", "axis", 1 << 31),
    ],
)
def test_counts_axes_and_codes_have_32_bits(op, name, given, tmp_path):
    path = one_node(tmp_path, op, [("x", [3, 32])], **{name: given})
    refused(path, f"its attribute '{name}' is {given}, expected a number of 32 bits")


def test_a_constant_may_have_any_number_of_64_bits(tmp_path):
    nodes = [node("Constant", [], ["c"], value_int=FAR), node("Min", ["x", "c"], ["y"])]
    ports = [port("x", [2], KINDS.INT64)], [port("y", [2], KINDS.INT64)]
    path = model_of(nodes, *ports, tmp_path)
    same_as_runtime(path, np.array([FAR - 1, 3]))


def test_a_negative_number_of_copies(tmp_path):
    path = one_node(tmp_path, "Tile", [("x", ["n", 2])], [number("copies", [1, -1])])
    refused(path, "hold -1, expected at least 0")


def test_steps_of_nothing_but_zeros(tmp_path):
    nodes = [node("DynamicQuantizeLinear", ["x"], ["y", "scale", "zero"])]
    outputs = [port("y", [4], KINDS.UINT8), port("scale", []), port("zero", [], KINDS.UINT8)]
    path = model_of(nodes, [port("x", [4])], outputs, tmp_path)
    same_as_runtime(path, np.zeros(4, np.float32))
    same_as_runtime(path, np.array([-1, 0, 2, 0.5], np.float32))


@pytest.mark.parametrize("n", [1, 2, 3])
def test_open_extent_with_a_single_element(n, tmp_path):
    """In an Einstein sum one that is always there is repeated."""
    x = np.arange(3 * n, dtype="float32").reshape(n, 3)
    row = number("row", [[1, 2, 3]], np.float32)
    path = one_node(tmp_path, "Einsum", [("x", ["n", 3])], [row], equation="ij,ij->ij")
    np.testing.assert_array_equal(load(path)(x).numpy(), x * [1, 2, 3])


@pytest.mark.parametrize(
    "how", ["align_corners", "half_pixel", "asymmetric", "half_pixel_symmetric"]
)
def test_scales_that_differ_from_extent_ratios(how, tmp_path):
    """PyTorch writes such for interpolate(scale_factor=1.3)."""
    scales = [number("s", [1, 1, 1.3], np.float32)]
    nodes = [
        node("Resize", ["x", "", "s"], ["y"], mode="linear", coordinate_transformation_mode=how)
    ]
    path = model_of(nodes, [port("x", [1, 1, 6])], [port("y", None)], tmp_path, initializers=scales)
    same_as_runtime(path, np.arange(6, dtype=np.float32).reshape(1, 1, 6))


@pytest.mark.parametrize("nearest", ["round_prefer_ceil", "round_prefer_floor", "floor", "ceil"])
@pytest.mark.parametrize("by", ["sizes", "scales"])
@pytest.mark.parametrize("have, want", [(20, 6), (6, 20), (10, 4), (14, 4)])
def test_halves_between_elements_are_exact(nearest, by, have, want, tmp_path):
    constant = {"sizes": number("p", [1, 1, want])}
    constant["scales"] = number("p", [1, 1, np.float32(want) / np.float32(have)], np.float32)
    inputs = ["x", "", "p"] if by == "scales" else ["x", "", "", "p"]
    nodes = [node("Resize", inputs, ["y"], mode="nearest", nearest_mode=nearest)]
    ends = [port("y", None)]
    path = model_of(nodes, [port("x", [1, 1, "n"])], ends, tmp_path, initializers=[constant[by]])
    same_as_runtime(path, np.arange(have, dtype=np.float32).reshape(1, 1, have))


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin"])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.float32])
def test_extremes_of_nothing(op, dtype, tmp_path):
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [node(op, ["x", "a"], ["y"])]
    path = model_of(
        nodes,
        [port("x", [2, 0], kind)],
        [port("y", [2, 1], kind)],
        tmp_path,
        initializers=[number("a", [1])],
        opset=20,
    )
    if dtype == np.float32:
        least, most = -np.inf, np.inf
    else:
        least, most = np.iinfo(dtype).min, np.iinfo(dtype).max
    expected = np.full((2, 1), least if op == "ReduceMax" else most, dtype)
    np.testing.assert_array_equal(load(path)(np.zeros((2, 0), dtype)).numpy(), expected)


@pytest.mark.parametrize("axes", [[0], [1], [0, 1], [0, 2], []])
@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceLogSumExp"])
@pytest.mark.parametrize("keeps", [0, 1])
def test_extremes_of_axes_that_are_empty_in_a_run(op, axes, keeps, tmp_path):
    nodes = [node(op, ["x", "a"], ["y"], keepdims=keeps)]
    given = [number("a", axes)]
    shape = ["n", "m", 3]
    path = model_of(
        nodes, [port("x", shape)], [port("y", None)], tmp_path, initializers=given, opset=18
    )
    random = np.random.default_rng(1)
    for extents in ((0, 2, 3), (2, 0, 3), (0, 0, 3), (4, 5, 3)):
        same_as_runtime(path, random.normal(size=extents).astype(np.float32))


@pytest.mark.parametrize("axis", [0, 1])
def test_the_largest_of_rows_that_are_empty_in_a_run(axis, tmp_path):
    path = one_node(tmp_path, "Hardmax", [("x", ["n", 3])], axis=axis)
    for rows in (0, 1, 5):
        same_as_runtime(path, np.arange(3 * rows, dtype=np.float32).reshape(rows, 3) % 4)


def test_steps_of_a_batch_that_is_empty_in_a_run(tmp_path):
    nodes = [node("DynamicQuantizeLinear", ["x"], ["y", "s", "z"])]
    outputs = [port("y", None, KINDS.UINT8), port("s", None), port("z", None, KINDS.UINT8)]
    path = model_of(nodes, [port("x", ["n", 3])], outputs, tmp_path)
    for rows in (0, 1, 5):
        same_as_runtime(path, np.arange(3 * rows, dtype=np.float32).reshape(rows, 3) - 2)


def test_steps_of_a_tensor_of_unknown_rank(tmp_path):
    nodes = [
        node("ReduceMax", ["x", "axes"], ["largest"], keepdims=0),
        node("DynamicQuantizeLinear", ["largest"], ["y", "s", "z"]),
    ]
    inputs = [port("x", ["n", 3, 4]), port("axes", [1], KINDS.INT64)]
    path = model_of(nodes, inputs, [port("y", None, KINDS.UINT8)], tmp_path, opset=18)
    x, axes = np.arange(24, dtype=np.float32).reshape(2, 3, 4) - 5, np.array([1])
    same_as_runtime(path, x, axes)


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
@pytest.mark.parametrize("factors", [{}, {"alpha": 2.0, "beta": -3.0, "transA": 1, "transB": 1}])
def test_products_of_integers(dtype, factors, tmp_path):
    kind = onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    nodes = [node("Gemm", ["a", "b", "c"], ["y"], **factors)]
    ports = [port("a", [2, 2], kind), port("b", [2, 2], kind), port("c", [2], kind)]
    path = model_of(nodes, ports, [port("y", None, kind)], tmp_path)
    a, b, c = (
        np.array([[1, 2], [3, 4]], dtype),
        np.array([[5, 6], [7, 8]], dtype),
        np.arange(2, dtype=dtype),
    )
    expected = a @ b + c if not factors else 2 * (a.T @ b.T) - 3 * c
    result = load(path)(a, b, c).numpy()
    assert result.dtype == dtype
    np.testing.assert_array_equal(result, expected)


def selected_rows(then, outputs, tmp_path, constants, opset=18):
    """Write a model of nodes after one that selects rows `r` of x by their first number."""
    nodes = [
        node("Gather", ["x", "zero"], ["score"], axis=1),
        node("Greater", ["score", "half"], ["is_kept"]),
        node("NonZero", ["is_kept"], ["places"]),
        node("Squeeze", ["places", "first"], ["i"]),
        node("Gather", ["x", "i"], ["r"], axis=0),
        *then,
    ]
    constants = [
        number("zero", 0),
        number("half", 0.5, np.float32),
        number("first", [0]),
        *constants,
    ]
    ports = [port(name, None, kind) for name, kind in outputs]
    return model_of(
        nodes, [port("x", [2, 4])], ports, tmp_path, initializers=constants, opset=opset
    )


ROWS = np.float32([[0.9, 1, 5, 6], [0.1, 2, 7, 4]])


@pytest.mark.parametrize("x", [ROWS, ROWS * [0, 1, 1, 1]], ids=["some", "none"])
@pytest.mark.parametrize("mode", ["avg", "max"])
def test_regions_that_a_run_may_not_have(x, mode, tmp_path):
    image = np.arange(128, dtype=np.float32).reshape(1, 2, 8, 8)
    nodes = [
        node("Mul", ["i", "zero"], ["batch"]),
        node(
            "RoiAlign", ["image", "r", "batch"], ["y"], output_height=2, output_width=2, mode=mode
        ),
    ]
    outputs = [("y", KINDS.FLOAT)]
    path = selected_rows(nodes, outputs, tmp_path, [number("image", image, np.float32)])
    same_as_runtime(path, x.astype(np.float32))


@pytest.mark.parametrize("x", [ROWS, ROWS * [0, 1, 1, 1]], ids=["some", "none"])
def test_steps_of_rows_that_a_run_may_not_have(x, tmp_path):
    nodes = [node("DynamicQuantizeLinear", ["r"], ["y", "scale", "point"])]
    outputs = [("y", KINDS.UINT8), ("scale", KINDS.FLOAT), ("point", KINDS.UINT8)]
    same_as_runtime(selected_rows(nodes, outputs, tmp_path, []), x.astype(np.float32))


def sparse_model(tmp_path, indices, is_weight, shape=(3, 4), values=None):
    values = values or number("w", [5, -7], np.float32)
    sparse = onnx.helper.make_sparse_tensor(values, number("i", indices), shape)
    nodes = [node("Mul", ["x", "w"], ["y"])]
    if not is_weight:
        nodes.insert(0, node("Constant", [], ["w"], sparse_value=sparse))
    weights = {"sparse_initializer": [sparse]} if is_weight else {}
    graph = onnx.helper.make_graph(nodes, "g", [port("x", [3, 4])], [port("y", [3, 4])], **weights)
    sets = [onnx.helper.make_opsetid("", 17)]
    model = onnx.helper.make_model(graph, opset_imports=sets, ir_version=8)
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


@pytest.mark.parametrize("is_weight", [False, True])
@pytest.mark.parametrize("indices", [[2, 7], [[0, 2], [1, 3]]])
def test_sparse_constants(indices, is_weight, tmp_path):
    same_as_runtime(sparse_model(tmp_path, indices, is_weight), np.ones((3, 4), np.float32))


@pytest.mark.parametrize("is_weight", [False, True])
def test_wrong_sparse_constants_are_refused(is_weight, tmp_path):
    refused(sparse_model(tmp_path, [2, 12], is_weight), "index 12 of a sparse constant")
    refused(sparse_model(tmp_path, [[0, -2], [1, 3]], is_weight), "index -2 of a sparse constant")
    refused(sparse_model(tmp_path, [[0], [1]], is_weight), r"have shape .*2, 1")
    refused(sparse_model(tmp_path, [1, 2, 3], is_weight), "2 values for 3 indices")
    refused(sparse_model(tmp_path, [1, 2], is_weight, (1 << 20, 1 << 20)), "1099511627776 elements")
    words = onnx.helper.make_tensor("w", KINDS.STRING, [2], [b"a", b"b"])
    refused(sparse_model(tmp_path, [1, 2], is_weight, values=words), "a sparse constant of text")


def test_nodes_before_those_that_they_read(tmp_path):
    """As converters to float16 write the casts of inputs. ONNX Runtime sorts nodes."""
    branches = {
        f"{name}_branch": onnx.helper.make_graph(
            [node(op, ["x", "late"], ["q"]), node("Add", ["q", "late"], [name])],
            name,
            [],
            [port(name, None)],
        )
        for name, op in [("then", "Mul"), ("else", "Sub")]
    }
    body = [node("Exp", ["a"], ["d"]), node("Neg", ["d"], ["e"])]
    own = onnx.helper.make_function(
        "own", "F", ["a"], ["e"], body, [onnx.helper.make_opsetid("", 17)]
    )
    nodes = [
        node("If", ["is"], ["r"], **branches),
        node("F", ["r"], ["y"], domain="own"),
        node("Greater", ["sum", "late"], ["is"]),
        node("ReduceSum", ["x"], ["sum"], keepdims=0),
        node("ReduceMin", ["wide"], ["late"], keepdims=0),
        node("Cast", ["x"], ["wide"], to=KINDS.FLOAT),
    ]
    path = model_of(nodes, [port("x", [4])], [port("y", None)], tmp_path, functions=[own])
    for x in ([1, 2, 3, 4], [-1, -2, -3, 1]):
        same_as_runtime(path, np.float32(x))
    circle = [node("Add", ["x", "b"], ["a"]), node("Neg", ["a"], ["b"]), node("Abs", ["a"], ["y"])]
    circle = model_of(circle, [port("x", [4])], [port("y", None)], tmp_path)
    refused(circle, "reads 'b' before it is computed")


def test_many_nodes_in_reverse_order(tmp_path):
    nodes = [node("Relu", [f"v{i}"], [f"v{i + 1}"]) for i in range(5000)]
    path = model_of(nodes[::-1], [port("v0", [2])], [port("v5000", [2])], tmp_path)
    np.testing.assert_array_equal(load(path)(np.float32([-1, 2])).numpy(), [0, 2])


@pytest.mark.parametrize("trainable", [False, True])
def test_models_in_memory(tmp_path, trainable):
    nodes = [onnx.helper.make_node("Mul", ["x", "w"], ["y"])]
    weights = [number("w", [2, 3], np.float32)]
    path = model_of(
        nodes, [port("x", ["n", 2])], [port("y", ["n", 2])], tmp_path, initializers=weights
    )
    content, x = path.read_bytes(), np.float32([[1, 2]])
    parts = (content, bytearray(content), memoryview(content))
    for given in (*parts, io.BytesIO(content), onnx.load(path), str(path), ReadablePath(path)):
        assert load(given, trainable)(x).numpy().tolist() == [[2, 6]]
    with pytest.raises(RuntimeError, match="the given bytes"):
        load(content[:-1], trainable)
    for given, message in ((3, "got int"), (io.StringIO("x"), "got StringIO that reads text")):
        with pytest.raises(TypeError, match=message):
            load(given, trainable)


class ReadablePath:
    """A path with methods that read the file, as py.path.local."""

    def __init__(self, path):
        self.path = path

    def __fspath__(self):
        return str(self.path)

    def read(self):
        return self.path.read_text(errors="ignore")


def test_bools_in_a_field_of_integers(tmp_path):
    """Each that is not 0 is true, and one in memory."""
    flags = onnx.helper.make_tensor("flags", KINDS.BOOL, [3], [False, True, True])
    flags.int32_data[:] = [0, 2, 256]
    path = one_node(tmp_path, "Mul", [("x", [3])], [flags])
    model = onnx.load(path)
    model.graph.node.insert(0, node("Cast", ["flags"], ["numbers"], to=KINDS.FLOAT))
    model.graph.node[1].input[1] = "numbers"
    path.write_bytes(model.SerializeToString())
    same_as_runtime(path, np.float32([3, 4, 5]))


@pytest.mark.parametrize("batch, windows", [(0, 5), (1, 621379)])
def test_the_channels_of_images_from_columns(batch, windows, tmp_path):
    """They follow from the columns, in empty batches and for many windows."""
    sizes = [number("image", [3, windows + 2]), number("block", [3, 3])]
    path = one_node(tmp_path, "Col2Im", [("x", [batch, 27, windows])], sizes, opset=18)
    model = load(path)
    if not batch:
        y = model(np.zeros((0, 27, windows), "float32"))
        assert y.numpy().shape == (0, 3, 3, windows + 2)


def test_wide_numbers_are_written_as_they_were_read(tmp_path):
    """No operator of ours makes them narrower."""
    x = np.array([1e300, np.inf, np.nan, 0, -1e300])
    n, by = np.array([1, 2**63, 2**64 - 1], "uint64"), np.array([1, 3, 63], "uint64")
    nodes = [node("IsInf", ["x"], ["is_inf"]), node("ReduceMean", ["x"], ["mean"])]
    nodes += [node("BitShift", ["n", "by"], [way], direction=way) for way in ("LEFT", "RIGHT")]
    inputs = [port("x", [5], KINDS.DOUBLE), port("n", [3], KINDS.UINT64)]
    outputs = [port("is_inf", [5], KINDS.BOOL), port("mean", [1], KINDS.DOUBLE)]
    outputs += [port(way, [3], KINDS.UINT64) for way in ("LEFT", "RIGHT")]
    path = model_of(nodes, [*inputs, port("by", [3], KINDS.UINT64)], outputs, tmp_path, opset=20)
    written = tmp_path / "written.onnx"
    _mge.load(path).write_onnx(written, 20)
    onnx.checker.check_model(str(written), full_check=True)
    runtime = pytest.importorskip("onnxruntime")
    given = {"x": x, "n": n, "by": by}
    for file in (path, written):
        got = runtime.InferenceSession(str(file)).run(None, given)
        np.testing.assert_array_equal(got[0], np.isinf(x))
        np.testing.assert_array_equal(got[1], [np.nan])
        np.testing.assert_array_equal(got[2], n << by)
        np.testing.assert_array_equal(got[3], n >> by)


@pytest.mark.parametrize("kind", ["INT4", "UINT4", "FLOAT4E2M1"])
def test_narrow_numbers_are_not_written(kind, tmp_path):
    nodes = [node("Cast", ["x"], ["q"], to=KINDS.DataType.Value(kind))]
    nodes += [node("Cast", ["q"], ["y"], to=KINDS.FLOAT)]
    path = model_of(nodes, [port("x", [4])], [port("y", [4])], tmp_path, opset=23)
    with pytest.raises(RuntimeError, match="numbers of (u?int4|float4)"):
        _mge.load(path).write_onnx(tmp_path / "no.onnx", 23)


def kind_of(array):
    return onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


def in_double(tmp_path, op, *inputs, constants=(), opset=20, **attributes):
    """Return the result of the operator on f64, and that on the same numbers in f32."""
    results = []
    for dtype in (np.float64, np.float32):
        arrays = [x.astype(dtype) if x.dtype == np.float64 else x for x in inputs]
        own = [c.astype(dtype) if c.dtype == np.float64 else c for c in constants]
        given = [f"x{i}" for i in range(len(arrays))] + [f"c{i}" for i in range(len(own))]
        path = model_of(
            [node(op, given, ["y"], **attributes)],
            [port(f"x{i}", x.shape, kind_of(x)) for i, x in enumerate(arrays)],
            [port("y", None, kind_of(np.zeros(0, dtype)))],
            tmp_path,
            initializers=[number(f"c{i}", c, c.dtype) for i, c in enumerate(own)],
            opset=opset,
        )
        results.append(load(path)(*arrays).numpy())
    assert results[0].dtype == np.float64
    np.testing.assert_allclose(results[0], results[1], rtol=1e-4, atol=1e-4)
    return results[0]


def drawn(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


def same_in_double(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_transforms_keep_double_precision(tmp_path):
    x = drawn(2, 21, 1)
    axis = [np.array(21), np.array(1)]
    got = in_double(tmp_path, "DFT", x, constants=axis)
    want = np.fft.fft(x[..., 0], axis=1)
    same_in_double(got, np.stack([want.real, want.imag], -1))
    got = in_double(tmp_path, "DFT", got, constants=axis, inverse=1)
    same_in_double(got[..., 0], x[..., 0])

    x, window = drawn(1, 20), np.hanning(8)
    got = in_double(tmp_path, "STFT", x, constants=[np.array(4), window], opset=17)
    parts = np.stack([x[:, i : i + 8] * window for i in range(0, 13, 4)], 1)
    want = np.fft.rfft(parts)
    same_in_double(got, np.stack([want.real, want.imag], -1))

    double = {"output_datatype": KINDS.DOUBLE}
    path = one_node(tmp_path, "HannWindow", [], [number("n", 9)], **double)
    same_in_double(load(path)().numpy(), np.sin(np.pi * np.arange(9) / 9) ** 2)


def test_interpolation_keeps_double_precision(tmp_path):
    x = drawn(1, 2, 5, 7)
    got = in_double(
        tmp_path, "Resize", x[:, :, 0], np.zeros(0), np.array([1, 1, 2], np.float32), mode="linear"
    )
    place = np.clip((np.arange(14) + 0.5) / 2 - 0.5, 0, 6)
    want = np.stack([np.interp(place, np.arange(7), row) for row in x[0, :, 0]])
    same_in_double(got[0], want)

    # A grid at the pixels, moved by less than f32 resolves.
    step = 1e-9
    rows, columns = np.meshgrid(np.linspace(-1, 1, 5), np.linspace(-1, 1, 7), indexing="ij")
    grid = np.stack([columns * (1 - step), rows], -1)[None]
    got = in_double(tmp_path, "GridSample", x, grid, align_corners=1)
    place = (grid[0, 0, :, 0] + 1) * 3
    want = np.stack([[np.interp(place, np.arange(7), row) for row in image] for image in x[0]])
    same_in_double(got[0], want)


@pytest.mark.parametrize("mode", ["avg", "max"])
@pytest.mark.parametrize("samples", [0, 2])
def test_regions_keep_double_precision(mode, samples, tmp_path):
    regions, image = np.array([[0.3, 0.2, 4.1, 3.7], [1.1, 0.4, 5.6, 4.9]]), np.array([1, 0])
    sizes = {"output_height": 2, "output_width": 3, "sampling_ratio": samples, "mode": mode}
    rows, columns = np.arange(6.0)[:, None], np.arange(7.0)
    planes = np.stack([rows + columns / 3, 1 - columns / 7 + 0 * rows, rows / 3 + 0 * columns])
    x = np.stack([planes, planes * 1.1])
    got = in_double(tmp_path, "RoiAlign", x, regions, image, **sizes)
    assert (got != got.astype(np.float32)).any()
    if mode == "max":
        return
    # The mean of a linear function is its value in the middle of the cell.
    first, extent = regions[:, :2] - 0.5, regions[:, 2:] - regions[:, :2]
    columns = first[:, None, 0] + extent[:, None, 0] * (np.arange(3) + 0.5) / 3
    rows = first[:, None, 1] + extent[:, None, 1] * (np.arange(2) + 0.5) / 2
    rows, columns = rows[:, :, None], columns[:, None, :]
    want = np.stack([rows + columns / 3, 1 - columns / 7 + 0 * rows, rows / 3 + 0 * columns], 1)
    same_in_double(got, want * np.array([1.1, 1])[:, None, None, None])


def test_grids_and_norms_keep_double_precision(tmp_path):
    matrix = drawn(1, 2, 3)
    got = in_double(tmp_path, "AffineGrid", matrix, constants=[np.array([1, 1, 3, 4])])
    places = np.stack(
        [
            *np.meshgrid((np.arange(4) * 2 + 1) / 4 - 1, (np.arange(3) * 2 + 1) / 3 - 1),
            np.ones((3, 4)),
        ],
        -1,
    )
    same_in_double(got[0], places @ matrix[0].T)

    x, scale = drawn(3, 5), drawn(5)
    got = in_double(tmp_path, "RMSNormalization", x, scale, opset=23)
    epsilon = float(np.float32(1e-5))
    same_in_double(got, x / np.sqrt((x * x).mean(1, keepdims=True) + epsilon) * scale)


def test_a_result_that_is_given_twice_beside_one_with_such_a_name(tmp_path):
    nodes = [node("Relu", ["x"], ["y"]), node("Neg", ["x"], ["y_1"])]
    path = model_of(nodes, [port("x", [2])], [port(y, [2]) for y in ("y", "y", "y_1")], tmp_path)
    results = load(path)(np.array([-1, 2], np.float32))
    assert [y.numpy().tolist() for y in results] == [[0, 2], [0, 2], [1, -2]]


def test_defaults_in_double_precision(tmp_path):
    """Those of attributes are f32; a scale that follows from a size is not."""
    x = drawn(1, 1, 4, 3)
    got = in_double(tmp_path, "LeakyRelu", x)
    same_in_double(got, np.where(x < 0, x * float(np.float32(0.01)), x))
    got = in_double(tmp_path, "Attention", x, x, x, opset=23)
    scores = np.exp(x @ x.swapaxes(2, 3) / np.sqrt(3))
    same_in_double(got, scores / scores.sum(-1, keepdims=True) @ x)
