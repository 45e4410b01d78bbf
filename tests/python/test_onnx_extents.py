# SPDX-License-Identifier: Apache-2.0
"""Values computed from open sizes: equal to ONNX Runtime's for all sizes, or refused.

Random models compute numbers from the extents of their input, which the reader may take for
constants, and use them as values, as targets of a reshape and as bounds of a slice.
"""

import importlib
import os
import random

import numpy as np
import pytest
from onnx_files import model_of, number, onnx, port, same_as_runtime

load = importlib.import_module("megengine.onnx.reading").load
runtime = pytest.importorskip("onnxruntime")
node = onnx.helper.make_node
KINDS = onnx.TensorProto

MODELS = 4000 if os.environ.get("MGE_NIGHTLY") else 120
# With those that the reader records and follows, their neighbours, and multiples of small numbers.
EXTENTS = [1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 14, 16, 24, 30, 60, 64, 65, 110, 224]
BINARY = ["Add", "Add", "Sub", "Sub", "Mul", "Mul", "Div", "Mod", "Min", "Max", "Where", "Choose"]


class Expression:
    """Nodes that make int64 vectors of one element from the extents of x (n, m) and z (n, k)."""

    def __init__(self, draw):
        self.draw, self.nodes, self.weights = draw, [], []
        self.values = []
        for source, axis in (("x", 0), ("x", 1), ("z", 0), ("z", 1)):
            self.add("Shape", [source], start=axis, end=axis + 1)
        for _ in range(3):
            self.constant(draw.randint(1, 9))
        for _ in range(draw.randint(2, 9)):
            self.step()

    def add(self, op, inputs, **attributes):
        name = f"v{len(self.nodes)}"
        self.nodes.append(node(op, inputs, [name], **attributes))
        self.values.append(name)
        return name

    def constant(self, value):
        name = f"c{len(self.weights)}"
        self.weights.append(onnx.numpy_helper.from_array(np.array([value], np.int64), name))
        self.values.append(name)
        return name

    def step(self):
        op = self.draw.choice(BINARY)
        a, b, c = (self.draw.choice(self.values) for _ in range(3))
        if op in ("Div", "Mod"):  # never by zero
            b = self.add("Add", [self.add("Abs", [b]), self.constant(self.draw.randint(1, 3))])
            self.add(op, [a, b])
        elif op == "Where":
            is_so = self.add(self.draw.choice(["Equal", "Less", "Greater"]), [a, b])
            self.values.pop()
            self.add("Where", [is_so, c, self.draw.choice(self.values)])
        elif op == "Choose":
            both = self.add("Concat", [a, b], axis=0)
            self.values.pop()
            if self.draw.random() < 0.5:
                self.add("ReduceProd", [both], axes=[0], keepdims=1)
            else:
                self.add("Gather", [both, self.constant(self.draw.randint(0, 1))], axis=0)
        else:
            self.add(op, [a, b])

    def outputs(self):
        """The last value as it is, as a count of elements, and as a bound."""
        last, six = self.values[-1], self.constant(6)
        one, none = self.constant(1), self.constant(-1)
        self.add("Add", [self.add("Mod", [last, six], fmod=0), one])
        small = self.values[-1]
        self.nodes += [
            node("Identity", [last], ["value"]),
            node("Concat", [small, one], ["shape"], axis=0),
            node("Expand", ["one", "shape"], ["filled"]),
            node("Slice", ["x", self.weights[0].name, small, one], ["part"]),
            node("Concat", [none, one], ["flat"], axis=0),
            node("Reshape", ["part", "flat"], ["reshaped"]),
        ]
        self.weights[0].CopyFrom(
            onnx.numpy_helper.from_array(np.array([0], np.int64), self.weights[0].name)
        )
        self.weights.append(onnx.numpy_helper.from_array(np.float32([1]), "one"))
        kinds = {"value": KINDS.INT64, "filled": KINDS.FLOAT, "reshaped": KINDS.FLOAT}
        return [port(name, ["?"] * (1 + (name != "value")), kind) for name, kind in kinds.items()]


def session_of(path):
    """As the file says: its optimisations make 16 / 10 of 1 / 10 * 16, of whole numbers too."""
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return runtime.InferenceSession(str(path), options)


