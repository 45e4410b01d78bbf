# SPDX-License-Identifier: Apache-2.0
"""ONNX files with graphs inside of nodes: loops, scans, branches."""

import importlib

import numpy as np
import pytest
from onnx_files import model_of, number, onnx, port, same_as_runtime

from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.network import Network

load = importlib.import_module("megengine.onnx.reading").load
node, graph = onnx.helper.make_node, onnx.helper.make_graph
KINDS = onnx.TensorProto


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
def test_loop_with_step_count_from_input(tmp_path, steps):
    nodes = [
        node("Identity", ["x"], ["start"]),
        node("Loop", ["n", "", "start"], ["y", "all"], body=summing_body()),
    ]
    path = model_of(nodes, LOOP_INPUTS, LOOP_OUTPUTS, tmp_path)
    same_as_runtime(path, np.array(steps), np.float32([1, 2]))


@pytest.mark.parametrize("counts", [False, True])
def test_loop_without_limit_that_never_begins(counts, tmp_path):
    condition = node(*(["Less", ["i", "few"]] if counts else ["Identity", ["never"]]), ["on"])
    body = summing_body(condition, condition="on")
    del body.output[2]
    weights = [number("never", False, bool), number("few", 3)]
    nodes = [node("Loop", ["", "never", "x"], ["y"], body=body)]
    path = model_of(nodes, LOOP_INPUTS[1:], LOOP_OUTPUTS[:1], tmp_path, initializers=weights)
    same_as_runtime(path, np.float32([1, 2]))


@pytest.mark.parametrize("limit", [3, 100, 2**63 - 1])
@pytest.mark.parametrize("collects", [True, False])
def test_loop_that_decides_its_last_step(tmp_path, limit, collects):
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


def test_the_collected_steps_of_a_loop_that_decides_its_last_one_are_stored(tmp_path):
    body = summing_body(
        node("ReduceSum", ["b"], ["sum"], keepdims=0),
        node("Less", ["sum", "most"], ["on"]),
        condition="on",
    )
    nodes = [
        node("Identity", ["x"], ["start"]),
        node("Loop", ["n", "", "start"], ["y", "all"], body=body),
    ]
    weights = [number("most", 40, np.float32), number("n", 3)]
    path = model_of(nodes, LOOP_INPUTS[1:], LOOP_OUTPUTS, tmp_path, initializers=weights)
    stored = tmp_path / "stored.mge"
    Network.load(str(path)).dump(str(stored))
    y, steps = GraphInference(str(stored)).run(np.float32([1, 2])).values()
    np.testing.assert_array_equal(y, [4, 8])
    np.testing.assert_array_equal(steps, [[1, 2], [2, 4], [4, 8]])


def test_loop_with_growing_carried_value(tmp_path):
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
    """Appends a part in each step; other bodies carry values whose size only grows."""
    return graph(
        [*nodes, node("Concat", parts, ["b"], axis=0), node("Identity", ["go"], ["on"])],
        "body",
        [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k"])],
        [port("on", [], KINDS.BOOL), port("b", ["l"])],
    )


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_appending_loop_of_unknown_length(steps, tmp_path):
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
    with pytest.raises(RuntimeError, match="'grows'.*change their shape"):
        load(path)


def test_a_branch_of_another_rank(tmp_path):
    """The added value has one rank with either branch."""

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
    "trips, reason", [("", "without an end"), ("n", "a loop of 9223372036854775807 steps")]
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


def test_excessive_nested_unrolling_is_refused(tmp_path):
    def nested(depth):
        inner = "a" if not depth else "c"
        nodes = [node("Loop", ["n", "", "a"], ["c"], body=nested(depth - 1))] if depth else []
        nodes += [node("Concat", [inner, "x"], ["b"], axis=0), node("Identity", ["go"], ["on"])]
        inputs = [port("i", [], KINDS.INT64), port("go", [], KINDS.BOOL), port("a", ["k"])]
        return graph(nodes, "body", inputs, [port("on", [], KINDS.BOOL), port("b", ["l"])])

    nodes = [node("Loop", ["n", "", "x"], ["y"], body=nested(4))]
    weights = [number("n", 1000), onnx.numpy_helper.from_array(np.float32([1, 2]), "x")]
    path = model_of(nodes, [], [port("y", ["m"])], tmp_path, initializers=weights)
    with pytest.raises(RuntimeError, match="is not a valid ONNX model|not supported"):
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
    """Conditions that give the number of steps, and those computed in each step."""
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


def test_loop_that_unrolls_too_far_is_refused(tmp_path):
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
    with pytest.raises(
        RuntimeError, match="needs more memory than the .* bytes that its file may take"
    ):
        load(path)


def test_length_of_a_reshape_is_found_at_once(tmp_path):
    """Reshape works at one of the 17 lengths in the file. No graph of 15,000 nodes is made for each
    of them, which would take more memory than is allowed."""
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
    same_as_runtime(path, np.ones((1, 17), np.float32))
    with pytest.raises(RuntimeError, match="cannot reshape"):
        load(path)(np.ones((1, 16), np.float32))


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


# Voice detectors have a branch for each rate, and a run has extents that fit one of them.
def test_untaken_branch_may_have_other_shapes(tmp_path):
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
    with pytest.raises(RuntimeError, match="else_graph: .*has size 4, not 1"):
        load(path)(x, np.array(8000))
