# SPDX-License-Identifier: Apache-2.0
"""Networks in the style of MegEngine Lite's own tests (reference_style.py)."""

import os
import threading
import time

import numpy as np

import megenginelite as lite
from megenginelite import (
    LiteAlgoSelectStrategy,
    LiteConfig,
    LiteDeviceType,
    LiteGlobal,
    LiteIO,
    LiteIOType,
    LiteLayout,
    LiteNetwork,
    LiteNetworkIO,
    LiteOptions,
    LiteTensor,
)

IMAGE = np.random.RandomState(1).rand(1, 3, 224, 224).astype(np.float32)
FOLDER = None


def path(name="net.mge"):
    return os.path.join(FOLDER, name)


def loaded(config=None, io=None, prepare=None):
    network = LiteNetwork(config=config, io=io)
    if prepare:
        prepare(network)
    network.load(path())
    return network


def input_of(network):
    return network.get_io_tensor(network.get_input_name(0))


def output_of(network):
    return network.get_io_tensor(network.get_output_name(0)).to_numpy()


def forward(network, image=IMAGE):
    input_of(network).set_data_by_copy(image)
    network.forward()
    network.wait()
    return output_of(network)


_expected = None


def expected():
    global _expected
    if _expected is None:
        _expected = forward(loaded())
    return _expected


def agrees(value, most=1e-4):
    assert value.shape == (1, 1000)
    assert abs(value - expected()).max() < most


def with_option(**fields):
    options = LiteOptions()
    for name, value in fields.items():
        setattr(options, name, value)
    return LiteConfig(option=options)


# --- configuration ---


def test_version():
    assert len(lite.version.split(".")) >= 3


def test_config():
    config = LiteConfig()
    config.bare_model_cryption_name = "nothing"
    assert config.bare_model_cryption_name == "nothing"
    config.has_compression = True
    assert config.has_compression
    options = LiteOptions()
    options.weight_preprocess = True
    options.var_sanity_check_first_run = False
    config.options = options
    assert config.options.weight_preprocess
    assert not config.options.var_sanity_check_first_run
    config.device_type = LiteDeviceType.LITE_CUDA
    assert config.device_type == LiteDeviceType.LITE_CUDA


def test_config_defaults():
    config = LiteConfig()
    assert config.device_type == LiteDeviceType.LITE_CPU
    assert config.options.graph_opt_level == 2
    assert config.options.async_exec_level == 1
    assert config.options.var_sanity_check_first_run


def test_network_io():
    image = LiteIO("data", is_host=False)
    assert image.name == "data"
    assert not image.is_host
    assert image.io_type == LiteIOType.LITE_IO_VALUE
    image.name = "again"
    assert image.name == "again"
    both = LiteNetworkIO()
    both.add_input(image)
    both.add_input("roi", False, LiteIOType.LITE_IO_VALUE, LiteLayout([2, 4]))
    both.add_output("out", is_host=True)
    assert [each.name for each in both.inputs] == ["again", "roi"]
    assert list(both.inputs[1].config_layout.shapes) == [2, 4]
    assert [each.name for each in both.outputs] == ["out"]


def test_network_io_of_lists():
    ios = LiteNetworkIO([["a", True], ["b", False]], [["c", True, LiteIOType.LITE_IO_SHAPE]])
    assert [each.name for each in ios.inputs] == ["a", "b"]
    assert ios.outputs[0].io_type == LiteIOType.LITE_IO_SHAPE


# --- networks ---


def test_network_basic():
    network = loaded()
    for _ in range(3):
        agrees(forward(network))


def test_network_basic_mem():
    network = LiteNetwork()
    with open(path(), "rb") as file:
        network.load(file)
    agrees(forward(network))


def test_network_shared_data():
    network = loaded()
    image = IMAGE.copy()
    input_of(network).set_data_by_share(image)
    for _ in range(3):
        network.forward()
        network.wait()
        agrees(output_of(network))
    image[:] = 0
    network.forward()
    network.wait()
    assert abs(output_of(network) - expected()).max() > 1e-4


def test_network_get_name():
    network = loaded()
    assert network.get_input_name(0) == "data"
    assert network.get_all_input_name() == ["data"]
    assert network.get_all_output_name() == [network.get_output_name(0)]


def test_network_shapes_ahead():
    network = loaded()
    assert list(input_of(network).layout.shapes) == [1, 3, 224, 224]
    output = network.get_io_tensor(network.get_output_name(0))
    assert list(output.layout.shapes) == [1, 1000]