def write_model(seed, folder):
    expression = Expression(random.Random(seed))
    outputs = expression.outputs()
    inputs = [port("x", ["n", "m"]), port("z", ["n", "k"])]
    return model_of(
        expression.nodes, inputs, outputs, folder, initializers=expression.weights, opset=17
    )


@pytest.mark.parametrize("first", range(0, MODELS, 20))
def test_numbers_made_of_extents(first, tmp_path):
    refused = 0
    for seed in range(first, first + 20):
        path = write_model(seed, tmp_path)
        session = session_of(path)
        try:
            model = load(path)
        except RuntimeError as error:
            assert "not supported" in str(error) or "not a valid ONNX model" in str(error)
            refused += 1
            continue
        draw = random.Random(seed)
        for _ in range(8):
            n, m, k = (draw.choice(EXTENTS) for _ in range(3))
            x = np.arange(n * m, dtype=np.float32).reshape(n, m)
            z = np.zeros((n, k), np.float32)
            expected = session.run(None, {"x": x, "z": z})
            for y, wanted in zip(model(x, z), expected, strict=True):
                np.testing.assert_array_equal(np.asarray(y), wanted, f"model {seed}: {n} {m} {k}")
    assert refused <= 2


def test_a_length_that_an_exporter_has_written_into_reshapes(tmp_path):
    """The file calls it open, and works with no other: the batch is open all the same."""
    nodes = [
        node("Shape", ["x"], ["n"], start=0, end=1),
        node("Concat", ["n", "six", "one"], ["target"], axis=0),
        node("Reshape", ["x", "target"], ["r"]),
        node("ReduceSum", ["r", "last"], ["y"], keepdims=0),
    ]
    weights = [
        onnx.numpy_helper.from_array(np.array([value], np.int64), name)
        for name, value in [("six", 6), ("one", 1), ("last", -1)]
    ]
    ports = [port("x", ["n", "t"]), port("y", ["n", 6])]
    path = model_of(nodes, ports[:1], ports[1:], tmp_path, initializers=weights)
    model, session = load(path), runtime.InferenceSession(str(path))
    for n in (1, 2, 5):
        x = np.random.rand(n, 6).astype(np.float32)
        np.testing.assert_allclose(model(x).numpy(), session.run(None, {"x": x})[0], rtol=1e-6)
    with pytest.raises(RuntimeError, match="reshape"):
        model(np.zeros((2, 8), np.float32))


# Their sides have to be multiples of 64.
HALVED = [
    node("AveragePool", [f"x{k}"], [f"x{k + 1}"], kernel_shape=[2, 2], strides=[2, 2])
    for k in range(6)
] + [
    node("Resize", ["x6", "", "scales"], ["up"], mode="nearest"),
    node("Concat", ["up", "x5"], ["z"], axis=1),
]


def test_attention_over_images_of_any_size(tmp_path):
    """The products hold the fourth power of the sides."""
    nodes = [
        *HALVED,
        node("Shape", ["z"], ["shape"]),
        *(node("Gather", ["shape", str(k)], [f"e{k}"], axis=0) for k in range(4)),
        node("Mul", ["e2", "e3"], ["places"]),
        node("Concat", ["e0", "e1", "places"], ["flat"], axis=0),
        node("Reshape", ["z", "flat"], ["v"]),
        node("Transpose", ["v"], ["k"], perm=[0, 2, 1]),
        node("MatMul", ["k", "v"], ["s"]),
        node("Softmax", ["s"], ["p"], axis=-1),
        node("MatMul", ["v", "p"], ["w"]),
        node("Concat", ["e0", "e1", "e2", "e3"], ["whole"], axis=0),
        node("Reshape", ["w", "whole"], ["y"]),
    ]
    weights = [number("scales", [1, 1, 2, 2], np.float32)]
    weights += [number(str(k), [k]) for k in range(4)]
    inputs = [port("x0", ["b", 2, "h", "w"])]
    path = model_of(nodes, inputs, [port("y", None)], tmp_path, initializers=weights)
    for shape in ((1, 2, 64, 64), (3, 2, 128, 192)):
        same_as_runtime(path, np.random.default_rng(5).normal(size=shape).astype(np.float32))


