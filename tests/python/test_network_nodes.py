# SPDX-License-Identifier: Apache-2.0
"""The objects of a network: classes by type, parameters, and variables as Tensors."""

import copy
import gc
import io
import pickle
import weakref

import numpy as np
import pytest
from interface_names import INTERFACE
from network_samples import dumped, run, small, sums

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import _mge
from megengine.jit import trace
from megengine.utils import network_node as nodes
from megengine.utils.network import Network


def names(found):
    return [node.name for node in found]


def one(net, kind):
    return net.get_opr_by_type(kind)


def load(function, *arrays, **kwargs):
    return Network.load(io.BytesIO(dumped(function, *arrays, **kwargs)))


def evaluated(module):
    module.eval()
    return module


def assign(x):
    y = F.relu(x)
    y[0] = 1
    return y


# Classes.


def test_every_class_of_the_interface_exists():
    for name in INTERFACE["megengine.utils.network_node"]:
        if "." in name or name in ("NetworkNode", "VarNode", "str_to_mge_class"):
            continue
        found = getattr(nodes, name)
        assert issubclass(found, nodes.OpNode) and found.__name__ == name
        assert nodes.str_to_mge_class(name) is found
    with pytest.raises(AttributeError, match="NothingForward"):
        nodes.NothingForward  # noqa: B018
    assert nodes.str_to_mge_class("NothingForward") is nodes.ReadOnlyOpNode
    found = {}
    exec("from megengine.utils.network_node import *", found)
    assert found["CvtColorForward"] is nodes.CvtColorForward and found["VarNode"] is nodes.VarNode


X = np.random.default_rng(0).random((2, 4, 6, 6), np.float32)
MATRIX = X[0, 0]


@pytest.mark.parametrize(
    ("name", "kind", "function", "array"),
    [
        ("AdaptivePoolingForward", "AdaptivePooling", lambda x: F.adaptive_avg_pool2d(x, 2), X),
        ("Argmax", "Argmax", lambda x: F.argmax(x, 1), X),
        ("ArgsortForward", "Argsort", lambda x: F.argsort(x), MATRIX),
        ("AxisAddRemove", "AxisAddRemove", lambda x: F.expand_dims(x, 0), X),
        ("BatchedMatrixMul", "BatchedMatmul", lambda x: F.matmul(x, x), X[0]),
        ("BatchNormForward", "BatchNorm", evaluated(M.BatchNorm2d(4)), X),
        ("Broadcast", "Broadcast", lambda x: F.broadcast_to(x, (3, 2, 4, 6, 6)), X),
        ("Concat", "Concat", lambda x: F.concat([x, x]), X),
        ("CondTake", "CondTake", lambda x: F.cond_take(x > 0.5, x)[0], X),
        ("ConvolutionBackwardData", "ConvTranspose", M.ConvTranspose2d(4, 2, 3), X),
        ("ConvolutionForward", "Convolution", M.Conv2d(4, 2, 3), X),
        ("Dimshuffle", "Dimshuffle", lambda x: F.transpose(x, (0, 2, 3, 1)), X),
        ("Elemwise", "Elemwise", lambda x: F.sigmoid(x), X),
        ("GetVarShape", "GetVarShape", lambda x: x.shape, X),
        ("IndexingMultiAxisVec", "IndexingMultiAxisVec", lambda x: x[:, [0, 2]], X),
        ("MatrixInverse", "MatrixInverse", lambda x: F.matinv(x), MATRIX),
        ("MatrixMul", "MatrixMul", lambda x: F.matmul(x, x), MATRIX),
        ("PoolingForward", "Pooling", lambda x: F.max_pool2d(x, 2), X),
        ("Reduce", "Reduce", lambda x: F.sum(x, 1), X),
        ("Reshape", "Reshape", lambda x: F.reshape(x, (2, -1)), X),
        ("SetSubtensor", "SetSubtensor", assign, X),
        ("Subtensor", "Subtensor", lambda x: x[:, 1:3], X),
        ("TopK", "TopK", lambda x: F.topk(x, 2)[0], MATRIX),
        ("TypeCvt", "TypeCvt", lambda x: x.astype("int32"), X),
        ("RNGOpr", "UniformRNG", lambda x: x + mge.random.uniform(size=(6,)), X),
    ],
)
def test_operators_have_the_class_of_their_type_and_survive_a_dump(name, kind, function, array):
    net = load(function, array, arg_names=["x"], output_names=["y"])
    found = net.get_opr_by_type(getattr(nodes, name), unique=False)
    assert kind in [opr.type for opr in found]
    if name != "RNGOpr":
        want = function(mge.Tensor(array)).numpy() if name != "GetVarShape" else array.shape
        np.testing.assert_allclose(run(net, array)["y"], want, rtol=1e-5, atol=1e-6)