def test_network_set_device_id():
    network = LiteNetwork()
    network.device_id = 1
    network.load(path())
    assert network.device_id == 1
    agrees(forward(network))
    assert input_of(network).device_id == 1


def test_network_set_stream_id():
    network = LiteNetwork()
    network.stream_id = 1
    network.load(path())
    assert network.stream_id == 1
    agrees(forward(network))


def test_network_set_thread_number():
    network = LiteNetwork()
    network.threads_number = 2
    network.load(path())
    assert network.threads_number == 2
    agrees(forward(network))


def test_network_cpu_inplace():
    network = LiteNetwork()
    assert not network.is_cpu_inplace_mode()
    network.enable_cpu_inplace_mode()
    network.load(path())
    assert network.is_cpu_inplace_mode()
    agrees(forward(network))


def test_network_option():
    options = LiteOptions()
    options.weight_preprocess = 1
    options.fuse_preprocess = 1
    agrees(forward(loaded(LiteConfig(option=options))))


def test_network_const_shape():
    agrees(forward(loaded(with_option(const_shape=1))))


def test_network_record_one():
    config = with_option(comp_node_seq_record_level=1, var_sanity_check_first_run=0)
    network = loaded(config)
    for _ in range(3):
        agrees(forward(network))


def test_network_dynamic_memory():
    agrees(forward(loaded(with_option(force_dynamic_alloc=1))))


def test_network_outputs_allocated_in_the_run():
    network = loaded(with_option(force_output_dynamic_alloc=1))
    for _ in range(3):
        agrees(forward(network))


def test_network_output_in_users_memory():
    options = dict(force_output_use_user_specified_memory=1, var_sanity_check_first_run=0)
    network = loaded(with_option(**options))
    for _ in range(3):
        memory = np.zeros((1, 1000), np.float32)
        input_of(network).set_data_by_copy(IMAGE)
        network.get_io_tensor(network.get_output_name(0)).set_data_by_share(memory)
        network.forward()
        network.wait()
        agrees(memory)


def test_network_level_of_optimisation():
    agrees(forward(loaded(with_option(graph_opt_level=0))))


def test_network_blocked_layout():
    agrees(forward(loaded(with_option(enable_nchw44=1))))


def test_network_reset_io():
    network = loaded()
    memory = np.zeros((1, 1000), np.float32)
    output = network.get_io_tensor(network.get_output_name(0))
    output.set_data_by_share(memory)
    agrees(forward(network))


def test_network_by_share():
    network = loaded()
    image = LiteTensor(LiteLayout([1, 3, 224, 224]))
    image.set_data_by_copy(IMAGE)
    input_of(network).share_memory_with(image)
    network.forward()
    network.wait()
    agrees(output_of(network))


def test_network_share_weights():
    source = loaded()
    network = LiteNetwork()
    network.enable_cpu_inplace_mode()
    network.share_weights_with(source)
    agrees(forward(source))
    agrees(forward(network))


def test_network_share_runtime_memory():
    source = LiteNetwork()
    network = LiteNetwork()
    network.share_runtime_memroy(source)
    source.load(path())
    network.load(path())
    agrees(forward(source))
    agrees(forward(network))


def test_network_async():
    network = LiteNetwork(with_option(var_sanity_check_first_run=0))
    network.load(path())
    done = []
    network.async_with_callback(lambda: done.append(1) or 0)
    input_of(network).set_data_by_copy(IMAGE)
    network.forward()
    until = time.time() + 20
    while not done and time.time() < until:
        time.sleep(0.001)
    assert done
    agrees(output_of(network))


def test_network_start_callback():
    network = loaded()
    seen = []

    def start(ios):
        for io, tensor in ios.items():
            seen.append((io.name, abs(tensor.to_numpy() - IMAGE).max()))
        return 0

    network.set_start_callback(start)
    agrees(forward(network))
    assert seen == [("data", 0)]


def test_network_finish_callback():
    network = loaded()
    seen = []
    wanted = expected()

    def finish(ios):
        for io, tensor in ios.items():
            seen.append((io.name, abs(tensor.to_numpy() - wanted).max()))
        return 0

    network.set_finish_callback(finish)
    agrees(forward(network))
    assert [name for name, _ in seen] == [network.get_output_name(0)]
    assert seen[0][1] < 1e-5


def test_enable_profile(tmp_path):
    network = loaded()
    network.enable_profile_performance(str(tmp_path / "profile.json"))
    agrees(forward(network))
    assert (tmp_path / "profile.json").exists()


def test_io_txt_dump(tmp_path):
    network = loaded()
    network.io_txt_dump(str(tmp_path / "io.txt"))
    agrees(forward(network))
    assert (tmp_path / "io.txt").stat().st_size > 0