def test_heads_of_an_open_width_are_refused(tmp_path):
    """By what they lack, not by the widths that the reader tries."""
    heads = {"q_num_heads": 3, "kv_num_heads": 3}
    attention = node("Attention", ["x", "x", "x"], ["y"], **heads)
    ports = [port("x", ["b", "n", "w"])], [port("y", ["b", "n", "w"])]
    path = model_of([attention], *ports, tmp_path, opset=23)
    with pytest.raises(RuntimeError, match="heads of an open width") as caught:
        load(path)
    assert "1 part that is not supported" in str(caught.value)


@pytest.mark.parametrize("side", ["w", 64])
def test_element_count_is_not_constant(side, tmp_path):
    """If the sides must be multiples of 64, few other sizes remain for comparison."""
    nodes = [
        *HALVED,
        node("NonZero", ["z"], ["places"]),
        node("Transpose", ["places"], ["rows"], perm=[1, 0]),
        node("Shape", ["rows"], ["shape"]),
        node("Cast", ["shape"], ["y"], to=KINDS.FLOAT),
    ]
    weights = [number("scales", [1, 1, 2, 2], np.float32)]
    path = model_of(
        nodes, [port("x0", [1, 2, side, side])], [port("y", [2])], tmp_path, initializers=weights
    )
    x = np.zeros((1, 2, 64, 64), np.float32)
    same_as_runtime(path, x)
    x[0, 0, :32, :32] = 1
    same_as_runtime(path, x)


@pytest.mark.parametrize("op", ["Sub", "Div", "Equal"])
def test_two_run_time_numbers_are_not_equal(op, tmp_path):
    """Nor is what is computed from them a constant, by which a result is cut or reshaped."""
    nodes = []
    for name in "ab":
        nodes += [
            node("NonZero", [name], [name + "p"]),
            node("Shape", [name + "p"], [name + "s"], start=1, end=2),
        ]
    nodes += [
        node(op, ["as", "bs"], ["d"]),
        node("Cast", ["d"], ["n"], to=KINDS.INT64),
        node("Slice", ["x", "zero", "n"], ["y"]),
    ]
    weights = [number("zero", [0])]
    inputs = [port("a", [8]), port("b", [8]), port("x", [20])]
    outputs = [port("n", [1], KINDS.INT64), port("y", ["k"])]
    path = model_of(nodes, inputs, outputs, tmp_path, initializers=weights)
    ones, x = np.ones(8, np.float32), np.arange(20, dtype=np.float32)
    for hits in (1, 2, 8):
        same_as_runtime(path, ones, np.float32(np.arange(8) < hits), x)


def test_run_time_extents_may_have_to_be_equal(tmp_path):
    """Two lists of places that are added: other extents of theirs are fixed all the same."""
    nodes = [
        node("NonZero", ["a"], ["ap"]),
        node("NonZero", ["b"], ["bp"]),
        node("Add", ["ap", "bp"], ["sum"]),
        node("Shape", ["sum"], ["shape"]),
        node("Sub", ["shape", "shape"], ["none"]),
        node("Transpose", ["sum"], ["rows"], perm=[1, 0]),
        node("Squeeze", ["rows", "last"], ["y"]),
    ]
    path = model_of(
        nodes,
        [port("a", [8]), port("b", [8])],
        [port("y", ["n"], KINDS.INT64), port("shape", [2], KINDS.INT64)]
        + [port("none", [2], KINDS.INT64)],
        tmp_path,
        initializers=[number("last", [1])],
    )
    for hits in (0, 1, 5):
        chosen = np.float32(np.arange(8) < hits)
        same_as_runtime(path, chosen, chosen[::-1].copy())


SELECTIONS = {
    "Gather": [
        node("NonZero", ["is"], ["found"]),
        node("Squeeze", ["found", "none1"], ["places"]),
        node("Gather", ["x", "places"], ["boxes"], axis=0),
    ],
    "Compress": [node("Compress", ["x", "is"], ["boxes"], axis=0)],
}