def test_types_without_megengine_class():
    net = load(lambda x: F.softmax(x), MATRIX)
    (found,) = net.get_opr_by_type(nodes.ReadOnlyOpNode, unique=False)
    assert (found.type, type(found).__name__) == ("SoftmaxForward", "Softmax")


def test_elemwise_modes_are_megengines():
    def function(x):
        return F.relu(F.abs(x) ** 2 - F.maximum(x, 1)) / F.exp(-x) + F.leaky_relu(x)

    net = load(function, MATRIX)
    modes = [opr.params["mode"] for opr in net.get_opr_by_type(nodes.Elemwise, unique=False)]
    for mode in ("RELU", "ABS", "SUB", "MAX", "TRUE_DIV", "EXP", "NEGATE", "ADD"):
        assert mode in modes, mode
    assert [
        opr.params["mode"] for opr in load(lambda x: F.mean(x), X).opr_filter.type(nodes.Reduce)
    ] == ["MEAN"]


def test_parameters_match_the_definition_and_change_the_graph():
    net = load(M.Conv2d(4, 2, 3, stride=2, padding=1), X, output_names=["y"])
    conv = one(net, nodes.ConvolutionForward)
    assert conv.params["stride"] == [2, 2] and conv.params["padding"][:2] == [1, 1]
    assert net.dest_vars[0].shape == (2, 2, 3, 3)
    conv.params["stride"] = [1, 1]
    assert net.dest_vars[0].shape == (2, 2, 6, 6)
    assert run(net, X)["y"].shape == (2, 2, 6, 6)
    assert (conv.params["stride_h"], conv.params["pad_w"], conv.params["dilate_h"]) == (1, 1, 1)
    conv.params["stride_w"] = 3
    assert conv.params["stride"] == [1, 3] and net.dest_vars[0].shape == (2, 2, 6, 2)
    assert "window_h" not in conv.params and "stride_w" not in list(conv.params)
    with pytest.raises(RuntimeError, match="stride"):
        conv.params["stride_w"] = 0
    assert conv.params["stride"] == [1, 3]
    with pytest.raises(KeyError, match="has no parameter 'strides'; it has"):
        conv.params["strides"] = 1
    with pytest.raises(TypeError, match="cannot be deleted"):
        del conv.params["stride"]
    assert dict(net.input_vars[0].owner.params) == {}


def test_an_operator_reads_other_variables():
    net = load(lambda a, b: F.concat([a * 2, b]), MATRIX, MATRIX, output_names=["y"])
    concat = one(net, nodes.Concat)
    twice, b = concat.inputs
    concat.inputs = [b, twice]
    # Given by position the nearest to the output is first: b.
    np.testing.assert_array_equal(run(net, MATRIX * 3, MATRIX)["y"][:6], MATRIX * 3)
    concat.add_inp_var(b + 1)
    assert net.dest_vars[0].shape == (18, 6)
    with pytest.raises(ValueError, match="reads more than 1 value$"):
        concat.inputs = [b]
    with pytest.raises(RuntimeError, match="takes at most"):
        twice.owner.add_inp_var(b)
    with pytest.raises(ValueError, match="wait for itself"):
        twice.owner.inputs = [net.dest_vars[0], b]
    with pytest.raises(TypeError, match="expected a VarNode or a Tensor, got int"):
        concat.inputs = [b, 3]
    with pytest.raises(TypeError, match="expected a VarNode or a Tensor, got int"):
        concat.inputs[0] = 3
    concat.inputs = [mge.Tensor(MATRIX), *concat.inputs[1:]]
    assert concat.inputs[0].numpy().shape == (6, 6)
    inputs = concat.inputs
    inputs[0] = b
    inputs.append(twice)
    assert inputs == concat.inputs == [b, twice, concat.inputs[2], twice]


