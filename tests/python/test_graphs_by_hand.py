# SPDX-License-Identifier: Apache-2.0
"""Graphs that are fed and read by hand (``core.tensor.megbrain_graph``)."""

import copy
import io
import json
import pickle
from concurrent.futures import Future

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import Tensor
from megengine.core._imperative_rt import ComputingGraph, OperatorNode, VarNode
from megengine.core._imperative_rt.common import CompNode, TensorAttr
from megengine.core._imperative_rt.core2 import apply
from megengine.core.ops.builtin import AssertEqual, Elemwise, TypeCvt
from megengine.core.tensor import dtype as D
from megengine.core.tensor import megbrain_graph as by_hand
from megengine.utils import comp_graph_tools as cgtools
from megengine.utils.network import Network

X = np.arange(3, dtype="float32")


def doubled(kind):
    graph = by_hand.Graph()
    x = by_hand.InputNode(device="xpux", dtype="float32", graph=graph)
    y = kind(x.outputs[0] * 2)
    return graph.compile(y.outputs[0]), x, y


def test_function_values_are_requested_in_each_run():
    values = iter([[1.0, 2.0], [3.0], [5.0, 6.0]])
    graph = by_hand.Graph()
    x, _ = by_hand.input_callback(
        lambda: Tensor(next(values)), device="xpux", dtype="float32", graph=graph
    )
    y = by_hand.OutputNode(x * 2)
    run = graph.compile(y.outputs[0])
    for want in ([2, 4], [6], [10, 12]):
        run.execute()
        np.testing.assert_array_equal(y.get_value().numpy(), want)
        run.wait()


def test_callbacks():
    graph, result = by_hand.Graph(), Future()
    x, _ = by_hand.input_callback(
        lambda: Tensor(X)._dev_tensor(), device=CompNode("xpux"), dtype=np.float32, graph=graph
    )
    (y,) = by_hand.apply_normal_varnode(Elemwise(Elemwise.Mode.NEGATE), x)
    graph.compile(by_hand.output_callback(result.set_result, y))()
    np.testing.assert_array_equal(result.result().numpy(), -X)


def test_runs_one_after_the_other():
    run, x, y = doubled(by_hand.OutputNode)
    run.options.async_exec_level = 0b100
    for shape in ((2,), (3,), (5,)):
        run.execute()
        x.set_value(Tensor(np.ones(shape, "float32")))
        np.testing.assert_array_equal(y.get_value().numpy(), np.full(shape, 2))
        run.wait()
    run.execute()
    with pytest.raises(RuntimeError, match="have no values"):
        run.wait()
    x.set_value(X)
    x.reset()
    with pytest.raises(RuntimeError, match="have no values"):
        y.get_value()


def test_other_kinds_of_outputs():
    run, x, y = doubled(by_hand.ValueOutputNode)
    x.set_value(X)
    assert isinstance(y.get_value(), np.ndarray) and y.get_value().tolist() == [0, 2, 4]
    y.reset()
    assert y.get_value().tolist() == [0, 2, 4]
    run, x, y = doubled(by_hand.AttrOutputNode)
    x.set_value(X)
    assert y.get_value() == TensorAttr((3,), np.dtype("float32"), Tensor(X).device)


def test_values_may_be_set_before_or_after_the_run_is_requested():
    graph = by_hand.Graph()
    x, y = (by_hand.InputNode(device="xpux", dtype="float32", graph=graph) for _ in range(2))
    out = by_hand.OutputNode(x.outputs[0] * y.outputs[0])
    function = graph.compile(out.outputs[0])
    for factor in (2.0, 3.0):
        x.set_value(Tensor([factor])._dev_tensor())
        function.execute()
        y.set_value(Tensor([5.0])._dev_tensor())
        assert out.get_value().tolist() == [5 * factor]
        function.wait()
    function.execute()
    with pytest.raises(RuntimeError, match="have no values"):
        out.get_value()
    value = Tensor([1.0])._dev_tensor()
    assert value.comp_node == value.device == TensorAttr((1,), None, value.device).device