@pytest.mark.parametrize("selection", SELECTIONS)
@pytest.mark.parametrize("hits", [0, 1, 7])
def test_run_time_results_are_padded_to_a_fixed_size(hits, selection, tmp_path):
    """The end of Ultralytics detectors: boxes, possibly none, padded with zeros."""
    nodes = [
        node("Greater", ["s", "zero"], ["is"]),
        *SELECTIONS[selection],
        node("Shape", ["boxes"], ["shape"], start=0, end=1),
        node("Sub", ["nine", "shape"], ["rest"]),
        node("Concat", ["none", "rest", "none1"], ["pads"], axis=0),
        node("Pad", ["boxes", "pads"], ["all"]),
        node("Reshape", ["all", "target"], ["rows"]),
        node("ScatterND", ["start", "at", "rows"], ["y"]),
    ]
    weights = [
        number("zero", 0, np.float32),
        number("nine", [9]),
        number("none", [0, 0]),
        number("none1", [0]),
        number("target", [-1, 9, 6]),
        number("start", np.ones((2, 9, 6)), np.float32),
        number("at", [[1]]),
    ]
    inputs = [port("x", [8, 6]), port("s", [8])]
    path = model_of(nodes, inputs, [port("y", [2, 9, 6])], tmp_path, initializers=weights)
    x = np.random.default_rng(2).normal(size=(8, 6)).astype(np.float32)
    same_as_runtime(path, x, np.float32(np.arange(8) < hits))


@pytest.mark.parametrize("extent", ["n", 3])
@pytest.mark.parametrize("most", [1, 2, 9])
def test_first_run_time_results_may_be_fewer(extent, most, tmp_path):
    nodes = [
        node("NonZero", ["x"], ["places"]),
        node("Slice", ["places", "none", "most", "axis"], ["first"]),
        node("Shape", ["first"], ["shape"]),
        node("Cast", ["shape"], ["y"], to=KINDS.FLOAT),
    ]
    weights = [number("none", [0]), number("most", [most]), number("axis", [1])]
    path = model_of(nodes, [port("x", [extent])], [port("y", [2])], tmp_path, initializers=weights)
    for x in ([1, 1, 1], [1, 0, 0], [0, 0, 0]):
        same_as_runtime(path, np.float32(x))


def test_exported_sides_in_a_table(tmp_path):
    """As RT-DETR's positions: the file says that any size goes, and only one does."""
    nodes = [
        node("Shape", ["x"], ["shape"]),
        *(node("Gather", ["shape", str(k)], [f"e{k}"], axis=0) for k in range(3)),
        node("Mul", ["e1", "e2"], ["places"]),
        node("Concat", ["e0", "places"], ["flat"], axis=0),
        node("Add", ["x", "table"], ["moved"]),
        node("Reshape", ["moved", "flat"], ["z"]),
        node("Relu", ["z"], ["y"]),
    ]
    table = np.random.default_rng(1).normal(size=(64, 64))
    weights = [number("table", table, np.float32), *(number(str(k), [k]) for k in range(3))]
    inputs = [port("x", ["b", "h", "w"])]
    path = model_of(nodes, inputs, [port("y", None)], tmp_path, initializers=weights)
    for batch in (1, 3):
        x = np.random.default_rng(batch).normal(size=(batch, 64, 64))
        same_as_runtime(path, x.astype(np.float32))


def test_partially_known_shapes(tmp_path):
    """As AffineGrid is written out: the rows of a table, as many as an input says."""
    nodes = [
        node("Split", ["size"], ["n", "c"], axis=0, num_outputs=2),
        node("Concat", ["n", "two_three"], ["shape"], axis=0),
        node("Expand", ["index", "shape"], ["places"]),
        node("GatherElements", ["x", "places"], ["z"], axis=2),
        node("Split", ["z"], ["upper", "lower"], axis=1, num_outputs=2),
        node("Squeeze", ["upper"], ["a"]),
        node("Squeeze", ["lower"], ["b"]),
        node("Split", ["a"], ["a0", "a1", "a2"], axis=1, num_outputs=3),
        node("Concat", ["a2", "b", "a0"], ["y"], axis=1),
    ]
    weights = [number("two_three", [2, 3]), number("index", [[0, 2, 1], [1, 1, 0]])]
    inputs = [port("x", [4, 2, 3]), port("size", [2], KINDS.INT64)]
    path = model_of(nodes, inputs, [port("y", None)], tmp_path, initializers=weights, opset=18)
    x = np.random.default_rng(2).normal(size=(4, 2, 3)).astype(np.float32)
    for count in (2, 3, 4):
        same_as_runtime(path, x, np.array([count, 7]))