def test_inputs_of_other_dtypes_are_converted():
    net = load(lambda a, b: a - b, MATRIX, MATRIX, output_names=["y"])
    subtraction = net.dest_vars[0].owner
    whole = net.make_input_node(MATRIX.shape, "int32", name="whole")
    subtraction.inputs = [whole, subtraction.inputs[1]]
    assert net.dest_vars[0].dtype == np.float32
    got = run(net, MATRIX, MATRIX.astype("int32"))["y"]
    np.testing.assert_array_equal(got, MATRIX.astype("int32") - MATRIX)
    whole_sum = (whole + 1).owner
    with pytest.raises(ValueError, match="whole is int32, .* is float32 with fractions"):
        whole_sum.inputs[0] = mge.Tensor(MATRIX + 0.5)


def test_inputs_of_one_dtype_are_kept_if_the_operator_takes_them():
    whole = MATRIX.astype("int32")
    net = load(lambda a, b: (F.equal(a, b), F.concat([a, b])), whole, whole)
    equal, concat = (var.owner for var in net.dest_vars)
    p, q = (net.make_input_node(MATRIX.shape, "float32", name=name) for name in "pq")
    equal.inputs = concat.inputs = [p, q]
    assert {var.dtype for var in (*equal.inputs, *concat.inputs)} == {np.dtype("float32")}
    assert concat.outputs[0].dtype == np.float32

    picture = load(lambda x: x.astype("float32") * 2, np.ones((2, 3), "uint8"), output_names=["y"])
    conversion = one(picture, nodes.TypeCvt)
    conversion.inputs = [picture.make_input_node((2, 3), "float32", name="p")]
    assert run(picture, np.full((2, 3), 0.25, "float32"))["y"].tolist() == [[0.5] * 3] * 2

    shift = load(lambda a, b: a << b, whole, whole).dest_vars[0].owner
    with pytest.raises(ValueError, match="p is float32 with fractions"):
        shift.inputs = [p, q]


def test_operators_in_other_graphs():
    net, other = sums(), Network()
    (mine,) = net.dest_vars[0].owner.compile(other.graph)
    assert mine.graph is other.graph and net.dest_vars[0].owner.compile() == (net.dest_vars[0],)
    assert nodes.Elemwise.load(mine.owner) is mine.owner and nodes.VarNode.load(mine) is mine
    with pytest.raises(TypeError, match="Concat.load"):
        nodes.Concat.load(mine.owner)


def test_inputs_and_constants():
    given = nodes.Host2DeviceCopy((2, 3), "int32", "given")
    assert (given.shape, given.dtype, given.name) == ((2, 3), np.int32, "given")
    given.shape = (4, 3)
    assert given.outputs[0].shape == (4, 3)
    assert str(given.device) == "xpux:0"
    constant = nodes.ImmutableTensor([1.0, 2.0], name="two")
    assert (constant.shape, constant.dtype, constant.name) == ((2,), np.float32, "two")
    assert constant.numpy().tolist() == [1, 2]
    constant.set_value([[3.0]])
    assert constant.shape == constant.outputs[0].shape == (1, 1)
    net = Network()
    net.add_output(given.outputs[0] + 1)
    assert names(net.input_vars) == ["given"]


def test_the_dtype_of_an_input_changes():
    net = Network()
    x = net.make_input_node((2,), "float32", name="x")
    net.add_output(F.exp(x))
    x.owner.dtype = "float16"
    assert x.owner.dtype == x.dtype == net.output_vars[0].dtype == np.float16
    file = io.BytesIO()
    net.dump(file)
    file.seek(0)
    loaded = Network.load(file)
    assert loaded.input_vars[0].dtype == loaded.output_vars[0].dtype == np.float16
    with pytest.raises(RuntimeError, match="int8 is not allowed"):
        x.owner.dtype = "int8"
    assert x.dtype == np.float16