def test_constants_and_shapes():
    graph = by_hand.Graph()
    x = graph.make_h2d(dtype="float32", device="xpux", shape=(2, 3), name="x")
    assert (x.name, x.shape) == ("x", (2, 3))
    constant = graph.make_const([[1.0, 2.0, 3.0]], name="c")
    y = by_hand.OutputNode(x + constant)
    graph.compile(y.outputs[0])
    by_hand.InputNode(x).set_value(np.zeros((2, 3), "float32"))
    assert constant.name == "c" and y.get_value().numpy().tolist() == [[1, 2, 3]] * 2


def test_an_input_without_a_shape_takes_that_of_the_variable_it_replaces():
    graph = by_hand.Graph()
    x = graph.make_h2d(dtype="float32", device="xpux", shape=(1, 2, 4, 4), name="x")
    y = F.conv2d(x, Tensor(np.ones((3, 2, 3, 3), "float32")))
    fed = by_hand.InputNode(device="xpux", dtype="float32", graph=graph)
    (z,) = cgtools.replace_vars([y], {x: fed.outputs[0]})
    out = by_hand.OutputNode(z)
    run = graph.compile(z)
    fed.set_value(np.ones((1, 2, 4, 4), "float32"))
    run.execute()
    assert out.get_value().numpy().tolist() == np.full((1, 3, 2, 2), 18.0).tolist()
    run.execute()
    fed.set_value(np.ones((2, 2, 5, 3), "float32"))  # later runs may have other extents
    assert out.get_value().shape == (2, 3, 3, 1)
    # A shape that was given stays, and so does an input that is computed with.
    given = by_hand.InputNode(device="xpux", dtype="float32", shape=(1,), graph=graph)
    (w,) = cgtools.replace_vars([x * 2], {x: given.outputs[0]})
    assert w.shape == given.outputs[0].shape == (1,)


def test_names_of_the_extension_module():
    assert issubclass(by_hand.Graph, ComputingGraph)
    assert issubclass(by_hand.OpNode, OperatorNode) and by_hand.VarNode is VarNode
    assert mge.core.Graph is by_hand.Graph
    for package in (mge.core, mge.core._imperative_rt):
        with pytest.raises(AttributeError):
            _ = package.no_such_name


def test_options_match_the_compilation():
    run, x, y = doubled(by_hand.OutputNode)
    options = run.options
    assert (options.graph_opt_level, options.seq_opt.enable_mem_plan_opt) == (2, True)
    assert options.sublinear_mem_config.lb_memory_mb == 0 and "graph_opt" in dir(options)
    options.graph_opt_level = 0
    options.graph_opt.jit_config.fuse_reduce = 2  # MegEngine's number for "on"
    options.seq_opt.enable_mem_reuse_alloc = False
    assert options.graph_opt.jit_config.fuse_reduce is True
    assert "graph_opt_level=0" in repr(options)
    run.execute()
    x.set_value(Tensor(X))
    np.testing.assert_array_equal(y.get_value().numpy(), 2 * X)
    run.wait()


def test_an_option_acts_on_runs():
    run, x, y = doubled(by_hand.OutputNode)
    run.options.fake_next_exec = True  # allocates, and computes nothing
    run.execute()
    x.set_value(Tensor(X + 1))
    np.testing.assert_array_equal(y.get_value().numpy(), np.zeros(3))


