# SPDX-License-Identifier: Apache-2.0
"""Typical uses of networks, from the file to the result."""

import copy
import io
import json
from pathlib import Path

import numpy as np
import pytest
from network_samples import dumped, run, small, sums

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.utils import network_node as nodes
from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.network import Network

RECORDED = Path(__file__).resolve().parents[1] / "data" / "megengine"
MEAN, SCALE = 0.4, 2.0


@pytest.fixture
def net():
    return Network.load(io.BytesIO(small()[1]))


@pytest.fixture(scope="module")
def module():
    return small()[0]


@pytest.fixture(scope="module")
def data():
    return small()[2]


def close(got, want):
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


def test_cut_a_network_at_a_layer(net, module, data):
    feature = net.get_opr_by_type(nodes.PoolingForward).outputs[0]
    feature.name = "feature"
    net.remove_output(*net.dest_vars)
    net.add_output(feature)
    want = F.max_pool2d(F.relu(module.bn(module.conv(mge.Tensor(data)))), 2)
    close(run(net, data)["feature"], want.numpy())
    assert net.opr_filter.name("*softmax*").as_count() == 0


def test_second_half_only(net, module, data):
    feature = net.get_opr_by_type(nodes.PoolingForward).outputs[0]
    net.replace_vars({feature: net.make_input_node((2, 4, 4, 4), "float32", name="feature")})
    assert [var.name for var in net.input_vars] == ["feature"]
    given = np.random.default_rng(2).random((2, 4, 4, 4), np.float32)
    want = F.softmax(module.fc(F.flatten(mge.Tensor(given), 1)))
    close(run(net, given)["prob"], want.numpy())


def test_relu_becomes_leaky_relu(net, module, data):
    for opr in net.opr_filter.type(nodes.Elemwise):
        if opr.params["mode"] == "RELU":
            net.replace_vars({opr.outputs[0]: F.leaky_relu(opr.inputs[0], 0.2)})
    x = F.leaky_relu(module.bn(module.conv(mge.Tensor(data))), 0.2)
    close(run(net, data)["prob"], F.softmax(module.fc(F.flatten(F.max_pool2d(x, 2), 1))).numpy())


def test_post_processing_after_the_output(net, module, data):
    prob = net.dest_vars[0]
    score, label = F.topk(prob, 2, descending=True)
    score.name, label.name = "score", "label"
    net.remove_output(prob)
    net.add_output(score, label)
    got = run(net, data)
    want = np.sort(module(mge.Tensor(data)).numpy(), axis=1)[:, ::-1][:, :2]
    close(got["score"], want)
    assert got["label"].shape == (2, 2) and got["label"].dtype == np.int32


def test_a_normalisation_in_front_of_the_network(net, module, data):
    old = net.input_vars[0]
    image = net.make_input_node((2, 8, 8, 3), "uint8", name="image")
    ready = (image.astype("float32") / 255 - MEAN) * SCALE
    net.replace_vars({old: F.transpose(ready, (0, 3, 1, 2))})
    pixels = np.random.default_rng(4).integers(0, 256, (2, 8, 8, 3), np.uint8)
    given = ((pixels.astype("float32") / 255 - MEAN) * SCALE).transpose(0, 3, 1, 2)
    assert [var.name for var in net.input_vars] == ["image"]
    close(run(net, pixels)["prob"], module(mge.Tensor(np.ascontiguousarray(given))).numpy())


def test_a_normalisation_folded_into_the_weights(net, module, data):
    conv = net.get_opr_by_type(nodes.ConvolutionForward)
    weight = conv.inputs[1].owner
    weight.set_value(weight.numpy() * SCALE)
    scaled = module(mge.Tensor(data * SCALE)).numpy()
    count = len(net.all_oprs)
    close(run(net, data)["prob"], scaled)
    assert len(net.all_oprs) == count


def test_two_networks_become_one(data):
    first = Network.load(io.BytesIO(dumped(lambda x: x * 2, data, arg_names=["x"])))
    second = Network.load(io.BytesIO(small()[1]))
    second.replace_vars({second.input_vars[0]: first.dest_vars[0]})
    assert [var.name for var in second.input_vars] == ["x"]
    want = small()[0](mge.Tensor(data * 2)).numpy()
    close(run(second, data)["prob"], want)


