# SPDX-License-Identifier: Apache-2.0
"""ONNX files with sizes known only at run time."""

import numpy as np
import pytest
from onnx_files import load, model_of, number, onnx, port, same_as_runtime

from megengine import _mge

node = onnx.helper.make_node
KINDS = onnx.TensorProto


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("op", ["Mod", "Min", "Less", "Div"])
def test_values_of_open_extents_are_computed_in_every_run(tmp_path, batch, op):
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


def test_ranks_are_known_without_extents(tmp_path):
    """Rows whose score is high enough, flattened by their own number."""
    nodes = [
        node("Greater", ["s", "half"], ["is_high"]),
        node("NonZero", ["is_high"], ["at"]),
        node("Squeeze", ["at", "first"], ["places"]),
        node("Gather", ["x", "places"], ["rows"], axis=0),
        node("Shape", ["rows"], ["count"], start=0, end=1),
        node("Concat", ["count", "rest"], ["target"], axis=0),
        node("Reshape", ["rows", "target"], ["parts"]),
        node("Transpose", ["parts"], ["turned"], perm=[1, 0, 2]),
        node("Softmax", ["turned"], ["y"], axis=2),
    ]
    weights = [
        number("half", 0.5, np.float32),
        number("first", [0]),
        number("rest", [2, -1]),
    ]
    path = model_of(
        nodes,
        [port("x", ["n", 6]), port("s", ["n"])],
        [port("y", [2, "m", 3])],
        tmp_path,
        initializers=weights,
    )
    x = np.random.rand(5, 6).astype(np.float32)
    same_as_runtime(path, x, np.float32([0.2, 0.9, 0.4, 0.7, 0.6]))


@pytest.mark.parametrize(
    "made",
    [
        [node("ConstantOfShape", ["shape"], ["a"])],
        [node("Expand", ["x", "shape"], ["a"])],
        [node("Expand", ["x", "shape"], ["e"]), node("Reshape", ["e", "shape"], ["a"])],
        [node("Gather", ["shape", "two"], ["n"]), node("Range", ["zero", "n", "one"], ["a"])],
    ],
    ids=lambda made: made[-1].op_type,
)
def test_rank_of_run_time_shapes(made, tmp_path):
    """Axes that count from the end need it."""
    nodes = [*made, node("Unsqueeze", ["a", "last"], ["u"]), node("Identity", ["u"], ["y"])]
    is_range = made[-1].op_type == "Range"
    kind, rank = (KINDS.INT64, 2) if is_range else (KINDS.FLOAT, 4)
    path = model_of(
        nodes,
        [port("x", [1]), port("shape", [3], KINDS.INT64)],
        [port("y", [f"e{i}" for i in range(rank)], kind)],
        tmp_path,
        initializers=[
            number("last", [-1]),
            *(number(n, i) for i, n in enumerate(["zero", "one", "two"])),
        ],
    )
    for shape in ([2, 3, 4], [1, 5, 1]):
        same_as_runtime(path, np.float32([1.5]), np.array(shape))


def test_the_best_of_those_there_are(tmp_path):
    """At most two of the scores that are good; later axes count from the end."""
    nodes = [
        node("Greater", ["s", "half"], ["is_good"]),
        node("NonZero", ["is_good"], ["at"]),
        node("Squeeze", ["at", "zero"], ["places"]),
        node("Gather", ["s", "places"], ["good"]),
        node("Shape", ["good"], ["count"]),
        node("Concat", ["two", "count"], ["limits"], axis=0),
        node("ReduceMin", ["limits"], ["least"], keepdims=0),
        node("Reshape", ["least", "last"], ["most"]),
        node("TopK", ["good", "most"], ["best", "of"]),
        node("Unsqueeze", ["best", "last"], ["y"]),
    ]
    numbers = [
        number("half", 0.5, np.float32),
        *(number(name, [i]) for i, name in enumerate(["zero", "one", "two"])),
        number("last", [-1]),
    ]
    path = model_of(nodes, [port("s", [5])], [port("y", None)], tmp_path, initializers=numbers)
    for scores in ([0.2, 0.9, 0.7, 0.6, 0.1], [0.6, 0.1, 0.1, 0.1, 0.1]):
        same_as_runtime(path, np.float32(scores))


def kept_boxes():
    """As torchvision's batched_nms: no places for no boxes, otherwise those that are kept."""
    then_nodes = [node("Constant", [], ["none"], value=number("none", np.zeros(0, np.int64)))]
    else_nodes = [
        node("ReduceMax", ["good"], ["largest"], keepdims=0),
        node("Mul", ["classes", "largest"], ["offsets"]),
        node("Unsqueeze", ["offsets", "one"], ["column"]),
        node("Add", ["good", "column"], ["apart"]),
        node("Unsqueeze", ["apart", "zero"], ["boxes_of_image"]),
        node("Unsqueeze", ["rated", "zero"], ["row"]),
        node("Unsqueeze", ["row", "zero"], ["scores_of_image"]),
        node(
            "NonMaxSuppression", ["boxes_of_image", "scores_of_image", "most", "overlap"], ["found"]
        ),
        node("Gather", ["found", "two"], ["box"], axis=1),
        node("Squeeze", ["box", "one"], ["kept"]),
    ]
    graph = onnx.helper.make_graph
    return {
        "then_branch": graph(then_nodes, "then", [], [port("none", [0], KINDS.INT64)]),
        "else_branch": graph(else_nodes, "else", [], [port("kept", ["k"], KINDS.INT64)]),
    }


