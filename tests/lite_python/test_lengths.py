# SPDX-License-Identifier: Apache-2.0
"""A model that generates: each run extends the outputs of the run before."""

import numpy as np
import pytest
from conftest import tool

from megenginelite import LiteLayout, LiteNetwork

onnx = pytest.importorskip("onnx")

WIDTH = 128


@pytest.fixture(scope="module")
def weight():
    return np.random.default_rng(0).standard_normal((WIDTH, WIDTH), np.float32) / 16


@pytest.fixture(scope="module")
def decoder(weight, tmp_path_factory):
    """present = past and x · weight, y = the sum of present · weight."""
    helper = onnx.helper
    nodes = [
        helper.make_node("MatMul", ["x", "weight"], ["next"]),
        helper.make_node("Concat", ["past", "next"], ["present"], axis=0),
        helper.make_node("ReduceSum", ["present", "axis"], ["sum"]),
        helper.make_node("MatMul", ["sum", "weight"], ["y"]),
    ]
    ports = [
        helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [length, WIDTH])
        for name, length in (("x", 1), ("past", "past"), ("y", 1), ("present", "past + 1"))
    ]
    constants = [
        onnx.numpy_helper.from_array(weight, "weight"),
        onnx.numpy_helper.from_array(np.array([0]), "axis"),
    ]
    graph = helper.make_graph(nodes, "decoder", ports[:2], ports[2:], constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    folder = tmp_path_factory.mktemp("decoder")
    onnx.save(model, folder / "decoder.onnx")
    tool("mge-dump", "convert", folder / "decoder.onnx", folder / "decoder.mge")
    return folder / "decoder.mge"


def write(network, name, values):
    tensor = network.get_io_tensor(name)
    tensor.layout = LiteLayout(values.shape, np.float32)
    tensor.set_data_by_copy(values)


def run(network, x):
    write(network, "x", x)
    network.forward()
    network.wait()
    return network.get_io_tensor("y").to_numpy(), network.get_io_tensor("present").to_numpy()


@pytest.mark.parametrize("shares", [True, False])
def test_outputs_are_the_next_inputs(decoder, weight, shares):
    network = LiteNetwork()
    network.load(decoder)
    random = np.random.default_rng(1)
    past = random.standard_normal((3, WIDTH), np.float32)
    write(network, "past", past)
    for _ in range(8):
        x = random.standard_normal((1, WIDTH), np.float32)
        y, present = run(network, x)
        past = np.concatenate([past, x @ weight])
        np.testing.assert_allclose(present, past, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(y, past.sum(0, keepdims=True) @ weight, rtol=1e-3, atol=1e-3)
        if shares:
            present = network.get_io_tensor("present")
            network.get_io_tensor("past").share_memory_with(present)
        else:
            write(network, "past", past)


def test_lengths_in_any_order(decoder, weight):
    network = LiteNetwork()
    network.load(decoder)
    random = np.random.default_rng(2)
    for length in (5, 6, 1, 200, 6, 128, 5):
        past = random.standard_normal((length, WIDTH), np.float32)
        write(network, "past", past)
        x = random.standard_normal((1, WIDTH), np.float32)
        y, present = run(network, x)
        assert present.shape == (length + 1, WIDTH)
        np.testing.assert_array_equal(present[:-1], past)
        np.testing.assert_allclose(y, present.sum(0, keepdims=True) @ weight, rtol=1e-3, atol=1e-3)