def test_another_head(net, module, data):
    feature = net.get_opr_by_type(nodes.MatrixMul, unique=False)[0].inputs[0]
    head = M.Linear(64, 2)
    other = F.sigmoid(head(feature))
    other.name = "other"
    net.add_output(other)
    got = run(net, data)
    hidden = F.flatten(F.max_pool2d(F.relu(module.bn(module.conv(mge.Tensor(data)))), 2), 1)
    close(got["other"], F.sigmoid(head(hidden)).numpy())
    close(got["prob"], module(mge.Tensor(data)).numpy())


def test_all_weights_are_quantised_by_hand(net, module, data):
    for parameter in net.params_filter:
        if parameter.dtype == np.float32 and parameter.numpy().size > 16:
            values = parameter.numpy()
            step = np.abs(values).max() / 127
            parameter.set_value((values / step).round() * step)
    got, want = run(net, data)["prob"], module(mge.Tensor(data)).numpy()
    assert 0 < np.abs(got - want).max() < 0.02


# MegEngine's Network for MegEngine's files. An output without a name in the file gets one, and an
# input that is returned has the output's name, as in MegEngine Lite; MegEngine knows the shape of
# one value although it is known only at run time.
ROWS = [json.loads(line) for line in (RECORDED / "networks.jsonl").read_text().splitlines()]
NAMED_OTHERWISE = ("mlp.no_names.mge",)
UNKNOWN_BEFORE_A_RUN = {"selection.v1.mge": "out02", "selection.v2.mge": "out02"}


def shape_of(var):
    return None if var.shape is None else list(var.shape)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["file"])
def test_megengines_files_look_as_they_do_there(row):
    net = Network.load(RECORDED / row["file"])
    assert sorted([var.name, list(var.shape)] for var in net.input_vars) == row["inputs"]
    assert net.metadata == row["metadata"]
    for kind, count in row.get("counts", {}).items():
        assert net.opr_filter.type(getattr(nodes, kind)).as_count() == count
    inputs = [name for name, _ in row["inputs"]]
    for var, (name, shape) in zip(net.dest_vars, row["outputs"], strict=True):
        assert (row["file"] in NAMED_OTHERWISE or name in inputs) != (var.name == name)
        assert (UNKNOWN_BEFORE_A_RUN.get(row["file"]) == name) == (shape_of(var) != shape)


@pytest.mark.parametrize("name", ["resnet.v1", "bert.v2", "lstm.v1", "dynamic.v2", "quantized.v1"])
def test_megengines_files_are_changed_and_written(name):
    net = Network.load(RECORDED / f"{name}.mge")
    first = net.dest_vars[0]
    twice = first * 2
    twice.name = "twice"
    net.add_output(twice)
    stem = name.partition(".")[0]
    with np.load(RECORDED / f"{stem}.inputs.npz") as inputs:
        feeds = {var.name: inputs[var.name] for var in net.input_vars}
    file = io.BytesIO()
    net.dump(file)
    got = GraphInference(io.BytesIO(file.getvalue())).run(inp_dict=feeds)
    np.testing.assert_array_equal(got["twice"], got[first.name] * 2)
    with np.load(RECORDED / f"{stem}.outputs.npz") as want:
        for var in net.dest_vars[:-1]:
            np.testing.assert_allclose(got[var.name], want[var.name], rtol=1e-4, atol=1e-5)


def test_a_model_continues_another_one():
    """As MegEngine's guide to graph surgery joins two models."""
    first = Network.load(io.BytesIO(dumped(lambda x: x * 2 + 1, [1.0, -2.0], arg_names=["x"])))
    second = Network.load(io.BytesIO(dumped(lambda y: F.relu(y) - 3, [1.0, 2.0], arg_names=["y"])))
    between = first.output_vars[0]
    first.add_output(*second.output_vars)
    entry = second.data_providers_filter.as_unique()
    readers = first.opr_filter.has_input(entry).as_list()
    assert [opr.type for opr in readers] == ["Elemwise"]
    for opr in readers:
        opr.inputs[0] = between
    first.remove_output(between)
    assert [var.name for var in first.input_vars] == ["x"]
    assert [value.tolist() for value in run(first, [1.0, -2.0]).values()] == [[0.0, -3.0]]


