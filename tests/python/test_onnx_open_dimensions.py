# SPDX-License-Identifier: Apache-2.0
"""Arithmetic on open dimensions, as exporters write it, at several sizes against ONNX Runtime."""

import numpy as np
import pytest
from onnx_files import load, model_of, number, onnx, port, same_as_runtime

from megengine import _mge
from megengine.utils.network import Network

node = onnx.helper.make_node
KINDS = onnx.TensorProto


def real(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def sizes_of(x, *axes):
    """Nodes for the sizes of x: scalars `x0`, `x1`, and vectors of one element `x0v`, `x1v`."""
    nodes = [node("Shape", [x], [f"{x}_shape"])]
    for axis in axes:
        nodes += [
            node("Gather", [f"{x}_shape", f"i{axis}"], [f"{x}{axis}"], axis=0),
            node("Unsqueeze", [f"{x}{axis}", "first"], [f"{x}{axis}v"]),
        ]
    return nodes


INDICES = [number(f"i{k}", k) for k in range(4)] + [number("first", [0])]


@pytest.mark.parametrize("past", [0, 1, 7])
def test_a_decoder_with_a_cache_that_may_be_empty(past, tmp_path):
    """Heads of width 4, and a mask of the words that each word sees."""
    nodes = [
        *sizes_of("x", 0, 1),
        *sizes_of("past", 2),
        node("Concat", ["x0v", "x1v", "heads", "width"], ["apart"], axis=0),
        node("MatMul", ["x", "w"], ["product"]),
        node("Reshape", ["product", "apart"], ["split"]),
        node("Transpose", ["split"], ["query"], perm=[0, 2, 1, 3]),
        node("Concat", ["past", "query"], ["keys"], axis=2),
        node("Shape", ["keys"], ["keys_shape"]),
        node("Gather", ["keys_shape", "i2"], ["total"], axis=0),
        node("Range", ["past2", "total", "one"], ["rows"]),
        node("Range", ["zero", "total", "one"], ["columns"]),
        node("Unsqueeze", ["rows", "second"], ["row_column"]),
        node("LessOrEqual", ["columns", "row_column"], ["is_seen"]),
        node("Unsqueeze", ["total", "first"], ["total_v"]),
        node("Concat", ["x1v", "total_v"], ["mask_shape"], axis=0),
        node("ConstantOfShape", ["mask_shape"], ["nothing"]),
        node("Where", ["is_seen", "nothing", "far"], ["mask"]),
        node("Transpose", ["keys"], ["turned"], perm=[0, 1, 3, 2]),
        node("MatMul", ["query", "turned"], ["scores"]),
        node("Add", ["scores", "mask"], ["masked"]),
        node("Softmax", ["masked"], ["weights"], axis=-1),
        node("MatMul", ["weights", "keys"], ["mixed"]),
        node("Transpose", ["mixed"], ["beside"], perm=[0, 2, 1, 3]),
        node("Concat", ["x0v", "x1v", "rest"], ["joined"], axis=0),
        node("Reshape", ["beside", "joined"], ["y"]),
    ]
    weights = [
        *INDICES,
        number("heads", [2]),
        number("width", [4]),
        number("rest", [-1]),
        number("second", [1]),
        number("zero", 0),
        number("one", 1),
        number("w", np.eye(8) * 2, np.float32),
        number("far", -1e9, np.float32),
    ]
    inputs = [port("x", ["batch", "seq", 8]), port("past", ["batch", 2, "past", 4])]
    outputs = [port("y", ["batch", "seq", 8]), port("keys", ["batch", 2, "past + seq", 4])]
    path = model_of(nodes, inputs, outputs, tmp_path, initializers=weights)
    for batch, seq in ((1, 1), (2, 5)):
        same_as_runtime(path, real(batch, seq, 8), real(batch, 2, past, 4))


@pytest.mark.parametrize("seq", [1, 2, 9, 512])
def test_names_that_are_expressions(seq, tmp_path):
    """As torch.export writes constraints: the odd words less one are as many as the even ones."""
    nodes = [
        node("Slice", ["x", "one_v", "end", "second"], ["rest"]),
        *sizes_of("rest", 0, 1),
        node("Div", ["rest1", "two"], ["half"]),
        node("Unsqueeze", ["half", "first"], ["half_v"]),
        node("Concat", ["rest0v", "half_v", "two_v", "minus"], ["pairs"], axis=0),
        node("Reshape", ["rest", "pairs"], ["paired"]),
        node("ReduceSum", ["paired", "third"], ["sums"], keepdims=0),
        node("Add", ["sums", "z"], ["y"]),
    ]
    weights = [
        *INDICES,
        number("one_v", [1]),
        number("end", [2**62]),
        number("second", [1]),
        number("third", [2]),
        number("two", 2),
        number("two_v", [2]),
        number("minus", [-1]),
    ]
    inputs = [port("x", ["b", "2*s + 1", 3]), port("z", ["b", "s", 3])]
    path = model_of(nodes, inputs, [port("y", ["b", "s", 3])], tmp_path, initializers=weights)
    same_as_runtime(path, real(2, 2 * seq + 1, 3), real(2, seq, 3))
    assert load(path).input_shapes == {"x": ("b", "2*s + 1", 3), "z": ("b", "s", 3)}


@pytest.mark.parametrize("length", [1, 7, 8, 9, 30])
def test_a_length_that_is_filled_up_to_a_multiple(length, tmp_path):
    """Windows of 8, the last of them padded, and cut off again."""
    nodes = [
        *sizes_of("x", 0, 1),
        node("Mod", ["x1", "eight"], ["over"]),
        node("Sub", ["eight", "over"], ["missing"]),
        node("Mod", ["missing", "eight"], ["more"]),
        node("Unsqueeze", ["more", "first"], ["more_v"]),
        node("Concat", ["zeros", "more_v", "zero_v"], ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["padded"]),
        node("Reshape", ["padded", "windows"], ["cut"]),
        node("ReduceMax", ["cut"], ["largest"], axes=[1], keepdims=1),
        node("Sub", ["cut", "largest"], ["lower"]),
        node("Concat", ["x0v", "rest", "width"], ["whole"], axis=0),
        node("Reshape", ["lower", "whole"], ["filled"]),
        node("Slice", ["filled", "zero_v", "x1v", "second"], ["y"]),
    ]
    weights = [
        *INDICES,
        number("eight", 8),
        number("zeros", [0, 0, 0, 0]),
        number("zero_v", [0]),
        number("second", [1]),
        number("windows", [-1, 8, 4]),
        number("rest", [-1]),
        number("width", [4]),
    ]
    ports = [port("x", ["b", "n", 4])], [port("y", ["b", "n", 4])]
    path = model_of(nodes, *ports, tmp_path, initializers=weights)
    for batch in (1, 3):
        same_as_runtime(path, real(batch, length, 4))


@pytest.mark.parametrize("kind", [KINDS.INT64, KINDS.FLOAT])
def test_images_resized_by_sizes_that_are_computed(kind, tmp_path):
    """Sizes that exporters compute as real numbers and round."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        node("Slice", ["shape", "zero_v", "two_v"], ["outer"]),
        node("Slice", ["shape", "two_v", "four_v"], ["sides"]),
        node("Cast", ["sides"], ["sides_as"], to=kind),
        node("Mul", ["sides_as", "twice"], ["larger"]),
        node("Cast", ["larger"], ["larger_sides"], to=KINDS.INT64),
        node("Concat", ["outer", "larger_sides"], ["sizes"], axis=0),
        node("Resize", ["x", "", "", "sizes"], ["up"], mode="nearest"),
        node("Conv", ["up", "w"], ["y"], pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Add", ["y", "x"], ["z"]),
    ]
    dtype = np.int64 if kind == KINDS.INT64 else np.float32
    weights = [
        *(number(f"{name}_v", [n]) for name, n in (("zero", 0), ("two", 2), ("four", 4))),
        number("twice", [2, 2], dtype),
        number("w", np.arange(81).reshape(3, 3, 3, 3) / 81, np.float32),
    ]
    ports = [port("x", ["b", 3, "h", "w_"])], [port("z", ["b", 3, "h", "w_"])]
    path = model_of(nodes, *ports, tmp_path, initializers=weights)
    for shape in ((1, 3, 8, 8), (2, 3, 5, 12), (1, 3, 1, 1)):
        same_as_runtime(path, real(*shape))


def test_a_comparison_that_sizes_decide_stays_a_branch(tmp_path):
    def branch(name, op, inputs):
        return onnx.helper.make_graph([node(op, inputs, [name])], name, [], [port(name, None)])

    nodes = [
        *sizes_of("x", 1),
        node("Greater", ["x1", "five"], ["is_long"]),
        node(
            "If",
            ["is_long"],
            ["y"],
            then_branch=branch("t", "Neg", ["x"]),
            else_branch=branch("e", "Relu", ["x"]),
        ),
    ]
    ports = [port("x", ["b", "n"])], [port("y", ["b", "n"])]
    path = model_of(nodes, *ports, tmp_path, initializers=[*INDICES, number("five", 5)])
    for n in (0, 1, 5, 6, 40):
        same_as_runtime(path, real(2, n))


@pytest.mark.parametrize("op", ["Equal", "Greater", "Min", "Max"])
def test_sizes_of_zero_are_no_constants(op, tmp_path):
    """Sizes above 0 would decide these comparisons with small numbers."""
    nodes = [
        *sizes_of("x", 0),
        node(op, ["x0", "number"], ["k"]),
        node("Cast", ["k"], ["y"], to=KINDS.FLOAT),
    ]
    weights = [*INDICES, number("number", 0 if op in ("Equal", "Greater") else 1)]
    path = model_of(nodes, [port("x", ["n"])], [port("y", [])], tmp_path, initializers=weights)
    for n in (0, 1, 3):
        same_as_runtime(path, real(n))


def test_a_size_that_the_model_accepts_is_found_from_its_windows(tmp_path):
    """Convolutions without margins, followed by a layer for one number of features."""
    nodes = [
        node("Conv", ["x", "w"], ["a"], strides=[3]),
        node("Conv", ["a", "w"], ["b"], strides=[3]),
        node("Conv", ["b", "w"], ["c"], strides=[3]),
        node("Flatten", ["c"], ["d"]),
        node("Gemm", ["d", "matrix"], ["y"]),
    ]
    weights = [
        number("w", np.arange(20).reshape(2, 2, 5) / 20, np.float32),
        number("matrix", np.arange(12).reshape(6, 2) / 12, np.float32),
    ]
    ports = [port("x", ["b", 2, "n"])], [port("y", ["b", 2])]
    path = model_of(nodes, *ports, tmp_path, initializers=weights)
    for batch in (1, 4):
        same_as_runtime(path, real(batch, 2, 125))
    with pytest.raises(RuntimeError, match="matmul"):
        load(path)(real(1, 2, 64))


def test_images_of_one_size_beside_an_open_batch(tmp_path):
    """Halved five times, and flattened to a number of features that the file states."""
    pools = [
        node("MaxPool", [f"x{k}"], [f"x{k + 1}"], kernel_shape=[2, 2], strides=[2, 2])
        for k in range(5)
    ]
    nodes = [*pools, node("Reshape", ["x5", "target"], ["y"])]
    ports = [port("x0", ["b", 1, "h", "w"])], [port("y", [1, 49])]
    path = model_of(nodes, *ports, tmp_path, initializers=[number("target", [1, 49])])
    same_as_runtime(path, real(1, 1, 224, 224))
    with pytest.raises(RuntimeError, match="reshape"):
        load(path)(real(1, 1, 64, 64))


def test_demands_on_sizes_without_an_expression(tmp_path):
    """A margin of 6 around an eighth of x. Codecs compute padding from real numbers."""
    nodes = [
        *sizes_of("x", 2),
        node("Cast", ["x2v"], ["length"], to=KINDS.FLOAT),
        node("Mul", ["length", "length"], ["square"]),
        node("Sqrt", ["square"], ["root"]),
        node("Sub", ["root", "length"], ["rest"]),
        node("Cast", ["rest"], ["missing"], to=KINDS.INT64),
        node("Concat", ["nothing", "missing"], ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["whole"]),
        node("MaxPool", ["whole"], ["parts"], kernel_shape=[8], strides=[8]),
        node("Pad", ["parts", "margin"], ["y"], mode="reflect"),
    ]
    numbers = [*INDICES, number("nothing", [0] * 5), number("margin", [0, 0, 6, 0, 0, 6])]
    path = model_of(
        nodes, [port("x", [1, 2, "t"])], [port("y", None)], tmp_path, initializers=numbers
    )
    for length in (56, 100):
        same_as_runtime(path, real(1, 2, length))


def test_one_name_may_have_two_sizes_where_the_model_broadcasts(tmp_path):
    """ONNX Runtime does not compare the sizes either."""
    ports = [port("x", ["n", 2]), port("y", ["n", 2])], [port("z", ["n", 2])]
    path = model_of([node("Add", ["x", "y"], ["z"])], *ports, tmp_path)
    same_as_runtime(path, real(3, 2), real(1, 2))


def test_a_diagonal_of_an_open_size(tmp_path):
    """As exporters write it: a square whose side is a length."""
    nodes = [
        *sizes_of("x", 1),
        node("Concat", ["x1v", "x1v"], ["square"], axis=0),
        node("ConstantOfShape", ["square"], ["zeros"]),
        node("EyeLike", ["zeros"], ["eye"], k=1),
        node("EyeLike", ["x"], ["wide"], k=-1, dtype=KINDS.INT64),
    ]
    ports = [port("eye", ["n", "n"]), port("wide", ["m", "n"], KINDS.INT64)]
    path = model_of(nodes, [port("x", ["m", "n"])], ports, tmp_path, initializers=INDICES)
    for shape in ((3, 5), (1, 1), (6, 2)):
        same_as_runtime(path, real(*shape))


def test_blocks_of_open_images(tmp_path):
    nodes = [node("SpaceToDepth", ["x"], ["y"], blocksize=2)]
    ports = [port("x", ["b", 3, "h", "w"])], [port("y", ["b", 12, "h2", "w2"])]
    path = model_of(nodes, *ports, tmp_path)
    for shape in ((1, 3, 4, 6), (2, 3, 10, 2)):
        same_as_runtime(path, real(*shape))
    with pytest.raises(RuntimeError, match="reshape"):
        load(path)(real(1, 3, 5, 6))


@pytest.mark.parametrize("opset, extents", [(13, (2, 6)), (18, (6, 7, 8))])
def test_equal_parts_of_an_open_dimension(opset, extents, tmp_path):
    parts = ["a", "b"] if opset == 13 else ["a", "b", "c"]
    count = {} if opset == 13 else {"num_outputs": 3}
    nodes = [node("Split", ["x"], parts, axis=1, **count)]
    outputs = [port(name, None) for name in parts]
    path = model_of(nodes, [port("x", ["b", "n"])], outputs, tmp_path, opset=opset)
    for extent in extents:
        same_as_runtime(path, real(2, extent))


@pytest.mark.parametrize("how", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("stride, kernel", [(1, 2), (2, 2), (2, 3), (3, 4)])
def test_transposed_windows_as_large_as_open_images(how, stride, kernel, tmp_path):
    weight = [number("w", real(2, 1, kernel, kernel), np.float32)]
    nodes = [node("ConvTranspose", ["x", "w"], ["y"], auto_pad=how, strides=[stride, stride])]
    ports = [port("x", ["b", 2, "h", "w"])], [port("y", None)]
    path = model_of(nodes, *ports, tmp_path, initializers=weight)
    for shape in ((1, 2, 3, 4), (2, 2, 1, 6)):
        same_as_runtime(path, real(*shape))


def test_boxes_of_open_width(tmp_path):
    limits = [number("most", [3]), number("overlap", [0.5], np.float32)]
    nodes = [node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["y"])]
    ports = [port("boxes", ["b", "n", "four"]), port("scores", ["b", "classes", "n"])]
    ends = [port("y", None, KINDS.INT64)]
    path = model_of(nodes, ports, ends, tmp_path, initializers=limits)
    boxes = np.float32([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 10, 1, 11]]])
    same_as_runtime(path, boxes, np.float32([[[0.9, 0.8, 0.7], [0.1, 0.2, 0.3]]]))
    with pytest.raises(RuntimeError, match="boxes"):
        load(path)(boxes[..., :3], np.ones((1, 1, 3), np.float32))


@pytest.mark.parametrize("reduction", ["add", "mul", "max", "min"])
@pytest.mark.parametrize("kind", ["ScatterElements", "ScatterND"])
def test_scatter_with_an_open_number_of_values(kind, reduction, tmp_path):
    """As graph networks take the largest message of each node."""
    width = 3 if kind == "ScatterElements" else 1
    nodes = [node(kind, ["x", "i", "values"], ["y"], reduction=reduction)]
    ports = [port("x", ["n", 3]), port("i", ["k", width], KINDS.INT64), port("values", ["k", 3])]
    path = model_of(nodes, ports, [port("y", None)], tmp_path, opset=18)
    for rows, count in ((4, 6), (3, 1), (2, 0), (5, 33)):
        index = np.random.default_rng(count).integers(-rows, rows, size=(count, width))
        same_as_runtime(path, real(rows, 3), index, real(count, 3))


def test_question_marks_are_not_one_dimension(tmp_path, capfd):
    """Padding to a square; Paddle calls every unknown dimension "?"."""
    nodes = [
        *sizes_of("x", 2, 3),
        node("Sub", ["x3v", "x2v"], ["missing"]),
        node("Concat", ["zeros", "missing", "zero"], ["pads"], axis=0),
        node("Pad", ["x", "pads"], ["y"]),
    ]
    numbers = [*INDICES, number("zeros", [0] * 6), number("zero", [0])]
    path = model_of(
        nodes, [port("x", [1, 3, "?", "?"])], [port("y", None)], tmp_path, initializers=numbers
    )
    assert load(path).input_shapes == {"x": (1, 3, None, None)}
    same_as_runtime(path, real(1, 3, 4, 6))
    assert "differ in the size" not in capfd.readouterr().err


def written_again(nodes, inputs, tmp_path, **how):
    """Read a model of these nodes and write it; return the new file and its inputs' sizes."""
    path = model_of(nodes, inputs, [port("y", None)], tmp_path, **how)
    written = tmp_path / "written.onnx"
    _mge.load(str(path)).write_onnx(str(written), 17)
    sizes = [
        [d.dim_param or d.dim_value for d in value.type.tensor_type.shape.dim]
        for value in onnx.load(written).graph.input
    ]
    return written, sizes


def test_dimensions_without_a_name_stay_open_in_a_written_model(tmp_path):
    nodes = [node("Add", ["a", "b"], ["sum"]), node("Relu", ["sum"], ["y"])]
    inputs = [port("a", ["n", None, 3]), port("b", [3])]
    written, sizes = written_again(nodes, inputs, tmp_path)
    assert sizes == [["n", "a_1", 3], [3]]
    same_as_runtime(written, real(2, 5, 3), real(3))


def test_counts_that_are_sizes_can_be_written(tmp_path):
    """A value for each element that is true, as PyTorch writes ``x[mask] = 0.5``."""
    nodes = [
        node("NonZero", ["mask"], ["places"]),
        node("Transpose", ["places"], ["indices"]),
        node("Cast", ["mask"], ["ones"], to=KINDS.INT64),
        node("ReduceSum", ["ones"], ["count"], keepdims=1),
        node("Expand", ["half", "count"], ["updates"]),
        node("ScatterND", ["x", "indices", "updates"], ["y"]),
    ]
    inputs = [port("x", ["n"]), port("mask", ["n"], KINDS.BOOL)]
    written, sizes = written_again(
        nodes, inputs, tmp_path, initializers=[number("half", 0.5, np.float32)]
    )
    assert sizes == [["n"], ["n"]]
    same_as_runtime(written, real(5), np.array([1, 0, 1, 1, 0], bool))


def test_checks_of_open_dimensions_are_not_written(tmp_path):
    nodes = [node("TopK", ["x", "k"], ["y", ""], axis=1)]
    written, sizes = written_again(
        nodes, [port("x", ["n", "s"])], tmp_path, initializers=[number("k", [3])]
    )
    assert sizes == [["n", "s"]]
    same_as_runtime(written, real(2, 5))


def test_axes_before_flattened_ones_stay_open_in_a_written_model(tmp_path):
    nodes = [node("Flatten", ["x"], ["y"], axis=1)]
    written, sizes = written_again(nodes, [port("x", ["n", 4, "h", "w"])], tmp_path)
    assert sizes == [["n", 4, "h", "w"]]
    same_as_runtime(written, real(2, 4, 3, 5))


@pytest.mark.parametrize("padding", [0, 1])
def test_sides_of_transposed_convolutions_stay_open_in_a_written_model(padding, tmp_path):
    how = {"strides": [2, 2], "pads": [1, 0, 1, 0], "output_padding": [padding, 1]}
    nodes = [node("ConvTranspose", ["x", "w"], ["y"], **how)]
    written, sizes = written_again(
        nodes,
        [port("x", ["n", 2, "h", "w"])],
        tmp_path,
        initializers=[number("w", real(2, 3, 3, 3), np.float32)],
    )
    assert sizes == [["n", 2, "h", "w"]]
    same_as_runtime(written, real(2, 2, 5, 4))


@pytest.mark.parametrize(
    ("op", "opset"), [("InstanceNormalization", 17), ("GroupNormalization", 21)]
)
def test_the_scale_of_a_normalisation_gives_an_open_number_of_channels(op, opset, tmp_path):
    how = {"num_groups": 2} if op == "GroupNormalization" else {}
    nodes = [node(op, ["x", "scale", "bias"], ["y"], **how)]
    weights = [number(name, real(4), np.float32) for name in ("scale", "bias")]
    inputs, outputs = [port("x", ["n", "c", "s"])], [port("y", None)]
    path = model_of(nodes, inputs, outputs, tmp_path, initializers=weights, opset=opset)
    same_as_runtime(path, real(2, 4, 5))


IMAGES = [port("x", ["n", 4, "h", "w"])]
VOLUMES = [port("x", ["n", 2, "d", "h", "w"])]
KEEPING_OPEN = {
    "depth to space": ([node("DepthToSpace", ["x"], ["y"], blocksize=2)], IMAGES, {}),
    "space to depth": ([node("SpaceToDepth", ["x"], ["y"], blocksize=2)], IMAGES, {}),
    "tile": ([node("Tile", ["x", "k"], ["y"])], IMAGES, {"k": np.array([1, 1, 2, 3])}),
    "einsum": ([node("Einsum", ["x", "x"], ["y"], equation="bchw,bcgw->bchg")], IMAGES, {}),
    "conv3d": ([node("Conv", ["x", "k"], ["y"])], VOLUMES, {"k": real(3, 2, 2, 3, 3)}),
    "transposed conv3d": (
        [node("ConvTranspose", ["x", "k"], ["y"], strides=[2, 1, 2])],
        VOLUMES,
        {"k": real(2, 3, 2, 3, 3)},
    ),
    **{
        f"grid sample, {mode}": (
            [node("GridSample", ["x", "at"], ["y"], padding_mode=mode, align_corners=corners)],
            [*IMAGES, port("at", ["m", "i", "j", 2])],
            {},
        )
        for mode, corners in [("zeros", 0), ("border", 0), ("reflection", 1)]
    },
}


@pytest.mark.parametrize("name", KEEPING_OPEN)
def test_dimensions_stay_open_in_a_written_model(name, tmp_path):
    nodes, inputs, weights = KEEPING_OPEN[name]
    weights = [number(key, value, value.dtype) for key, value in weights.items()]
    written, sizes = written_again(nodes, inputs, tmp_path, initializers=weights)
    shapes = [value.type.tensor_type.shape.dim for value in inputs]
    assert sizes == [[d.dim_param or d.dim_value for d in shape] for shape in shapes]
    extents = {"n": 2, "m": 2, "d": 4, "h": 6, "w": 8, "i": 3, "j": 5}
    xs = [real(*[extents.get(size, size) for size in shape]) for shape in sizes]
    same_as_runtime(written, *xs)
    y = load(tmp_path / "model.onnx")(*xs).numpy()
    np.testing.assert_allclose(load(written)(*xs).numpy(), y, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "nodes",
    [
        [node("TopK", ["x", "three"], ["y", "places"], axis=0)],
        [node("Squeeze", ["x"], ["s"]), node("Add", ["s", "s"], ["y"])],
    ],
)
def test_recorded_sizes_pass_the_checks_of_runs(nodes, tmp_path):
    """Tools and servers run a model with these sizes unless the user names others."""
    path = model_of(
        nodes,
        [port("x", ["n", "m"])],
        [port("y", None)],
        tmp_path,
        initializers=[number("three", [3])],
    )
    shape = Network.load(str(path)).input_vars[0].shape
    assert shape[0] > 1
    same_as_runtime(path, real(*shape))
    same_as_runtime(path, real(5, 2))


@pytest.mark.parametrize("kind", ["bytes", "dilated"])
def test_windows_after_pools_of_bytes_or_with_gaps(kind, tmp_path):
    """Recorded sizes have room for the window, as after other pools."""
    steps = [
        node("QuantizeLinear", ["x", "s", "z"], ["q"]),
        node("MaxPool", ["q"], ["pooled"], kernel_shape=[3, 3], strides=[2, 2]),
        node("DequantizeLinear", ["pooled", "s", "z"], ["p"]),
    ]
    gaps = [node("MaxPool", ["x"], ["p"], kernel_shape=[3, 3], strides=[2, 2], dilations=[2, 1])]
    nodes = [*(steps if kind == "bytes" else gaps), node("Conv", ["p", "w"], ["y"])]
    weights = [
        number("s", 0.1, np.float32),
        number("z", 128, np.uint8),
        number("w", np.ones((1, 2, 9, 9)), np.float32),
    ]
    ports = [port("x", ["n", 2, "h", "w"])]
    path = model_of(nodes, ports, [port("y", None)], tmp_path, initializers=weights)
    for shape in ((1, 2, 21, 22), (2, 2, 24, 25)):
        same_as_runtime(path, np.round(real(*shape), 1))
    with pytest.raises(RuntimeError, match="window"):
        load(path)(real(1, 2, 2, 9))