def test_an_axis_that_may_be_one_stays_or_ends_the_run(tmp_path):
    nodes = [node("Squeeze", ["x"], ["z"]), node("Relu", ["z"], ["y"])]
    path = model_of(nodes, [port("x", ["n", 1, "m", 3])], [port("y", None)], tmp_path)
    for n, m in ((2, 4), (0, 2)):
        same_as_runtime(path, np.ones((n, 1, m, 3), np.float32))
    model = load(path)
    for n, m in ((1, 4), (3, 1)):
        with pytest.raises(RuntimeError, match="assert_equal"):
            model(np.ones((n, 1, m, 3), np.float32))


def branch(name, op, inputs):
    made = [node(op, inputs, [name])]
    return onnx.helper.make_graph(made, name, [], [port(name, None)])


def squeezed_if_one(x, y):
    """As torch.squeeze with an axis is written where its extent is open."""
    taken, other = branch(f"{y}_then", "Squeeze", [x, "last"]), branch(f"{y}_else", "Identity", [x])
    return [
        node("Shape", [x], [f"{y}_shape"]),
        node("Gather", [f"{y}_shape", "last"], [f"{y}_extent"]),
        node("Equal", [f"{y}_extent", "one"], [f"{y}_is_one"]),
        node("If", [f"{y}_is_one"], [y], then_branch=taken, else_branch=other),
    ]


@pytest.mark.parametrize("kernel", [8, 3])
@pytest.mark.parametrize("is_inner", [False, True])
def test_branches_of_different_ranks_follow_the_recording(is_inner, kernel, tmp_path):
    """The following operator works with one of them: a matrix is transposed.

    With the usual size of 8, or else with the least that the pooling takes.
    """
    nodes = [
        node("MaxPool", ["x"], ["p"], kernel_shape=[kernel], strides=[kernel]),
        *squeezed_if_one("p", "s"),
        node("Shape", ["s"], ["t"]),
        node("Size", ["t"], ["rank"]),
        node("Equal", ["rank", "two"], ["is_flat"]),
        node(
            "If",
            ["is_flat"],
            ["u"],
            then_branch=branch("u_then", "Identity", ["s"]),
            else_branch=branch("u_else", "Unsqueeze", ["s", "first"]),
        ),
        node("Transpose", ["u"], ["v"], perm=[1, 0]),
        node("Gemm", ["v", "w"], ["y"], transA=1),
    ]
    if is_inner:
        outer = onnx.helper.make_graph(nodes, "outer", [], [port("y", None)])
        nodes = [
            node("If", ["c"], ["z"], then_branch=outer, else_branch=branch("e", "Identity", ["w"]))
        ]
    w = np.random.default_rng(3).normal(size=(4, 5))
    weights = [
        *(number(name, [n]) for name, n in {"first": 0, "last": -1, "one": 1}.items()),
        number("two", 2),
        number("w", w, np.float32),
    ]
    inputs = [port("x", ["b", 4, "length"]), *([port("c", [], KINDS.BOOL)] if is_inner else [])]
    outputs = [port("z" if is_inner else "y", None)]
    path = model_of(nodes, inputs, outputs, tmp_path, initializers=weights)
    more = [np.array(True)] if is_inner else []
    for batch, length in ((1, kernel), (3, 2 * kernel - 1)):
        same_as_runtime(path, np.ones((batch, 4, length), np.float32) * batch, *more)
    with pytest.raises(RuntimeError, match="remove_axis|assert_equal"):
        load(path)(np.ones((1, 4, 2 * kernel), np.float32), *more)


def test_unnamed_extents_next_to_states_are_the_batch(tmp_path):
    """As voice detectors have states of layers."""
    nodes = [
        node("Reshape", ["x", "frames"], ["f"]),
        node("ReduceMean", ["f"], ["m"], axes=[2], keepdims=0),
        node("Gather", ["state", "last"], ["s"], axis=0),
        node("Concat", ["m", "s"], ["t"], axis=1),
        node("Shape", ["s"], ["shape"]),
        node("Expand", ["one", "shape"], ["ones"]),
        node("Concat", ["t", "ones"], ["y"], axis=1),
    ]
    inputs = [port("x", [None, None]), port("state", [2, None, 4])]
    weights = [number("last", 1), number("frames", [0, 8, -1]), number("one", 1, np.float32)]
    path = model_of(nodes, inputs, [port("y", None)], tmp_path, initializers=weights)
    for batch in (1, 3):
        draw = np.random.default_rng(batch)
        x, state = draw.normal(size=(batch, 16 * batch)), draw.normal(size=(2, batch, 4))
        same_as_runtime(path, x.astype(np.float32), state.astype(np.float32))
    with pytest.raises(RuntimeError):
        load(path)(np.ones((3, 8), np.float32), np.ones((2, 2, 4), np.float32))


