# SPDX-License-Identifier: Apache-2.0
"""ONNX files with graphs inside of nodes, and extents that only a run can tell."""

import importlib

import numpy as np
import pytest
from test_onnx_import import model_of, onnx, port

from megengine.utils.network import Network

load = importlib.import_module("megengine.onnx.reading").load
node, graph = onnx.helper.make_node, onnx.helper.make_graph
KINDS = onnx.TensorProto


def number(name, value, dtype=np.int64):
    return onnx.numpy_helper.from_array(np.array(value, dtype), name)


def same_as_runtime(path, *inputs):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path))
    names = [port.name for port in session.get_inputs()]
    expected = session.run(None, dict(zip(names, inputs, strict=True)))
    outputs = load(path)(*inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    for y, z in zip(outputs, expected, strict=True):
        assert y.numpy().shape == z.shape and y.numpy().dtype == z.dtype
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-5, atol=1e-6)


def summing_body(*more, condition="go"):
    """a' = a + x * i; collects a'."""
    nodes = [
        node("Cast", ["i"], ["f"], to=KINDS.FLOAT),
        node("Mul", ["x", "f"], ["m"]),
        node("Add", ["a", "m"], ["b"]),
        node("Identity", ["b"], ["s"]),
        *more,
    ]
    inputs = [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", [2])]
    outputs = [port(condition, [], KINDS.BOOL), port("b", [2]), port("s", [2])]
    return graph(nodes, "body", inputs, outputs)


LOOP_INPUTS = [port("n", [], KINDS.INT64), port("x", [2])]
LOOP_OUTPUTS = [port("y", [2]), port("all", ["steps", 2])]


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_loop_of_as_many_steps_as_an_input_says(tmp_path, steps):
    nodes = [
        node("Identity", ["x"], ["start"]),
        node("Loop", ["n", "", "start"], ["y", "all"], body=summing_body()),
    ]
    path = model_of(nodes, LOOP_INPUTS, LOOP_OUTPUTS, tmp_path)
    same_as_runtime(path, np.array(steps), np.float32([1, 2]))


@pytest.mark.parametrize("limit", [3, 100, 2**63 - 1])
@pytest.mark.parametrize("collects", [True, False])
def test_a_loop_whose_steps_find_out_which_is_the_last(tmp_path, limit, collects):
    body = summing_body(
        node("ReduceSum", ["b"], ["sum"], keepdims=0),
        node("Less", ["sum", "most"], ["on"]),
        condition="on",
    )
    if not collects:
        del body.output[2]
    nodes = [
        node("Identity", ["x"], ["start"]),
        node("Loop", ["n", "", "start"], ["y", "all"][: 1 + collects], body=body),
    ]
    outputs = LOOP_OUTPUTS[: 1 + collects]
    weights, inputs = [number("most", 40, np.float32)], [np.array(limit), np.float32([1, 2])]
    is_fixed = limit > 100
    if is_fixed:
        weights.append(number("n", limit))
    path = model_of(nodes, LOOP_INPUTS[is_fixed:], outputs, tmp_path, initializers=weights)
    same_as_runtime(path, *inputs[is_fixed:])


def test_a_loop_whose_carried_value_grows(tmp_path):
    body = graph(
        [node("Concat", ["a", "x"], ["b"], axis=0), node("Identity", ["go"], ["on"])],
        "body",
        [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k"])],
        [port("on", [], KINDS.BOOL), port("b", ["l"])],
    )
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=body)]
    path = model_of(
        nodes, [port("x", [2])], [port("y", ["m"])], tmp_path, initializers=[number("n", 3)]
    )
    same_as_runtime(path, np.float32([1, 2]))


def growing_body(*nodes, parts=("a", "x")):
    """Appends a part in each step; others carry what only grows where it stands."""
    return graph(
        [*nodes, node("Concat", parts, ["b"], axis=0), node("Identity", ["go"], ["on"])],
        "body",
        [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k"])],
        [port("on", [], KINDS.BOOL), port("b", ["l"])],
    )


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_loop_of_unknown_length_that_appends(steps, tmp_path):
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=growing_body())]
    path = model_of(nodes, LOOP_INPUTS, [port("y", ["m"])], tmp_path)
    same_as_runtime(path, np.array(steps), np.float32([1, 2]))


