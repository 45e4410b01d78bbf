# SPDX-License-Identifier: Apache-2.0
"""Inputs of an ONNX file whose memory the results take, as the cache of a language model."""

import numpy as np
import pytest
from onnx_files import model_of, onnx, port

from megengine import Tensor
from megengine import onnx as mge_onnx

LENGTH, WIDTH = 8, 4


@pytest.fixture
def path(tmp_path):
    """Two caches, each with new rows at given places."""
    nodes, inputs, outputs = [], [port("place", [1, 1], onnx.TensorProto.INT64)], []
    inputs.append(port("fresh", [1, WIDTH]))
    for i in range(2):
        names = [f"past{i}", "place", "fresh"]
        nodes.append(onnx.helper.make_node("ScatterND", names, [f"present{i}"]))
        inputs.append(port(f"past{i}", [LENGTH, WIDTH]))
        outputs.append(port(f"present{i}", [LENGTH, WIDTH]))
    return model_of(nodes, inputs, outputs, tmp_path)


def fresh_row(i):
    return np.full((1, WIDTH), i + 1, np.float32)


def expected_rows(count):
    rows = np.zeros((LENGTH, WIDTH), np.float32)
    rows[:count] = np.arange(1, count + 1)[:, None]
    return rows


def address(tensor):
    return np.from_dlpack(tensor).__array_interface__["data"][0]


def decode(net, caches, count):
    """The addresses of the caches after each of so many runs, and their last values."""
    addresses = []
    for i in range(count):
        feed = {"place": np.array([[i]]), "fresh": fresh_row(i), "past0": caches[0]}
        caches = net(**feed, past1=caches[1])
        addresses.append([address(cache) for cache in caches])
    return addresses, [cache.numpy() for cache in caches]


def test_results_stay_in_donated_memory(path):
    net = mge_onnx.load(path, donated=["past0", "past1"])
    zeros = [Tensor(np.zeros((LENGTH, WIDTH), np.float32)) for _ in range(2)]
    addresses, caches = decode(net, zeros, 5)
    # The first run is one of checks.
    assert len({tuple(pair) for pair in addresses}) == 1
    for cache in caches:
        np.testing.assert_array_equal(cache, expected_rows(5))


def test_other_inputs_are_kept(path):
    net = mge_onnx.load(path, donated=["past1"])
    kept, caches = Tensor(np.zeros((LENGTH, WIDTH), np.float32)), None
    for i in range(4):
        given = Tensor(np.zeros((LENGTH, WIDTH), np.float32))
        caches = net(np.array([[i]]), fresh_row(i), kept, given)
        assert address(caches[0]) != address(kept)
        assert i == 0 or address(caches[1]) == address(given)
        np.testing.assert_array_equal(kept.numpy(), 0)
    for cache in caches:
        np.testing.assert_array_equal(cache.numpy()[3], 4)


def test_memory_of_two_inputs_is_not_taken(path):
    net = mge_onnx.load(path, donated=["past0", "past1"])
    for i in range(3):
        zeros = Tensor(np.zeros((LENGTH, WIDTH), np.float32))
        caches = net(np.array([[i]]), fresh_row(i), zeros, zeros)
        assert len({address(tensor) for tensor in (zeros, *caches)}) == 3
        np.testing.assert_array_equal(zeros.numpy(), 0)


def test_parts_of_other_tensors_and_arrays_are_not_taken(path):
    net = mge_onnx.load(path, donated=["past0", "past1"])
    for i in range(3):
        whole = Tensor(np.zeros((2 * LENGTH, WIDTH), np.float32))
        array = np.zeros((LENGTH, WIDTH), np.float32)
        caches = net(np.array([[i]]), fresh_row(i), whole[LENGTH:], array)
        np.testing.assert_array_equal(whole.numpy(), 0)
        np.testing.assert_array_equal(array, 0)
        for cache in caches:
            assert cache.numpy().sum() == WIDTH * (i + 1)


def test_refused_names(path):
    with pytest.raises(ValueError, match=r"donated inputs \['x'\]; the model takes \['place', "):
        mge_onnx.load(path, donated=["x", "past0"])
    with pytest.raises(ValueError, match="trained"):
        mge_onnx.load(path, trainable=True, donated=["past0"])