def test_batch_with_run_time_lengths(tmp_path):
    """As VITS spreads its texts: as many frames as the longest of a batch has."""
    nodes = [
        node("ReduceMax", ["count"], ["longest"], keepdims=0),
        node("Reshape", ["longest", "one"], ["frames"]),
        node("Range", ["zero", "longest", "step"], ["places"]),
        node("Shape", ["x"], ["batch"], start=0, end=1),
        node("Shape", ["x"], ["words"], start=1, end=2),
        node("Mul", ["batch", "words"], ["rows"]),
        node("Reshape", ["x", "column"], ["ends"]),
        node("Less", ["places", "ends"], ["is_before"]),
        node("Cast", ["is_before"], ["flags"], to=KINDS.FLOAT),
        node("Concat", ["batch", "words", "frames"], ["shape"], axis=0),
        node("Reshape", ["flags", "shape"], ["path"]),
        node("Transpose", ["path"], ["turned"], perm=[0, 2, 1]),
        node("MatMul", ["turned", "features"], ["spread"]),
        node("RandomNormalLike", ["spread"], ["noise"], seed=1.0),
        node("Mul", ["noise", "none"], ["nothing"]),
        node("Add", ["spread", "nothing"], ["summed"]),
        node("Shape", ["summed"], ["like"]),
        node("Expand", ["half", "like"], ["halves"]),
        node("Add", ["summed", "halves"], ["y"]),
    ]
    weights = [
        *(number(name, value) for name, value in {"zero": 0, "step": 1, "one": [1]}.items()),
        number("column", [-1, 1]),
        *(number(name, value, np.float32) for name, value in {"none": 0, "half": 0.5}.items()),
    ]
    inputs = [
        port("x", ["b", 9], KINDS.INT64),
        port("features", ["b", 9, 4]),
        port("count", ["b"], KINDS.INT64),
    ]
    path = model_of(nodes, inputs, [port("y", None)], tmp_path, initializers=weights)
    draw = np.random.default_rng(5)
    for batch in (1, 3):
        x, count = draw.integers(0, 6, (batch, 9)), draw.integers(2, 7, batch)
        same_as_runtime(path, x, draw.normal(size=(batch, 9, 4)).astype(np.float32), count)


WINDOWS = {"kernel_shape": [3, 2], "strides": [2, 3]}
SIDES = [(8, 8), (9, 11), (64, 65), (5, 7), (3, 4)]