def test_boxes_are_suppressed_if_there_are_any(tmp_path):
    nodes = [
        node("Greater", ["s", "least"], ["is_good"]),
        node("NonZero", ["is_good"], ["at"]),
        node("Squeeze", ["at", "zero"], ["places"]),
        node("Gather", ["x", "places"], ["good"]),
        node("Gather", ["s", "places"], ["rated"]),
        node("Gather", ["c", "places"], ["classes"]),
        node("Shape", ["good"], ["shape"]),
        node("ReduceProd", ["shape"], ["count"], keepdims=0),
        node("Equal", ["count", "nothing"], ["is_empty"]),
        node("If", ["is_empty"], ["chosen"], **kept_boxes()),
        node("Slice", ["chosen", "zero", "two"], ["first"]),
        node("Gather", ["good", "first"], ["y"]),
    ]
    numbers = [
        number("least", 0.5, np.float32),
        number("overlap", [0.5], np.float32),
        *(number(name, [i]) for i, name in enumerate(["zero", "one", "two"])),
        number("most", [1 << 40]),
        number("nothing", 0),
    ]
    inputs = [port("x", [6, 4]), port("s", [6]), port("c", [6])]
    path = model_of(nodes, inputs, [port("y", None)], tmp_path, initializers=numbers)
    corners = np.random.rand(6, 2).astype(np.float32)
    boxes = np.concatenate([corners, corners + 1], axis=1)
    classes = np.float32([0, 1, 0, 0, 1, 0])
    written = tmp_path / "written.onnx"
    _mge.load(str(path)).write_onnx(str(written), 17)
    for scores in ([0.9, 0.8, 0.7, 0.6, 0.95, 0.1], [0.1] * 6):
        same_as_runtime(path, boxes, np.float32(scores), classes)
        same_as_runtime(written, boxes, np.float32(scores), classes)


def test_boxes_of_each_class_and_derived_values(tmp_path):
    nodes = [
        node("NonMaxSuppression", ["boxes", "scores", "most", "overlap", "score"], ["found"]),
        node("Gather", ["found", "two"], ["places"], axis=1),
        node("Squeeze", ["boxes", "zero"], ["all"]),
        node("Gather", ["all", "places"], ["kept"], axis=0),
        node("Transpose", ["kept"], ["y"], perm=[1, 0]),
    ]
    weights = [
        number("most", [4]),
        number("overlap", [0.4], np.float32),
        number("score", [0.2], np.float32),
        number("two", 2),
        number("zero", [0]),
    ]
    path = model_of(
        nodes,
        [port("boxes", [1, "n", 4]), port("scores", [1, 2, "n"])],
        [port("found", ["m", 3], KINDS.INT64), port("y", [4, "m"])],
        tmp_path,
        initializers=weights,
    )
    random = np.random.default_rng(7)
    corner = random.uniform(0, 4, (1, 30, 2))
    boxes = np.concatenate([corner, corner + random.uniform(1, 3, (1, 30, 2))], 2)
    scores = random.uniform(size=(1, 2, 30))
    same_as_runtime(path, boxes.astype(np.float32), scores.astype(np.float32))


@pytest.mark.parametrize("most", [0, 1, 2, 3, 9])
def test_first_boxes_of_equal_scores_are_kept(tmp_path, most):
    """With a limit on the number per class, the order decides which are kept."""
    nodes = [node("NonMaxSuppression", ["boxes", "scores", "most", "overlap"], ["found"])]
    weights = [number("most", [most]), number("overlap", [0.5], np.float32)]
    path = model_of(
        nodes,
        [port("boxes", [2, 8, 4]), port("scores", [2, 2, 8])],
        [port("found", ["m", 3], KINDS.INT64)],
        tmp_path,
        initializers=weights,
    )
    corner = np.float32([0, 0.1, 5, 5.1, 10, 15, 20, 0.05])
    boxes = np.stack([corner, corner, corner + 2, corner + 2], -1)
    equal, two_levels = [0.5] * 8, [0.3, 0.7] * 4
    scores = np.float32([[equal, two_levels], [two_levels[::-1], equal]])
    found = load(path)(np.stack([boxes, boxes[::-1]]), scores).numpy()
    assert all((found[:, :2] == [i, c]).all(-1).sum() <= most for i in (0, 1) for c in (0, 1))
    same_as_runtime(path, np.stack([boxes, boxes[::-1]]), scores)


@pytest.mark.parametrize("how", [{}, {"sorted": 0}, {"axis": 0}, {"axis": 1}])
def test_values_that_differ(tmp_path, how):
    nodes = [node("Unique", ["x"], ["y", "first", "inverse", "count"], **how)]
    outputs = [port("y", None if "axis" in how else ["n"])]
    outputs += [port(name, ["n"], KINDS.INT64) for name in ("first", "inverse", "count")]
    path = model_of(nodes, [port("x", [4, 3])], outputs, tmp_path)
    same_as_runtime(path, np.float32([[1, 0, 1], [2, 0, 2], [1, 0, 1], [0, 5, 0]]))