@pytest.mark.parametrize("side", [1, 3])
@pytest.mark.parametrize("steps", [0, 1, 4])
def test_a_loop_that_pastes_each_part_into_an_image(steps, side, tmp_path):
    """As PyTorch's scripts write masks of boxes: what is cut out of it has its size from a run."""
    body = graph(
        [
            node("Gather", ["sizes", "i"], ["size"], axis=0),
            node("Unsqueeze", ["size", "0"], ["end"]),
            node("Slice", ["x", "0", "end", "0"], ["part"]),
            node("Sub", ["5", "end"], ["rest"]),
            node("Concat", ["rest", "width"], ["target"], axis=0),
            node("ConstantOfShape", ["target"], ["margin"]),
            node("Concat", ["part", "margin"], ["image"], axis=0),
            node("Add", ["t", "1"], ["u"]),
            node("Mul", ["image", "u"], ["scaled"]),
            node("Unsqueeze", ["scaled", "0"], ["row"]),
            node("Concat", ["a", "row"], ["b"], axis=0),
            node("ReduceSum", ["image"], ["sum"], keepdims=0),
            node("Identity", ["go"], ["on"]),
        ],
        "body",
        [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k", 5, side])]
        + [port("t", [])],
        [port("on", [], KINDS.BOOL), port("b", ["l", 5, side]), port("u", []), port("sum", [])],
    )
    nodes = [
        node("Shape", ["sizes"], ["counts"]),
        node("Squeeze", ["counts"], ["n"]),
        node("Loop", ["n", "", "none", "0f"], ["y", "last", "sums"], body=body),
    ]
    weights = [
        number("0", [0]),
        number("5", [5]),
        number("1", 1, np.float32),
        number("0f", 0, np.float32),
        number("width", [side]),
        number("none", np.zeros((0, 5, side)), np.float32),
    ]
    inputs = [port("x", [5, side]), port("sizes", ["n"], KINDS.INT64)]
    outputs = [port("y", ["m", 5, side]), port("last", []), port("sums", ["n"])]
    path = model_of(nodes, inputs, outputs, tmp_path, initializers=weights)
    x = np.random.default_rng(1).normal(size=(5, side)).astype(np.float32)
    same_as_runtime(path, x, np.array([3, 5, 1, 0][:steps], np.int64))


@pytest.mark.parametrize(
    "body",
    [
        growing_body(parts=("x", "a")),
        growing_body(node("Neg", ["a"], ["c"]), parts=("a", "c")),
    ],
    ids=["in front", "made of it"],
)
def test_a_growing_loop_of_unknown_length_is_refused(body, tmp_path):
    nodes = [node("Loop", ["n", "", "x"], ["y"], body=body, name="grows")]
    path = model_of(nodes, LOOP_INPUTS, [port("y", ["m"])], tmp_path)
    with pytest.raises(RuntimeError, match="'grows'.*changes its shape"):
        load(path)


def test_a_branch_of_another_rank(tmp_path):
    """What is added to it has one rank, whichever is taken."""

    def branch(name, like):
        return graph([node("Neg", [like], [name])], name, [], [port(name, None)])

    nodes = [
        node("Greater", ["x0", "zero"], ["is"]),
        node("If", ["is"], ["t"], then_branch=branch("a", "x0"), else_branch=branch("b", "x1")),
        node("Add", ["z", "t"], ["sum"]),
        node("Unsqueeze", ["sum", "last"], ["y"]),
    ]
    weights = [number("zero", 0, np.float32), number("last", [-1])]
    inputs = [port("x0", []), port("x1", [1]), port("z", [3, 2])]
    path = model_of(nodes, inputs, [port("y", [3, 2, 1])], tmp_path, initializers=weights)
    z = np.random.default_rng(1).normal(size=(3, 2)).astype(np.float32)
    for x0 in (1, -1):
        same_as_runtime(path, np.array(x0, np.float32), np.float32([5]), z)


@pytest.mark.parametrize(
    "trips, reason", [("", "never ends"), ("n", "a loop of 9223372036854775807 steps")]
)
def test_loops_without_an_end_are_refused(tmp_path, trips, reason):
    nodes = [
        node("Identity", ["x"], ["start"]),
        node("Loop", [trips, "", "start"], ["y", "all"], body=summing_body()),
    ]
    weights = [number("n", 2**63 - 1)]
    path = model_of(nodes, [port("x", [2])], LOOP_OUTPUTS, tmp_path, initializers=weights)
    with pytest.raises(RuntimeError, match=reason):
        load(path)


def test_loops_in_loops_that_would_be_written_out_for_ever_are_refused(tmp_path):
    def nested(depth):
        inner = "a" if not depth else "c"
        nodes = [node("Loop", ["n", "", "a"], ["c"], body=nested(depth - 1))] if depth else []
        nodes += [node("Concat", [inner, "x"], ["b"], axis=0), node("Identity", ["go"], ["on"])]
        inputs = [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k"])]
        return graph(nodes, "body", inputs, [port("on", [], KINDS.BOOL), port("b", ["l"])])

    nodes = [node("Loop", ["n", "", "x"], ["y"], body=nested(4))]
    weights = [number("n", 1000), onnx.numpy_helper.from_array(np.float32([1, 2]), "x")]
    path = model_of(nodes, [], [port("y", ["m"])], tmp_path, initializers=weights)
    with pytest.raises(RuntimeError, match="is not a valid ONNX model|without a counterpart"):
        load(path)


def test_loops_that_count_their_steps(tmp_path):
    """As recurrent layers of TensorFlow, which count their steps themselves."""

    def body(outer, width):
        nodes = [
            node("Gather", [outer, "i"], ["x"], axis=0),
            node("MatMul", ["x", f"w{width}"], ["m"]),
            node("Add", ["m", "a"], ["s"]),
            node("Tanh", ["s"], ["b"]),
            node("Identity", ["b"], ["all"]),
            node("Add", ["k", "one"], ["more"]),
            node("Less", ["more", "steps"], ["on"]),
        ]
        inputs = [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL)]
        inputs += [port("a", [2, width]), port("k", [], KINDS.INT64)]
        outputs = [port("on", [], KINDS.BOOL), port("b", [2, width])]
        outputs += [port("more", [], KINDS.INT64), port("all", [2, width])]
        return graph(nodes, f"body{width}", inputs, outputs)

    nodes = [
        node("Shape", ["x0"], ["shape"], start=0, end=1),
        node("Squeeze", ["shape"], ["steps"]),
        node("Loop", ["steps", "", "z5", "zero"], ["y5", "k5", "all5"], body=body("x0", 5)),
        node("Loop", ["steps", "", "z3", "zero"], ["y", "k3", "all3"], body=body("all5", 3)),
    ]
    draw = np.random.default_rng(0).normal
    weights = [number("one", 1), number("zero", 0)]
    weights += [number("w5", draw(size=(3, 5)), np.float32)]
    weights += [number("w3", draw(size=(5, 3)), np.float32)]
    weights += [number(f"z{n}", np.zeros((2, n)), np.float32) for n in (5, 3)]
    outputs = [port("y", [2, 3]), port("all3", ["t", 2, 3])]
    path = model_of(nodes, [port("x0", ["t", 2, 3])], outputs, tmp_path, initializers=weights)
    kinds = [operator.type for operator in Network.load(str(path)).all_oprs]
    assert "while_loop" not in kinds
    for steps in (1, 4):
        same_as_runtime(path, draw(size=(steps, 2, 3)).astype(np.float32))


@pytest.mark.parametrize("condition", ["more < n", "n > more", "i < n", "n <= more", "k + k < n"])
@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_conditions_of_counters(tmp_path, condition, n):
    """Those that tell the number of steps, and those that each step has to compute."""
    a, relation, b = condition.replace("k + k", "twice").split()
    kind = {"<": "Less", ">": "Greater", "<=": "LessOrEqual"}[relation]
    body = graph(
        [
            node("Add", ["k", "one"], ["more"]),
            node("Add", ["k", "k"], ["twice"]),
            node(kind, [a, b], ["short"]),
            node("And", ["short", "go"], ["on"]),
            node("Add", ["x", "x"], ["y"]),
            node("Identity", ["y"], ["s"]),
        ],
        "body",
        [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("x", [2])]
        + [port("k", [], KINDS.INT64)],
        [port("on", [], KINDS.BOOL), port("y", [2]), port("more", [], KINDS.INT64)]
        + [port("s", [2])],
    )
    nodes = [
        node("Identity", ["x0"], ["start"]),
        node("Loop", ["most", "", "start", "zero"], ["y0", "k0", "all"], body=body),
    ]
    weights = [number("one", 1), number("zero", 0), number("most", 5)]
    outputs = [port("y0", [2]), port("k0", [], KINDS.INT64), port("all", ["t", 2])]
    inputs = [port("x0", [2]), port("n", [], KINDS.INT64)]
    path = model_of(nodes, inputs, outputs, tmp_path, initializers=weights)
    same_as_runtime(path, np.float32([1, -2]), np.array(n))


def test_a_loop_that_would_become_far_larger_than_its_file_is_refused(tmp_path):
    """1000 steps of 64 vectors of 1024 numbers each, all known ahead of a run: 500 MB of 5 KB."""
    chain = [node("Add", ["a" if not k else f"v{k - 1}", "one"], [f"v{k}"]) for k in range(64)]
    body = graph(
        [*chain, node("Concat", ["p", "one"], ["q"], axis=0), node("Identity", ["go"], ["on"])],
        "body",
        [
            port("i", [], KINDS.INT64),
            port("go", [], KINDS.BOOL),
            port("a", [1024], KINDS.INT64),
            port("p", ["k"], KINDS.INT64),
        ],
        [
            port("on", [], KINDS.BOOL),
            port("v63", [1024], KINDS.INT64),
            port("q", ["l"], KINDS.INT64),
        ],
    )
    nodes = [
        node("ConstantOfShape", ["length"], ["start"], value=number("zero", [0])),
        node("Loop", ["n", "", "start", "one"], ["y", "z"], body=body),
        node("Cast", ["z"], ["f"], to=KINDS.FLOAT),
        node("Add", ["x", "f"], ["w"]),
    ]
    weights = [number("n", 1000), number("length", [1024]), number("one", [1])]
    path = model_of(nodes, [port("x", [1])], [port("w", ["m"])], tmp_path, initializers=weights)
    with pytest.raises(RuntimeError, match="takes more than the .* bytes that are allowed"):
        load(path)


def test_a_file_whose_tries_would_take_far_more_than_it_does_is_refused(tmp_path):
    """Reshape works at the last length alone of those that are tried: 14 numbers of the file behind
    five that every file is tried with, each in a graph of 15,000 nodes."""
    chain = [node("Add", ["a" if not k else f"v{k - 1}", "one"], [f"v{k}"]) for k in range(30)]
    body = graph(
        [*chain, node("Concat", ["p", "one"], ["q"], axis=0), node("Identity", ["go"], ["on"])],
        "body",
        [
            port("i", [], KINDS.INT64),
            port("go", [], KINDS.BOOL),
            port("a", [1], KINDS.INT64),
            port("p", ["k"], KINDS.INT64),
        ],
        [
            port("on", [], KINDS.BOOL),
            port("v29", [1], KINDS.INT64),
            port("q", ["l"], KINDS.INT64),
        ],
    )
    nodes = [
        node("Shape", ["x"], ["s"]),
        node("Loop", ["n", "", "s", "one"], ["y", "z"], body=body),
        node("Cast", ["z"], ["f"], to=KINDS.FLOAT),
        node("Reshape", ["x", "n17"], ["w"]),
        node("ReduceSum", ["w"], ["sum"]),
        node("Add", ["sum", "f"], ["out"]),
    ]
    weights = [number("n", 500), number("one", [1])]
    weights += [number(f"n{k}", [k]) for k in range(2, 18)]
    path = model_of(
        nodes, [port("x", [1, "m"])], [port("out", ["k"])], tmp_path, initializers=weights
    )
    with pytest.raises(RuntimeError, match="cannot reshape"):
        load(path)


@pytest.mark.parametrize("backwards", [0, 1])
def test_a_scan_along_any_axis_in_either_direction(tmp_path, backwards):
    body = graph(
        [node("Add", ["a", "x"], ["b"]), node("Mul", ["b", "x"], ["s"])],
        "body",
        [port("a", [2]), port("x", [2])],
        [port("b", [2]), port("s", [2])],
    )
    scan = node(
        "Scan",
        ["a0", "xs"],
        ["y", "all"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[1],
        scan_output_axes=[1],
        scan_input_directions=[backwards],
        scan_output_directions=[1 - backwards],
    )
    path = model_of(
        [scan],
        [port("a0", [2]), port("xs", [2, "n"])],
        [port("y", [2]), port("all", [2, "n"])],
        tmp_path,
    )
    same_as_runtime(path, np.float32([1, 2]), np.random.rand(2, 5).astype(np.float32))


@pytest.mark.parametrize("batch", [1, 2, 3, 7, 8])
@pytest.mark.parametrize("op", ["Mod", "Min", "Less", "Div"])
def test_what_follows_from_an_open_extent_is_computed_in_every_run(tmp_path, batch, op):
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


def test_ranks_are_known_where_extents_are_not(tmp_path):
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


def test_sequences_that_are_known_while_reading(tmp_path):
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


def test_a_sequence_of_parts_whose_sizes_are_an_input(tmp_path):
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
def test_the_rank_of_what_a_run_gives_its_shape(made, tmp_path):
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


def sequence(name):
    return onnx.helper.make_tensor_sequence_value_info(name, KINDS.FLOAT, None)


def collecting_loop(steps, counter_shape, axis):
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
        node("ConcatFromSequence", ["rows"], ["y"], axis=axis),
    ]


def test_a_loop_that_collects_a_sequence(tmp_path):
    nodes = collecting_loop([node("Gather", ["x", "i"], ["row"])], [], axis=0)
    weights = [number("n", 3)]
    path = model_of(nodes, [port("x", [3, 2])], [port("y", [6])], tmp_path, initializers=weights)
    same_as_runtime(path, np.random.rand(3, 2).astype(np.float32))


def test_a_loop_that_counts_in_vectors_of_one(tmp_path):
    """As PyTorch writes x[i:i + 1] in loops: what the body declares, it gets."""
    steps = [node("Add", ["i", "one"], ["next"]), node("Slice", ["x", "i", "next"], ["row"])]
    nodes = collecting_loop(steps, [1], axis=1)
    weights = [number("n", 3), number("one", [1])]
    path = model_of(nodes, [port("x", [5, 2])], [port("y", None)], tmp_path, initializers=weights)
    same_as_runtime(path, np.random.rand(5, 2).astype(np.float32))


def test_sequences_that_leave_the_model_are_lists(tmp_path):
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


def test_sequences_where_tensors_belong_are_refused(tmp_path):
    nodes = [node("SequenceConstruct", ["x", "x"], ["y"], name="s"), node("Relu", ["y"], ["z"])]
    path = model_of(nodes, [port("x", [2])], [sequence("y"), port("z", [2])], tmp_path)
    with pytest.raises(RuntimeError, match="a sequence or an optional as its input"):
        load(path)
    nothing = [node("SequenceEmpty", [], ["y"])]
    path = model_of(nothing, [port("x", [2])], [sequence("y")], tmp_path)
    with pytest.raises(RuntimeError, match="output 'y': a sequence or an optional of nothing"):
        load(path)
    twice = [node("SequenceConstruct", ["x"], ["y"]), node("Relu", ["x"], ["y.0"])]
    path = model_of(twice, [port("x", [2])], [sequence("y"), port("y.0", [2])], tmp_path)
    with pytest.raises(RuntimeError, match="two outputs are called 'y.0'"):
        load(path)


def test_boxes_of_each_class_and_what_is_made_of_them(tmp_path):
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


@pytest.mark.parametrize("how", [{}, {"sorted": 0}, {"axis": 0}, {"axis": 1}])
def test_values_that_differ(tmp_path, how):
    nodes = [node("Unique", ["x"], ["y", "first", "inverse", "count"], **how)]
    outputs = [port("y", None if "axis" in how else ["n"])]
    outputs += [port(name, ["n"], KINDS.INT64) for name in ("first", "inverse", "count")]
    path = model_of(nodes, [port("x", [4, 3])], outputs, tmp_path)
    same_as_runtime(path, np.float32([[1, 0, 1], [2, 0, 2], [1, 0, 1], [0, 5, 0]]))


@pytest.mark.parametrize("op", ["RandomNormal", "RandomUniform", "RandomUniformLike"])
def test_random_numbers_are_the_same_in_every_run(tmp_path, op):
    inputs, shape = (["x"], {}) if op.endswith("Like") else ([], {"shape": [5, 200]})
    nodes = [
        node(op, inputs, ["r"], seed=3.5, **shape),
        node(op, inputs, ["s"], **shape),
        node("Add", ["x", "r"], ["y"]),
    ]
    path = model_of(
        nodes, [port("x", [5, 200])], [port("y", [5, 200]), port("s", [5, 200])], tmp_path
    )
    model, x = load(path), np.zeros((5, 200), np.float32)
    y, s = (output.numpy() for output in model(x))
    assert y.std() > 0.25 and s.std() > 0.25 and abs(np.corrcoef(y.ravel(), s.ravel())[0, 1]) < 0.1
    np.testing.assert_array_equal(y, model(x)[0].numpy())


# Voice detectors have a branch for each rate, and a run has extents that fit one of them.
def test_a_branch_that_is_not_taken_need_not_fit(tmp_path):
    def branch(name, *nodes):
        return graph(list(nodes), name, [], [port("r" + name, ["batch"])])

    one = branch("a", node("ReduceMean", ["x"], ["ra"], axes=[1, 2], keepdims=0))
    other = branch(
        "b",
        node("Conv", ["x", "w"], ["windows"], strides=[128]),
        node("Squeeze", ["windows", "axes"], ["rb"]),
    )
    nodes = [
        node("Equal", ["rate", "fast"], ["is"]),
        node("If", ["is"], ["y"], then_branch=one, else_branch=other),
    ]
    constants = [
        number("fast", 16000),
        number("axes", [1, 2]),
        number("w", np.random.default_rng(0).normal(size=(1, 1, 128)), np.float32),
    ]
    inputs = [port("x", ["batch", 1, "n"]), port("rate", [], KINDS.INT64)]
    path = model_of(nodes, inputs, [port("y", ["batch"])], tmp_path, initializers=constants)
    x = np.random.default_rng(1).normal(size=(3, 1, 512)).astype("float32")
    same_as_runtime(path, x, np.array(16000))
    same_as_runtime(path, x[:, :, :200], np.array(8000))
    with pytest.raises(RuntimeError, match="else_graph: .*has extent 4, not 1"):
        load(path)(x, np.array(8000))


def test_a_result_that_is_an_output_twice(tmp_path):
    """As Keras writes the state of a layer that is its result, too."""
    nodes = [node("Relu", ["x"], ["y"])]
    path = model_of(nodes, [port("x", [2])], [port("y", [2]), port("y", [2])], tmp_path)
    same_as_runtime(path, np.float32([-1, 2]))
    assert [out.name for out in Network.load(str(path)).output_vars] == ["y", "y_1"]