@pytest.mark.parametrize("bad", [-1, 7, -(2**31)])
@pytest.mark.parametrize(
    "call",
    [
        lambda graph, bad: graph.set_outputs([bad]),
        lambda graph, bad: graph.to_model([bad], ["y"], {}, {}),
        lambda graph, bad: graph.order([bad]),
        lambda graph, bad: graph.copy_from(graph, [bad], {}),
        lambda graph, bad: graph.copy_from(graph, [0], {bad: 0}),
        lambda graph, bad: graph.copy_from(graph, [0], {0: bad}),
        lambda graph, bad: graph.take_name(bad, 0),
        lambda graph, bad: graph.bind(mge.Tensor(1.0), bad),
    ],
)
def test_numbers_of_no_value_are_refused(call, bad):
    graph = _mge.Graph()
    graph.add_input("x", "float32", [2], None)
    with pytest.raises(RuntimeError, match=str(bad)):
        call(graph, bad)


def test_numbers_take_the_dtype_of_the_constant():
    net = sums()
    for constant in net.params_filter:
        constant.set_value(3)
        assert constant.dtype == np.float32
    assert run(net, [1, 2], [3, 4])["o"].tolist() == [12, 18]


def test_set_value_infers_again_or_refuses():
    net = load(lambda x: x + mge.Tensor([1.0, 2, 3, 4, 5, 6]), MATRIX, output_names=["y"])
    (constant,) = net.params_filter
    constant.set_value(np.ones((3, 6, 6), "float32"))
    assert net.dest_vars[0].shape == (3, 6, 6)
    with pytest.raises(RuntimeError, match="do not broadcast"):
        constant.set_value([1.0, 2.0])
    assert constant.shape == (3, 6, 6)


# Variables.


def test_a_variable_is_a_tensor_of_its_graph():
    net = sums()
    var = net.dest_vars[0]
    assert isinstance(var, mge.Tensor) and isinstance(var, nodes.NetworkNode)
    assert nodes.VarNode(var) is var and var.var is var and copy.copy(var) is var
    assert (var.shape, var.ndim, var.size, len(var)) == ((2,), 1, 2, 2)
    assert var.owner.outputs[0] is var and var.graph is net.graph
    assert names(net.get_var_by_name("a").users) == ["ADD"]
    assert str(var) == repr(var) == f"{var}" == "VarNode:o"
    assert {var: 1}[var] == 1
    nodes.VarNode(var, name="renamed")
    assert net.dest_vars[0].name == "renamed"
    with pytest.raises(TypeError, match="expected a VarNode, got int"):
        nodes.VarNode(3)
    for alone in (pickle.dumps, copy.deepcopy):
        with pytest.raises(TypeError, match="dump the Network"):
            alone(var)


def test_variables_have_values_that_are_known_before_a_run():
    net = sums()
    constant = net.make_const([1.0, 2.0])
    assert constant.value.tolist() == [1.0, 2.0]
    assert (constant.shapeof(0) + 1).value.tolist() == [3]
    assert net.dest_vars[0].value is None


def test_nodes_are_numbered_and_made_once():
    net = sums()
    assert len({var.id for var in net.all_vars}) == 5
    # Programs for MegEngine take 0 for "no variable".
    assert all(var.id for var in net.all_vars)
    assert net.all_oprs[2] is net.all_oprs[2]
    assert all(opr.priority == (0, opr.id) for opr in net.all_oprs)


def test_graphs_are_freed_with_their_last_reference():
    net = sums()
    var = net.dest_vars[0] + 1
    graph = weakref.ref(net.graph)
    del net
    gc.collect()
    assert graph() is var.graph
    del var
    gc.collect()
    assert graph() is None


def test_operators_of_python_extend_the_graph():
    net = sums()
    o = net.dest_vars[0]
    results = [
        o + 1,
        1 - o,
        o * np.float32([1, 2]),
        [3.0, 4.0] / o,
        o**2,
        -o,
        abs(o),
        o @ o,
        o // 3,
    ]
    results += [o > 1, o[0], o[::-1], o.reshape(2, 1), o.sum(), o.astype("int32"), o.T, o.mean()]
    results += list(o)
    assert all(isinstance(r, nodes.VarNode) and r.graph is net.graph for r in results)
    assert o.name == "o" and names(net.all_oprs)[-1] == "o"


