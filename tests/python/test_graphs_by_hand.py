# SPDX-License-Identifier: Apache-2.0
"""Graphs that are fed and read by hand (``core.tensor.megbrain_graph``)."""

from concurrent.futures import Future

import numpy as np
import pytest

import megengine as mge
from megengine import Tensor
from megengine.core._imperative_rt import ComputingGraph, OperatorNode, VarNode
from megengine.core._imperative_rt.common import CompNode, TensorAttr
from megengine.core.ops.builtin import Elemwise
from megengine.core.tensor import megbrain_graph as by_hand

X = np.arange(3, dtype="float32")


def doubled(kind):
    graph = by_hand.Graph()
    x = by_hand.InputNode(device="xpux", dtype="float32", graph=graph)
    y = kind(x.outputs[0] * 2)
    return graph.compile(y.outputs[0]), x, y


def test_values_that_functions_give_are_asked_for_in_each_run():
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


def test_values_may_come_before_the_run_or_after_it_was_asked_for():
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


def test_names_of_the_extension_module():
    assert issubclass(by_hand.Graph, ComputingGraph)
    assert issubclass(by_hand.OpNode, OperatorNode) and by_hand.VarNode is VarNode
    assert mge.core.Graph is by_hand.Graph
    for package in (mge.core, mge.core._imperative_rt):
        with pytest.raises(AttributeError):
            _ = package.no_such_name