def test_variables_of_a_network_that_was_added():
    first = Network.load(io.BytesIO(dumped(lambda x: x * 2 + 1, [1.0, -2.0], arg_names=["x"])))
    second = Network.load(io.BytesIO(dumped(lambda y: F.relu(y) - 3, [1.0, 2.0], arg_names=["y"])))
    (between,), (result,), (entry,) = first.output_vars, second.output_vars, second.input_vars
    with pytest.raises(ValueError, match="y is a variable of another network"):
        first.replace_vars({entry: between})
    first.add_output(result)
    first.replace_vars({entry: between})
    assert [var.name for var in first.input_vars] == ["x"]
    first.remove_output(result)
    assert first.output_vars == [between]


def test_lists_of_a_network_have_the_methods_of_lists():
    net = sums()
    (total,) = net.output_vars
    part = net.opr_filter.has_input(net.get_var_by_name("a")).as_unique().outputs[0]
    net.output_vars.append(part)
    net.output_vars.remove(total)
    assert net.output_vars == [part]
    with pytest.raises(ValueError, match="VarNode:o is not in the list"):
        net.output_vars.remove(total)
    net.output_vars.append(total)
    net.output_vars.sort(key=lambda var: var.name, reverse=True)
    assert net.output_vars == [total, part]
    net.output_vars.sort(key=lambda var: var.name)
    assert net.output_vars == [part, total]
    copied = copy.copy(net.output_vars)
    copied.clear()
    assert type(copied) is list and net.output_vars == [part, total]

    x = net.make_input_node((2,), "float32", name="x")
    concat = F.concat([x, part]).owner
    inputs = concat.inputs
    inputs *= 2
    assert concat.inputs == [x, part] * 2 and concat.outputs[0].shape == (8,)


def test_inputs_get_new_sizes_one_after_the_other():
    net = sums()
    a, b = net.data_providers_filter
    a.shape = (4,)
    assert a.shape == (4,)
    with pytest.raises(RuntimeError, match="broadcast"):
        net.dump(io.BytesIO())
    b.shape = (4,)
    assert net.output_vars[0].shape == (4,)
    assert run(net, [1, 2, 3, 4], [1, 1, 1, 1])["o"].tolist() == [4, 6, 8, 10]


def test_sizes_that_wait_are_forgotten_in_time():
    net = sums()
    a, b = net.data_providers_filter
    a.shape = (4,)
    net.reset_batch_size(2, blacklist=["b"])
    assert a.shape == net.output_vars[0].shape == (2,)
    a.shape = (4,)
    net.reset_batch_size(4, blacklist=["a"])
    assert a.shape == b.shape == net.output_vars[0].shape == (4,)
    with pytest.raises(RuntimeError, match="broadcast"):
        net.reset_batch_size(3, blacklist=["a"])
    assert b.shape == (4,)
    net.dump(io.BytesIO())

    a.shape = (5,)
    net.output_vars = [F.relu(net.get_var_by_name("b"))]
    net.dump(io.BytesIO())
    assert a.shape == (4,)


@pytest.mark.parametrize(
    "shape, error, match",
    [
        (("q",), TypeError, "whole numbers, got 'q'"),
        ((-3,), RuntimeError, "-3"),
        ((1,) * 8, RuntimeError, "8"),
    ],
)
def test_wrong_shapes_do_not_wait(shape, error, match):
    net = sums()
    a = net.get_opr_by_name("a")
    with pytest.raises(error, match=match):
        a.shape = shape
    assert a.shape == (2,)
    net.dump(io.BytesIO())


def test_the_list_of_outputs_is_changed():
    net = sums()
    (total,) = net.output_vars
    (adds,) = net.opr_filter.has_input(net.get_var_by_name("a"))
    net.output_vars.append(adds.outputs[0])
    assert net.output_vars == [total, adds.outputs[0]]
    net.output_vars.pop(0)
    net.output_vars += [total]
    assert net.output_vars == net.dest_vars == [adds.outputs[0], total]
    net.output_vars[0] = F.exp(total)
    net.output_vars = net.output_vars[:1]
    (got,) = run(net, [1, 2], [0, -1]).values()
    np.testing.assert_allclose(got, np.exp([2, 2]), 1e-6)