def test_tensors_become_constants():
    net = sums()
    y = net.dest_vars[0] + mge.Tensor([10.0, 20.0])
    y.name = "y"
    net.add_output(y)
    assert run(net, [1, 2], [3, 4])["y"].tolist() == [18, 32]
    assert y.owner.inputs[1].numpy().tolist() == [10, 20]


def test_default_device_values_move_with_the_graph():
    before = mge.get_default_device()
    mge.set_default_device("cpu1")
    try:
        net = sums()
        y = net.dest_vars[0] + mge.Tensor([1.0, 2.0]) + net.make_const([10.0, 20.0]) + 100
        y[0] = mge.Tensor(-1.0)
        y.name = "y"
        net.add_output(y)
        assert run(net, [1, 2], [3, 4])["y"].tolist() == [-1, 134]
        with pytest.raises(RuntimeError, match="different devices"):
            y + mge.Tensor([1.0, 2.0], device="cpu2")
    finally:
        mge.set_default_device(before)


def test_modules_take_variables():
    net = load(lambda x: x * 2, X, output_names=["y"])
    conv = M.Conv2d(4, 3, 3)
    z = conv(net.dest_vars[0])
    z.name = "z"
    net.add_output(z)
    np.testing.assert_allclose(
        run(net, X)["z"], conv(mge.Tensor(X * 2)).numpy(), rtol=1e-5, atol=1e-6
    )


def test_known_before_a_run():
    net = sums()
    o = net.dest_vars[0]
    assert net.make_const([1, 2]).numpy().tolist() == [1, 2]
    assert o.shapeof(0).numpy().tolist() == [2]
    assert int(o.shapeof(0) * 3) == 6
    for read in (o.numpy, o.item, o.tolist, lambda: float(o), lambda: bool(o)):
        with pytest.raises(
            RuntimeError, match="the value of 'o' is known only when its graph runs"
        ):
            read()


def test_input_free_values_are_computed_on_demand():
    net = Network()
    image = np.random.default_rng(0).random((1, 3, 32, 32), np.float32)
    y = F.relu(net.make_const(image) - 0.5) * net.make_const(2)
    np.testing.assert_allclose(y.numpy(), np.maximum(image - 0.5, 0) * 2, rtol=1e-6)
    chosen, at = F.cond_take(y > 0, y)
    assert chosen.shape == at.shape == ((y.numpy() > 0).sum(),)
    (given,) = (var.owner for var in [net.make_const([1.0, 2.0])])
    twice = given.outputs[0] * 2
    assert twice.numpy().tolist() == [2, 4]
    given.set_value([5.0, 6.0])
    assert twice.numpy().tolist() == [10, 12]


def test_shapes_known_at_run_time():
    net = sums()
    chosen, _ = F.cond_take(net.dest_vars[0] > 9, net.dest_vars[0])
    assert chosen.shape is None and chosen.partial_shape is None
    doubled = chosen * 2
    doubled.name = "doubled"
    net.add_output(doubled)
    assert run(net, [1, 2], [3, 4])["doubled"].tolist() == [24]


def test_item_assignment_names_the_changed_value():
    net = sums()
    o = net.dest_vars[0]
    y = o + 0
    y[0] = -1
    y[1] = o[0]
    y.name = "y"
    net.add_output(y)
    got = run(net, [1, 2], [3, 4])
    assert got["y"].tolist() == [-1, 8] and got["o"].tolist() == [8, 12]
    y._reset(np.float32([5, 6]))
    assert y.numpy().tolist() == [5, 6]
    with pytest.raises(TypeError, match="a Tensor cannot become a value of a graph"):
        mge.Tensor([1.0, 2.0])[0] = o[0]


def test_in_place_operators_make_other_variables():
    net = sums()
    o = y = net.dest_vars[0]
    y += 1
    y *= 2
    assert o is net.dest_vars[0] and y is not o and o.name == "o"