@pytest.mark.parametrize(
    "how", [{"ceil_mode": 1}, {"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}]
)
@pytest.mark.parametrize("op", ["MaxPool", "AveragePool", "Conv"])
@pytest.mark.parametrize("more", [{}, {"strides": [2, 2], "count_include_pad": 1}])
def test_window_count_of_open_extents(op, how, more, tmp_path):
    attributes = {**WINDOWS, **how, **more}
    if op != "AveragePool":
        attributes.pop("count_include_pad", None)
    if op == "Conv":
        attributes.pop("ceil_mode", None)
    weights = [number("w", np.arange(12).reshape(2, 1, 3, 2) - 5, np.float32)]
    inputs = ["x", "w"] if op == "Conv" else ["x"]
    if "ceil_mode" in attributes:  # no window begins behind the image
        attributes["strides"] = [2, 2]
    path = model_of(
        [node(op, inputs, ["y"], **attributes)],
        [port("x", ["b", 1, "h", "w_"])],
        [port("y", None)],
        tmp_path,
        initializers=weights[: len(inputs) - 1],
        opset=19,
    )
    for sides in SIDES:
        x = np.random.default_rng(6).normal(size=(2, 1, *sides)).astype(np.float32)
        same_as_runtime(path, x)


def test_volume_windows_have_too_many_axes(tmp_path):
    """Eight, between a reshape and the next, as video transformers cut them out."""
    weights = [
        number("cut", [-1, 2, 2, 3, 2, 1, 5, 4]),
        number("windows", [-1, 20, 4]),
        number("back", [-1, 2, 3, 1, 2, 2, 5, 4]),
        number("volume", [-1, 4, 6, 5, 4]),
    ]
    nodes = [
        node("Reshape", ["x", "cut"], ["a"]),
        node("Transpose", ["a"], ["b"], perm=[0, 1, 3, 5, 2, 4, 6, 7]),
        node("Reshape", ["b", "windows"], ["y"]),
        node("Relu", ["y"], ["r"]),
        node("Reshape", ["r", "back"], ["c"]),
        node("Transpose", ["c"], ["d"], perm=[0, 1, 4, 2, 5, 3, 6, 7]),
        node("Reshape", ["d", "volume"], ["z"]),
    ]
    outputs = [port("y", None), port("z", None)]
    ports = [port("x", ["b", 4, 6, 5, 4])]
    path = model_of(nodes, ports, outputs, tmp_path, initializers=weights)
    for batch in (1, 3):
        x = np.random.default_rng(7).normal(size=(batch, 4, 6, 5, 4)).astype(np.float32)
        y, z = load(path)(x)
        order = (0, 1, 3, 5, 2, 4, 6, 7)
        windows = x.reshape(-1, 2, 2, 3, 2, 1, 5, 4).transpose(order).reshape(-1, 20, 4)
        np.testing.assert_array_equal(y.numpy(), windows)
        np.testing.assert_array_equal(z.numpy(), np.maximum(x, 0))


@pytest.mark.parametrize("op", ["Add", "Sub", "Mul"])
def test_operands_of_too_many_axes(op, tmp_path):
    """As attention over volumes adds what depends on one axis of either side."""
    weights = [
        number("cut", [-1, 3, 2, 2, 2, 3, 2, 1]),
        number("ends", [6, 7]),
        number("first", [0]),
        number("flat", [-1, 12, 12]),
    ]
    nodes = [
        node("Reshape", ["x", "cut"], ["a"]),
        node("Unsqueeze", ["z", "ends"], ["b"]),
        node(op, ["a", "b"], ["c"]),
        node(op, ["w", "c"], ["d"]),
        node("Unsqueeze", ["d", "first"], ["e"]),
        node("Reshape", ["e", "flat"], ["y"]),
    ]
    inputs = [port("x", ["b", 144]), port("z", ["b", 3, 2, 1, 2, 3]), port("w", [3, 1, 1])]
    path = model_of(nodes, inputs, [port("y", None)], tmp_path, initializers=weights)
    for batch in (1, 3):
        draw = np.random.default_rng(8)
        x, z, w = (
            draw.normal(size=shape).astype(np.float32)
            for shape in [(batch, 144), (batch, 3, 2, 1, 2, 3), (3, 1, 1)]
        )
        same_as_runtime(path, x, z, w)


@pytest.mark.parametrize(
    "second, reason",
    [
        (node("Relu", ["a"], ["y"]), "a tensor of rank 8 as its input"),
        (node("Add", ["a", "three"], ["y"]), "sizes 2 and 3 of axis 7"),
        (node("Transpose", ["a"], ["y"]), "a transposition of 8 axes"),
        (
            node("Transpose", ["a"], ["y"], perm=[0, 1, 2]),
            "its perm is not a permutation of 8 axes",
        ),
        (node("Identity", ["x"], ["y"]), "output 'a': a tensor of rank 8 as an output"),
    ],
)
def test_tensors_of_eight_axes_are_refused_elsewhere(second, reason, tmp_path):
    nodes = [node("Reshape", ["x", "cut"], ["a"]), second]
    outputs = [port("y", None), port("a", None)]
    weights = [number("cut", [2] * 8), number("three", [1, 2, 3], np.float32)]
    outputs = outputs[:1] if "output" not in reason else outputs
    path = model_of(nodes, [port("x", [256])], outputs, tmp_path, initializers=weights)
    with pytest.raises(RuntimeError, match=reason):
        load(path)