@pytest.mark.parametrize(
    "group, name, value, error, match",
    [
        ("", "no_such", 1, AttributeError, "no option 'no_such'.*graph_opt_level"),
        ("seq_opt", "no_such", 1, AttributeError, "no option 'seq_opt.no_such'"),
        ("", "graph_opt_level", 99, ValueError, "graph_opt_level = 99.*between -3 and 3"),
        ("", "graph_opt_level", "high", TypeError, "whole number"),
        ("", "seq_opt", 1, AttributeError, "seq_opt"),
        ("", "enable_memory_swap", 2, TypeError, "enable_memory_swap = 2"),
        ("", "log_level", 3, ValueError, "between 0 and 2"),
    ],
)
def test_wrong_options(group, name, value, error, match):
    options = by_hand.Graph().options
    owner = getattr(options, group) if group else options
    with pytest.raises(error, match=match):
        setattr(owner, name, value)
    assert repr(options) == "GraphOptions()"


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))])
def test_options_can_be_copied(duplicate):
    options = by_hand.Graph().options
    options.seq_opt.enable_mem_reuse_alloc = False
    copied = duplicate(options)
    options.graph_opt_level = 0
    assert not copied.seq_opt.enable_mem_reuse_alloc and copied.graph_opt_level == 2


def test_options_that_contradict_each_other():
    options = by_hand.Graph().options
    options.enable_sublinear_memory_opt = True
    with pytest.raises(ValueError, match="contradicts"):
        options.enable_dtr_memory_opt = True
    assert not options.enable_dtr_memory_opt
    with pytest.raises(AttributeError):
        by_hand.Graph().options = options


def loaded(function, *shapes):
    traced = mge.jit.trace(function, symbolic=True, capture_as_const=True)
    traced(*(F.ones(shape) for shape in shapes))
    file = io.BytesIO()
    traced.dump(file, optimize_for_inference=False, silent=True)
    return io.BytesIO(file.getvalue())


CONV = {"stride_h": 2, "stride_w": 2, "pad_h": 1, "sparse": "GROUP", "mode": "CROSS_CORRELATION"}
OPERATORS = {
    "ConvolutionForward": (
        "Convolution",
        lambda x, w: F.conv2d(x, F.ones((2, 2, 2, 3, 3)), stride=2, padding=1, groups=2),
        CONV,
    ),
    "ConvolutionBackwardData": ("ConvTranspose", F.conv_transpose2d, {"sparse": "DENSE"}),
    "PoolingForward": ("Pooling", lambda x, w: F.max_pool2d(x, 2), {"window_h": 2, "mode": "MAX"}),
    "AdaptivePoolingForward": ("AdaptivePooling", lambda x, w: F.adaptive_avg_pool2d(x, 2), {}),
    "BatchedMatrixMul": (
        "BatchedMatmul",
        lambda x, w: F.matmul(x, x, transpose_b=True),
        {"transposeA": False, "transposeB": True},
    ),
    "SoftmaxForward": ("SoftmaxForward", lambda x, w: F.softmax(x, 1), {}),
    "PaddingForward": ("PaddingForward", lambda x, w: F.nn.pad(x, ((1, 1),) * 4), {}),
    "ArgsortForward": ("Argsort", lambda x, w: F.argsort(F.flatten(x, 1)), {"order": "ASCENDING"}),
    "RemapForward": ("Remap", lambda x, w: F.vision.remap(x, F.zeros((4, 3, 3, 2))), {}),
    "Elemwise": ("Elemwise", lambda x, w: F.exp(x), {"mode": "EXP"}),
    "Reduce": ("Reduce", lambda x, w: F.sum(x, 1), {"mode": "SUM", "axis": 1}),
    "Dimshuffle": ("Dimshuffle", lambda x, w: F.transpose(x, (1, 0, 2, 3)), {"ndim": 4}),
}


@pytest.mark.parametrize("kind", OPERATORS)
def test_types_and_parameters_in_the_words_of_graphs(kind):
    in_networks, function, params = OPERATORS[kind]
    file = loaded(function, (4, 4, 4, 4), (4, 4, 3, 3))
    result = by_hand.load_graph(io.BytesIO(file.getvalue()))
    owner = result.output_vars_list[0].owner
    assert isinstance(result.graph, by_hand.Graph) and result.output_vars_list[0].op is owner
    assert cgtools.get_opr_type(owner) == owner.type == kind
    assert cgtools.get_owner_opr_type(result.output_vars_list[0]) == kind
    assert isinstance(owner.params, str)
    assert json.loads(owner.params).items() >= params.items()
    net = Network.load(file)
    owner = net.output_vars[0].owner
    assert (owner.type, cgtools.get_opr_type(owner)) == (in_networks, kind)
    assert {name: owner.params[name] for name in params} == params