def test_module_with_trainable_parameters_warns():
    images = Network().make_input_node((2, 4, 6, 6), "float32")
    norm = M.BatchNorm2d(4)
    with pytest.raises(TypeError, match="into evaluation mode"):
        norm(images)
    assert norm.running_mean.numpy().shape == (1, 4, 1, 1)
    assert evaluated(norm)(images).shape == (2, 4, 6, 6)


def test_value_functions_refuse_variables_without_changes():
    net = sums()
    o = net.dest_vars[0]
    traced = trace(lambda x: x * 2)
    model = net.graph.to_model([o._number], ["o"], {}, {})
    with pytest.raises(TypeError, match="a value of a graph cannot be an argument"):
        traced(o)
    for use in (lambda: model.run([o, o]), lambda: np.asarray(o), lambda: mge.Tensor(o).numpy()):
        with pytest.raises(RuntimeError, match="the value of 'o' is known only"):
            use()
    one = net.make_const([1.0, 2.0])
    assert model.run([one, one])[0].numpy().tolist() == [4, 8]
    assert (o + 1).shape == (2,) and +o is o and o.detach() is o


def test_control_flow_is_recorded_in_the_graph():
    net = sums()
    o = net.dest_vars[0]
    y = F.cond(o.sum() > 10, lambda v: v * 2, lambda v: -v, o)
    _, z = F.while_loop(lambda i, v: i < 3, lambda i, v: (i + 1, v + o), (o[0] * 0, o))
    y.name, z.name = "y", "z"
    net.add_output(y, z)
    got = run(net, [1, 2], [3, 4])
    assert got["y"].tolist() == [16, 24] and got["z"].tolist() == [32, 48]
    assert run(net, [0, 0], [1, 1])["y"].tolist() == [-2, -2]


def test_sizes_may_be_variables():
    net = sums()
    o = net.dest_vars[0]
    y = F.arange(o.shapeof(0)).astype("int32") + F.linspace(0, 0, o.shapeof(0)).astype("int32")
    z = F.reshape(F.concat([o, o]), (o.shapeof(0), -1))[: o.shapeof(0) - 1, 1]
    y.name, z.name = "y", "z"
    net.add_output(y, z)
    net.reset_batch_size(3)
    got = run(net, [1, 2, 3], [3, 4, 5])
    assert got["y"].tolist() == [0, 1, 2]
    assert got["z"].tolist() == [12, 8]


def test_a_loaded_training_graph_stays_one():
    module, data, array = small()
    net = Network.load(io.BytesIO(data))
    norm = one(net, nodes.BatchNormForward)
    assert norm.params["training"] is False
    norm.params["training"] = True
    module.train()
    np.testing.assert_allclose(
        run(net, array)["prob"], module(mge.Tensor(array)).numpy(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize(
    ("function", "order"),
    [
        (lambda x, y: 2 * x, ["x", "constant#0"]),
        (lambda x, y: F.maximum(y - 3, x), ["x", "SUB"]),
        (lambda x, y: 2 * (x + 1), ["constant#1", "ADD"]),
        (lambda x, y: y + x, ["x", "y"]),
        (lambda x, y: 2 - x, ["constant#0", "x"]),
        (lambda x, y: y / x, ["y", "x"]),
    ],
)
def test_inputs_have_the_order_of_megengine(function, order):
    x = np.ones(3, np.float32)
    net = load(lambda x, y: (function(x, y), y * 1), x, x, arg_names=["x", "y"], keep_var_name=2)
    owner = net.output_vars[0].owner
    assert names(owner.inputs) == order
    owner.inputs = owner.inputs
    assert names(owner.inputs) == order


def test_lists_of_variables_find_theirs():
    net = Network()
    x, y = (net.make_input_node((2,), "float32", name=name) for name in "xy")
    assert x in [y, x] and x not in [y] and [y, x].index(x) == 1 and (y, x) != (x, y)
    others = [net.make_input_node((3,), "float32"), Network().make_input_node((2,), "float32")]
    assert x not in others and [*others, x].index(x) == 2
    with pytest.raises(RuntimeError, match="broadcast"):
        _ = x == np.zeros(3, "float32")
    for unknown in (x == 1, x != y, x):
        with pytest.raises(RuntimeError, match="known only when its graph runs"):
            bool(unknown)