def test_io_bin_dump(tmp_path):
    network = loaded()
    (tmp_path / "io").mkdir()
    network.io_bin_dump(str(tmp_path / "io"))
    agrees(forward(network))
    assert list((tmp_path / "io").iterdir())


def test_algo_workspace_limit():
    network = loaded()
    network.set_network_algo_workspace_limit(10000)
    agrees(forward(network))


def test_network_algo_policy():
    network = loaded()
    network.set_network_algo_policy(
        LiteAlgoSelectStrategy.LITE_ALGO_PROFILE | LiteAlgoSelectStrategy.LITE_ALGO_REPRODUCIBLE
    )
    agrees(forward(network))


def test_network_algo_policy_ignore_batch():
    network = loaded()
    network.set_network_algo_policy(
        LiteAlgoSelectStrategy.LITE_ALGO_PROFILE,
        shared_batch_size=1,
        binary_equal_between_batch=True,
    )
    agrees(forward(network))


def test_network_algo_policy_heuristic():
    network = loaded()
    network.set_network_algo_policy(LiteAlgoSelectStrategy.LITE_ALGO_HEURISTIC)
    agrees(forward(network))


def test_device_tensor_no_copy():
    network = loaded()
    image = LiteTensor(
        LiteLayout([1, 3, 224, 224]), device_type=LiteDeviceType.LITE_CPU, is_pinned_host=True
    )
    image.set_data_by_copy(IMAGE)
    input_of(network).share_memory_with(image)
    network.forward()
    network.wait()
    agrees(output_of(network))


def test_other_shapes_and_back():
    network = loaded()
    agrees(forward(network))
    two = forward(network, np.concatenate([IMAGE, IMAGE]))
    assert two.shape == (2, 1000)
    assert abs(two - expected()).max() < 1e-4
    agrees(forward(network))


def test_config_layout_of_an_input():
    io = LiteNetworkIO()
    io.add_input("data", True, LiteIOType.LITE_IO_VALUE, LiteLayout([2, 3, 224, 224]))
    network = loaded(io=io)
    two = forward(network, np.concatenate([IMAGE, IMAGE]))
    assert two.shape == (2, 1000)


def test_output_shape_only():
    io = LiteNetworkIO()
    name = loaded().get_output_name(0)
    io.add_output(name, io_type=LiteIOType.LITE_IO_SHAPE)
    network = loaded(io=io)
    input_of(network).set_data_by_copy(IMAGE)
    network.forward()
    network.wait()
    assert list(network.get_io_tensor(name).layout.shapes) == [1, 1000]


def test_two_networks_in_two_threads():
    networks = [loaded(), loaded()]
    expected()
    failures = []

    def use(network):
        try:
            for _ in range(5):
                agrees(forward(network))
        except BaseException as failure:  # noqa: BLE001
            failures.append(failure)

    threads = [threading.Thread(target=use, args=[network]) for network in networks]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_encrypted():
    for cipher in ("AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"):
        if not os.path.exists(path(cipher)):
            continue
        config = LiteConfig()
        config.bare_model_cryption_name = cipher
        network = LiteNetwork(config=config)
        network.load(path(cipher))
        agrees(forward(network))


def test_invalid_model(tmp_path):
    (tmp_path / "none.mge").write_bytes(b"nothing of that kind")
    for file in (tmp_path / "none.mge", tmp_path / "absent.mge"):
        try:
            LiteNetwork().load(str(file))
        except RuntimeError:
            continue
        except FileNotFoundError:
            continue
        raise AssertionError(file)


# --- what is of the whole process ---


def test_get_model_io_ahead():
    ios = lite.get_model_io_info(path())
    assert [each.name for each in ios.inputs] == ["data"]
    assert len(ios.outputs) == 1
    assert list(ios.outputs[0].config_layout.shapes) == [1, 1000]


def test_device_count():
    assert LiteGlobal.get_device_count(LiteDeviceType.LITE_CPU) > 0


def test_decryption_method_and_its_key():
    @lite.decryption_func
    def identity(data, key):
        return data

    LiteGlobal.register_decryption_and_key("of_this_test", identity, [1] * 16)
    LiteGlobal.update_decryption_key("of_this_test", [15] * 16)
    agrees(forward(loaded()))


def test_free_memory():
    LiteGlobal.try_coalesce_all_free_memory()
    agrees(forward(loaded()))


try:
    import pytest

    @pytest.fixture(autouse=True, scope="module")
    def folder_of_models(models):
        global FOLDER
        FOLDER = str(models)

except ImportError:
    pass
