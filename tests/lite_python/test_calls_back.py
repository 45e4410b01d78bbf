# SPDX-License-Identifier: Apache-2.0
"""LiteNetwork: functions of the user that it calls, and options that C++ had alone."""

import ctypes
import json
import threading

import numpy as np
import pytest

from megenginelite import LiteConfig, LiteDeviceType, LiteNetwork, LiteNetworkIO, LiteOptions

from .conftest import run, scores_of


def test_callbacks_are_removed(network, image):
    calls = []
    network.set_start_callback(lambda ios: calls.append("start"))
    network.set_finish_callback(lambda ios: calls.append("finish"))
    run(network, image)
    network.set_start_callback(None)
    run(network, image)
    assert calls == ["start", "finish", "finish"]
    network.set_finish_callback(None)
    network.async_with_callback(lambda: calls.append("async"))
    network.async_with_callback(None)
    run(network, image)
    assert len(calls) == 3
    network.set_start_callback(None)


def test_affinity_is_set_in_each_thread(models):
    network = LiteNetwork()
    network.threads_number = 2
    with pytest.raises(RuntimeError, match="no model is loaded"):
        network.set_runtime_thread_affinity(print)
    network.load(models / "net.mge")
    threads = {}
    network.set_runtime_thread_affinity(lambda i: threads.update({i: threading.get_native_id()}))
    assert sorted(threads) == [0, 1] and len(set(threads.values())) == 2

    def fail(thread):
        raise KeyError(thread)

    with pytest.raises(KeyError):
        network.set_runtime_thread_affinity(fail)
    with pytest.raises(TypeError):
        network.set_runtime_thread_affinity(3)


def test_memory_of_the_user(models, image, expected):
    blocks, freed = {}, []

    def allocate(device, number, size, align):
        assert device is LiteDeviceType.LITE_CPU
        block = ctypes.create_string_buffer(size + align)
        address = -(-ctypes.addressof(block) // align) * align
        blocks[address] = block
        return address

    network = LiteNetwork()
    network.set_memory_allocator(allocate, lambda device, number, address: freed.append(address))
    np.testing.assert_array_equal(scores_of(network, models / "net.mge", image), expected)
    assert network.get_io_tensor("score").get_ctypes_memory().value in blocks
    del network
    assert sorted(freed) == sorted(blocks)

    def fail(*_):
        raise KeyError("no memory")

    network = LiteNetwork()
    network.set_memory_allocator(fail, freed.append)
    with pytest.raises(KeyError, match="no memory"):
        scores_of(network, models / "net.mge", image)
    with pytest.raises(TypeError):
        LiteNetwork().set_memory_allocator(None, fail)


def test_application_fields_of_a_packed_model(models, network):
    assert network.get_model_extra_info() == ""
    network.load(models / "packed")
    assert json.loads(network.get_model_extra_info()) == {"author": "someone"}
    assert network.device_type is LiteDeviceType.LITE_CPU


def test_unrequested_outputs_are_not_computed(models):
    network = LiteNetwork(io=LiteNetworkIO(outputs=["difference"]))
    network.compute_only_configured_output()
    network.load(models / "two.mge")
    assert network.get_all_output_name() == ["difference"]
    with pytest.raises(RuntimeError, match="loaded"):
        network.compute_only_configured_output()


def test_precision_and_weights_of_few_bits(models, image, expected):
    for name, value in (("precision", 2), ("weight_bits", 8), ("enable_f16_io_comp", 1)):
        options = LiteOptions()
        setattr(options, name, value)
        network = LiteNetwork(LiteConfig(option=options))
        network.load(models / "net.mge")
        data = network.get_io_tensor("data")
        data.set_data_by_copy(image.astype(data.layout.dtype))
        network.forward()
        network.wait()
        scores = network.get_io_tensor("score").to_numpy()
        np.testing.assert_allclose(scores, expected, rtol=0.3, atol=1e-2, err_msg=name)