@pytest.mark.parametrize("dtype", [D.qint8(0.1), D.quint8(0.1, 100), D.qint4(0.5)])
def test_quantised_values(dtype):
    """Inputs, constants, results and conversions keep the scale."""
    graph = by_hand.Graph()
    x = by_hand.InputNode(device="xpux", dtype=dtype, shape=(3,), graph=graph)
    real = by_hand.InputNode(device="xpux", dtype="float32", shape=(3,), graph=graph)
    steps = Tensor([1.0, -0.5, 2.0]).astype(dtype)
    outputs = [
        x.outputs[0],
        x.outputs[0].astype("float32"),
        apply(TypeCvt(dtype=dtype), real.outputs[0])[0],
        F.concat([x.outputs[0], graph.make_const(steps)]).reshape(2, 3).astype("float32"),
    ]
    nodes = [by_hand.OutputNode(var) for var in outputs]
    run = graph.compile(*[node.outputs[0] for node in nodes])
    run.execute()
    x.set_value(steps)
    real.set_value(Tensor([1.0, -0.5, 2.0]))
    same, floats, converted, joined = (node.get_value() for node in nodes)
    run.wait()
    wanted = steps.astype("float32").numpy()
    assert same.dtype == converted.dtype == dtype
    for found in (floats, same.astype("float32"), converted.astype("float32"), joined[1]):
        np.testing.assert_allclose(found.numpy(), wanted)


def test_complex_values():
    graph = by_hand.Graph()
    x = graph.make_const([1.0, 2.0])
    z = F.complex(x, x) * F.complex(x, -x) + 1
    assert z.dtype == np.complex64
    assert F.real(z).numpy().tolist() == [3, 9] and F.imag(z).numpy().tolist() == [0, 0]


def test_networks_take_quantised_inputs_and_constants():
    dtype = D.qint8(0.25)
    net, file = Network(), io.BytesIO()
    x = net.make_input_node((2,), dtype, name="x")
    y = F.concat([x, net.make_const(Tensor([3.0]).astype(dtype), name="c")]).astype("float32")
    y.name = "y"
    net.add_output(y)
    assert x.dtype == dtype
    net.dump(file)
    file.seek(0)
    steps = Tensor([1.0, -1.5]).astype(dtype).numpy()
    assert cgtools.GraphInference(file).run(steps)["y"].tolist() == [1, -1.5, 3]


def checked_sum():
    """A graph with an input, its double, and a check of the double against a second input."""
    graph = by_hand.Graph()
    x = graph.make_h2d(dtype="float32", device="xpux", shape=(3,), name="x")
    expected = graph.make_h2d(dtype="float32", device="xpux", shape=(3,), name="expected")
    double = x * 2
    (checked,) = by_hand.apply_normal_varnode(AssertEqual(maxerr=1e-4), expected, double)
    return double, checked


def test_a_check_is_part_of_its_result():
    _, checked = checked_sum()
    inputs = cgtools.get_dep_vars([checked], "Host2DeviceCopy")
    assert sorted(var.name for var in inputs) == ["expected", "x"]
    data, _ = by_hand.dump_graph([checked], keep_var_name=2)
    inference = cgtools.GraphInference(io.BytesIO(data))
    (result,) = inference.run(inp_dict={"x": X, "expected": 2 * X}).values()
    np.testing.assert_array_equal(result, 2 * X)
    with pytest.raises(RuntimeError, match="assert_equal"):
        inference.run(inp_dict={"x": X, "expected": X + 1})


def test_checks_of_other_values_are_not_dumped():
    double, _ = checked_sum()
    data, info = by_hand.dump_graph([double], keep_var_name=2)
    assert info.inputs == ["x"]
    (result,) = cgtools.GraphInference(io.BytesIO(data)).run(X).values()
    np.testing.assert_array_equal(result, 2 * X)
