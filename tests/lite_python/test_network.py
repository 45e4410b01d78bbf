# SPDX-License-Identifier: Apache-2.0
"""LiteNetwork: loading, running, and everything that is set before or after."""

import gc
import io
import json
import os
import threading
import time
import weakref
from pathlib import Path

import numpy as np
import pytest

from megenginelite import (
    LiteConfig,
    LiteDeviceType,
    LiteExtraConfig,
    LiteIO,
    LiteIOType,
    LiteLayout,
    LiteNetwork,
    LiteNetworkIO,
    LiteOptions,
    LiteTensor,
    LiteTensorPhase,
    get_model_io_info,
)

from .conftest import is_library_for_deployment, run, scores_of, tool

PLAIN_MODEL_OF_MEGENGINE = Path(__file__).resolve().parents[1] / "data/megengine/shuffle.v2.mge"


# Loading


@pytest.mark.parametrize(
    "open_file",
    [
        lambda path: path,
        str,
        lambda path: path.read_bytes(),
        lambda path: bytearray(path.read_bytes()),
        lambda path: io.BytesIO(path.read_bytes()),
        lambda path: path.open("rb"),
    ],
    ids=["Path", "str", "bytes", "bytearray", "BytesIO", "file"],
)
def test_files_and_bytes_are_loaded(models, image, expected, open_file):
    scores = scores_of(LiteNetwork(), open_file(models / "net.mge"), image)
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("cipher", ["AES_default", "RC4_default", "SIMPLE_FAST_RC4_default"])
def test_encrypted_models_need_the_name_of_their_cipher(models, image, expected, cipher):
    config = LiteConfig()
    config.bare_model_cryption_name = cipher
    np.testing.assert_array_equal(scores_of(LiteNetwork(config), models / cipher, image), expected)
    network = LiteNetwork()
    with pytest.raises(RuntimeError):
        network.load(models / cipher)
    # The object may load another model.
    np.testing.assert_array_equal(scores_of(network, models / "net.mge", image), expected)


def test_packed_model_information_is_applied_unless_disabled(models, image, expected):
    network = LiteNetwork()
    np.testing.assert_allclose(scores_of(network, models / "packed", image), expected, atol=1e-6)
    assert network.threads_number == 2
    network = LiteNetwork()
    network.extra_configure(LiteExtraConfig(True))
    scores_of(network, models / "packed", image)
    assert network.threads_number == 1


def test_models_of_the_onnx_format(models, image, expected):
    network = LiteNetwork()
    if is_library_for_deployment():
        with pytest.raises(RuntimeError, match="convert ONNX models with 'mge-dump convert'"):
            network.load(models / "net.onnx")
        return
    for source in (models / "net.onnx", (models / "net.onnx").read_bytes()):
        np.testing.assert_allclose(scores_of(network, source, image), expected, atol=1e-6)


def test_wrong_files_raise(models, tmp_path):
    network = LiteNetwork()
    with pytest.raises(FileNotFoundError):
        network.load(tmp_path / "none")
    with pytest.raises(ValueError, match="s3"):
        network.load("s3://bucket/net.mge")
    with pytest.raises(AssertionError, match="path, bytes"):
        network.load(5)
    (tmp_path / "text").write_text("no model")
    with pytest.raises(RuntimeError, match="text"):
        network.load(tmp_path / "text")
    config = LiteConfig()
    config.has_compression = 1
    with pytest.raises(RuntimeError, match="has_compression"):
        LiteNetwork(config).load(PLAIN_MODEL_OF_MEGENGINE)
    content = (models / "net.mge").read_bytes()
    with pytest.raises(RuntimeError):
        network.load(content[: len(content) // 2])
    for use in (network.forward, network.wait, network.get_all_input_name):
        with pytest.raises(RuntimeError, match="no model is loaded"):
            use()


# Running


def test_forwards_with_other_inputs(network, image, expected):
    for _ in range(3):
        np.testing.assert_array_equal(run(network, image), expected)
        other = run(network, image * 2)
        assert np.abs(other - expected).max() > 1e-6 and abs(other.sum() - 1) < 1e-5


def test_names_and_shapes(models, network):
    assert network.get_all_input_name() == ["data"] and network.get_input_name(0) == "data"
    assert network.get_all_output_name() == ["score"] and network.get_output_name(0) == "score"
    assert network.get_io_tensor("score").layout.shapes == [1, 1000]
    for getter in (network.get_input_name, network.get_output_name):
        for index in (1, -1):
            with pytest.raises(RuntimeError):
                getter(index)
    with pytest.raises(RuntimeError, match="data"):
        network.get_io_tensor("nothing")
    two = LiteNetwork()
    two.load(models / "two.mge")
    assert two.get_all_input_name() == ["a", "b"]
    assert two.get_all_output_name() == ["sum", "difference"]
    with pytest.raises(RuntimeError):
        two.get_io_tensor("a", LiteTensorPhase.LITE_OUTPUT)


def test_other_shapes_and_back(network, image, expected):
    np.testing.assert_array_equal(run(network, image), expected)
    batch = np.random.RandomState(2).rand(2, 3, 200, 200).astype(np.float32)
    scores = run(network, batch)
    assert scores.shape == (2, 1000)
    for i in range(2):
        np.testing.assert_allclose(run(network, batch[i : i + 1])[0], scores[i], atol=1e-6)
    np.testing.assert_array_equal(run(network, image), expected)


def test_shared_arrays_are_read_where_they_are(network, image, expected):
    own = image.copy()
    data, score = network.get_io_tensor("data"), network.get_io_tensor("score")
    data.set_data_by_share(own)
    network.forward()
    network.wait()
    view = score.get_data_by_share()
    np.testing.assert_array_equal(view, expected)
    own *= 2
    network.forward()
    network.wait()
    assert np.abs(view - expected).max() > 1e-6
    del network, data
    gc.collect()
    assert abs(view.sum() - 1) < 1e-5


def test_shared_arrays_are_kept_no_longer_than_their_model(network, models, image):
    other = LiteNetwork()
    other.load(models / "net.mge")
    for load in (
        lambda: network.load(models / "net.mge"),
        lambda: network.share_weights_with(other),
    ):
        own = image.copy()
        network.get_io_tensor("data").set_data_by_share(own)
        kept = weakref.ref(own)
        del own
        gc.collect()
        assert kept() is not None
        load()
        gc.collect()
        assert kept() is None


def test_tensors_may_be_shared_and_given_memory(network, image, expected):
    tensor = LiteTensor()
    tensor.set_data_by_copy(image)
    network.get_io_tensor("data").share_memory_with(tensor)
    memory = np.zeros((1, 1000), np.float32)
    network.get_io_tensor("score").set_data_by_share(memory)
    network.forward()
    network.wait()
    np.testing.assert_array_equal(network.get_io_tensor("score").to_numpy(), expected)


@pytest.mark.parametrize("level", [0, 1])
def test_outputs_in_the_users_memory(models, image, expected, level):
    options = LiteOptions()
    options.force_output_use_user_specified_memory = 1
    options.comp_node_seq_record_level = level
    network = LiteNetwork(LiteConfig(option=options))
    network.load(models / "net.mge")
    network.get_io_tensor("data").set_data_by_copy(image)
    for _ in range(3):
        memory = np.zeros((1, 1000), np.float32)
        network.get_io_tensor("score").set_data_by_share(memory)
        network.forward()
        network.wait()
        np.testing.assert_allclose(memory, expected, atol=1e-6)


def test_forward_runs_on_another_thread(network, image):
    run(network, np.repeat(image, 64, 0))

    def share_of_forward():
        """Share of a run's processor time, which other work hardly affects."""
        before, own = time.process_time(), time.thread_time()
        network.forward()
        own = time.thread_time() - own
        network.wait()
        return own / (time.process_time() - before)

    assert not network.is_cpu_inplace_mode()
    assert min(share_of_forward() for _ in range(10)) <= 0.1


def test_in_place(models, image, expected):
    network = LiteNetwork()
    network.enable_cpu_inplace_mode()
    network.load(models / "net.mge")
    assert network.is_cpu_inplace_mode()
    np.testing.assert_array_equal(run(network, image), expected)
    with pytest.raises(RuntimeError, match="in-place"):
        network.async_with_callback(lambda: None)
    with pytest.raises(RuntimeError):
        network.enable_cpu_inplace_mode()


# Settings


def test_default_device_of_a_network(models, image, expected):
    config = LiteConfig()
    config.device_id = -1
    for device in (LiteDeviceType.LITE_CPU, LiteDeviceType.LITE_DEVICE_DEFAULT):
        config.device_type = device
        network = LiteNetwork(config)
        np.testing.assert_array_equal(scores_of(network, models / "net.mge", image), expected)
        for tensor in (network.get_io_tensor("data"), network.get_io_tensor("score")):
            assert (tensor.device_type, tensor.device_id) == (LiteDeviceType.LITE_CPU, 0)


def test_settings_before_loading(models, image, expected):
    network = LiteNetwork()
    network.device_id, network.stream_id, network.threads_number = 4, 1, 2
    np.testing.assert_allclose(scores_of(network, models / "net.mge", image), expected, atol=1e-6)
    assert (network.device_id, network.stream_id, network.threads_number) == (4, 1, 2)
    assert network.get_io_tensor("data").device_id == 4
    for name in ("device_id", "stream_id", "threads_number"):
        with pytest.raises(RuntimeError):
            setattr(network, name, 1)
    for number, message in ((-1, "negative"), (1 << 64, "too large")):
        with pytest.raises(RuntimeError, match=f"threads_number is .*{message}"):
            LiteNetwork().threads_number = number
    with pytest.raises(RuntimeError, match="TensorRT"):
        LiteNetwork().use_tensorrt()


@pytest.mark.parametrize(
    "option",
    [
        "weight_preprocess",
        "fuse_preprocess",
        "const_shape",
        "force_dynamic_alloc",
        "force_output_dynamic_alloc",
        "no_profiling_on_shape_change",
        "comp_node_seq_record_level",
        "enable_nchw88",
        "enable_nchw44",
    ],
)
def test_options_change_no_result(models, image, expected, option):
    options = LiteOptions()
    setattr(options, option, 1)
    scores = scores_of(LiteNetwork(LiteConfig(option=options)), models / "net.mge", image)
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_engine_chooses_by_default(models, image, expected):
    config = LiteConfig()
    config.auto_optimize_inference = 1
    scores = scores_of(LiteNetwork(config), models / "net.mge", image)
    np.testing.assert_allclose(scores, expected, atol=1e-5)


def test_other_shapes_than_the_constant_one(models, image):
    options = LiteOptions()
    options.const_shape = 1
    network = LiteNetwork(LiteConfig(option=options))
    network.load(models / "net.mge")
    with pytest.raises(RuntimeError, match="const_shape has fixed it"):
        run(network, np.repeat(image, 2, 0))


def test_wrong_configurations_raise(models):
    options = LiteOptions()
    options.enable_nchw44 = options.enable_nchw88 = 1
    with pytest.raises(RuntimeError, match="NCHW"):
        LiteNetwork(LiteConfig(option=options)).load(models / "net.mge")
    config = LiteConfig()
    config.bare_model_cryption_name = "no such cipher"
    with pytest.raises(RuntimeError, match="AES_default"):
        LiteNetwork(config).load(models / "net.mge")
    twice = LiteNetworkIO([LiteIO("data"), LiteIO("data")])
    with pytest.raises(RuntimeError, match="twice"):
        LiteNetwork(io=twice).load(models / "net.mge")


def test_inputs_and_outputs_as_they_are_wanted(models, image):
    io = LiteNetworkIO()
    io.add_input(LiteIO("data", layout=LiteLayout([2, 3, 224, 224], "float32")))
    io.add_input("nothing of that name")
    io.add_output("score", io_type=LiteIOType.LITE_IO_SHAPE)
    network = LiteNetwork(io=io)
    network.load(models / "net.mge")
    assert network.get_io_tensor("data").layout.shapes == [2, 3, 224, 224]
    assert network.get_io_tensor("score").layout.shapes == [2, 1000]
    network.get_io_tensor("data").fill_zero()
    network.forward()
    network.wait()


def test_an_input_image_by_image(models, image):
    config = LiteConfig()
    config.discrete_input_name = b"data"
    io = LiteNetworkIO([LiteIO("data", layout=LiteLayout([3, 3, 224, 224], "float32"))])
    network = LiteNetwork(config, io)
    network.load(models / "net.mge")
    batch = np.concatenate([image, image * 2, image * 3])
    for i in range(3):
        network.get_discrete_tensor("data", i).set_data_by_copy(batch[i : i + 1])
    network.forward()
    network.wait()
    whole = LiteNetwork()
    np.testing.assert_array_equal(
        network.get_io_tensor("score").to_numpy(), scores_of(whole, models / "net.mge", batch)
    )
    with pytest.raises(RuntimeError):
        network.get_discrete_tensor("data", 3)


# Networks that share


def test_shared_weights(models, image, expected):
    source, other = LiteNetwork(), LiteNetwork()
    source.load((models / "net.mge").read_bytes())
    other.enable_cpu_inplace_mode()
    other.share_weights_with(source)
    np.testing.assert_array_equal(run(source, image), expected)
    np.testing.assert_array_equal(run(other, image), expected)
    del source
    gc.collect()
    np.testing.assert_array_equal(run(other, image), expected)
    with pytest.raises(RuntimeError, match="no model is loaded"):
        LiteNetwork().share_weights_with(LiteNetwork())


def test_shared_weights_in_two_threads(models, image, expected):
    networks = [LiteNetwork() for _ in range(2)]
    networks[0].load(models / "net.mge")
    networks[1].share_weights_with(networks[0])
    results = {}

    def work(i):
        for _ in range(5):
            results[i] = run(networks[i], image * (i + 1))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(results[0], expected)
    np.testing.assert_array_equal(results[1], run(networks[0], image * 2))


@pytest.mark.parametrize("name", ["share_runtime_memory", "share_runtime_memroy"])
def test_shared_memory(models, image, expected, name):
    source, other = LiteNetwork(), LiteNetwork()
    source.load(models / "net.mge")
    getattr(other, name)(source)
    other.load(models / "net.mge")
    for network in (source, other, source):
        np.testing.assert_array_equal(run(network, image), expected)
    with pytest.raises(RuntimeError):
        getattr(other, name)(source)


# Callbacks


def test_start_and_finish_callbacks_of_two_networks(models, image, expected):
    networks, seen = [LiteNetwork(), LiteNetwork()], []
    for i, network in enumerate(networks):
        network.load(models / "net.mge")

        def start(ios, i=i):
            (io, tensor), *_ = ios.items()
            seen.append(("start", i, io.name, tensor.to_numpy()[0, 0, 0, 0]))

        def finish(ios, i=i):
            (io, tensor), *_ = ios.items()
            seen.append(("finish", i, io.name, tensor.to_numpy().copy()))

        network.set_start_callback(start)
        network.set_finish_callback(finish)
    for i, network in enumerate(networks):
        seen.clear()
        run(network, image)
        (what, where, name, value), (what2, where2, name2, scores) = seen
        assert (what, where, name, what2, where2, name2) == (
            "start",
            i,
            "data",
            "finish",
            i,
            "score",
        )
        assert value == image[0, 0, 0, 0]
        np.testing.assert_array_equal(scores, expected)


def test_callback_exceptions_propagate(network, image, expected):
    class Own(Exception):
        pass

    def fail(_):
        raise Own

    network.set_start_callback(fail)
    network.get_io_tensor("data").set_data_by_copy(image)
    with pytest.raises(Own):
        network.forward()
    network.set_start_callback(lambda ios: None)
    network.set_finish_callback(fail)
    network.forward()
    with pytest.raises(Own):
        network.wait()
    network.set_finish_callback(lambda ios: None)
    np.testing.assert_array_equal(run(network, image), expected)


def test_callbacks_do_not_change_their_network(network, models, image, expected):
    def load(*_):
        network.load(models / "net.mge")

    network.set_start_callback(load)
    network.get_io_tensor("data").set_data_by_copy(image)
    with pytest.raises(RuntimeError, match="inside of a callback"):
        network.forward()
    network.set_start_callback(lambda ios: None)
    for set_callback in network.set_finish_callback, network.async_with_callback:
        set_callback(load)
        network.forward()
        with pytest.raises(RuntimeError, match="inside of a callback"):
            network.wait()
        set_callback(lambda *_: None)
    np.testing.assert_array_equal(run(network, image), expected)


@pytest.mark.parametrize(
    "name", ["set_start_callback", "set_finish_callback", "async_with_callback"]
)
def test_non_callable_callback_is_refused(network, name):
    with pytest.raises(TypeError, match="callback is a function, got 3"):
        getattr(network, name)(3)


def test_asynchronous_callback(network, image, expected):
    done = threading.Event()
    network.async_with_callback(done.set)
    network.get_io_tensor("data").set_data_by_copy(image)
    network.forward()
    assert done.wait(30)
    np.testing.assert_array_equal(network.get_io_tensor("score").to_numpy(), expected)
    network.wait()

    def fail():
        raise KeyError("own")

    network.async_with_callback(fail)
    network.forward()
    with pytest.raises(KeyError, match="own"):
        network.wait()
    options = LiteOptions()
    options.force_output_use_user_specified_memory = 1
    with pytest.raises(RuntimeError):
        LiteNetwork(LiteConfig(option=options)).async_with_callback(done.set)


# The written profile


def test_profile(network, image, tmp_path):
    network.enable_profile_performance(tmp_path / "profile.json")
    run(network, image)
    first = json.loads((tmp_path / "profile.json").read_text())
    run(network, image)
    assert first.keys() == json.loads((tmp_path / "profile.json").read_text()).keys()
    assert "graph_exec" in first and "profiler" in first
    tool("mge-profile", "check", tmp_path / "profile.json")


def test_profile_is_never_half_written(network, image, tmp_path):
    path = tmp_path / "profile.json"
    network.enable_profile_performance(path)
    run(network, image)
    is_over, sizes = threading.Event(), []

    def read():
        while not sizes or not is_over.is_set():
            sizes.append(len(json.loads(path.read_text())["profiler"]))

    reader = threading.Thread(target=read)
    reader.start()
    for _ in range(30):
        run(network, image)
    is_over.set()
    reader.join()
    assert len(set(sizes)) == 1
    json.loads(path.read_text())


def test_profile_contains_the_time_of_the_run(models, image, tmp_path):
    network = LiteNetwork()
    network.threads_number = 1
    network.enable_profile_performance(tmp_path / "profile.json")
    network.load(models / "net.mge")
    times = []

    def note_time(_):  # other processes may run between the steps: that takes no processor time
        times.append((time.perf_counter(), time.process_time()))

    network.set_start_callback(note_time)
    network.set_finish_callback(note_time)
    network.get_io_tensor("data").set_data_by_copy(np.repeat(image, 64, 0))

    def steps_over_processor_time():
        times.clear()
        network.forward()
        network.wait()
        profile = json.loads((tmp_path / "profile.json").read_text())
        steps = profile["profiler"]["device"].values()
        spans = [span for places in steps for span in places.values()]
        seconds = sum(span["end"] - span["start"] for span in spans)
        whole, of_processor = np.subtract(*reversed(times))
        assert seconds <= whole
        return seconds / of_processor

    assert max(steps_over_processor_time() for _ in range(10)) >= 0.9


def test_values_are_dumped(models, image, tmp_path):
    network = LiteNetwork()
    network.io_txt_dump(tmp_path / "values.txt")
    scores_of(network, models / "net.mge", image)
    assert "score" in (tmp_path / "values.txt").read_text()
    folders = [tmp_path / "made" / "values", tmp_path / "again"]
    for folder in folders:
        network = LiteNetwork()
        network.io_bin_dump(folder)
        scores_of(network, models / "net.mge", image)
        assert len(list(folder.iterdir())) > 3
    tool("mge-dump", "iodiff", *folders)
    network.io_txt_dump(tmp_path / "more.txt")
    network.io_txt_dump("")
    run(network, image)
    assert (tmp_path / "more.txt").read_text() == ""
    before = [file.stat().st_mtime_ns for file in folders[1].iterdir()]
    network.io_bin_dump(folders[1])
    network.io_bin_dump("")
    run(network, image)
    assert before == [file.stat().st_mtime_ns for file in folders[1].iterdir()]


def test_static_memory(network, tmp_path):
    for name in ("first/deep", "second"):
        network.get_static_memory_alloc_info(tmp_path / name)
        assert list((tmp_path / name).iterdir())


def test_layouts_are_chosen_and_the_model_written(models, image, expected, tmp_path):
    network = LiteNetwork()
    network.enable_global_layout_transform()
    np.testing.assert_allclose(scores_of(network, models / "net.mge", image), expected, atol=1e-5)
    network.dump_layout_transform_model(tmp_path / "new.mge")
    scores = scores_of(LiteNetwork(), tmp_path / "new.mge", image)
    np.testing.assert_allclose(scores, expected, atol=1e-5)
    plain = LiteNetwork()
    plain.load(models / "net.mge")
    with pytest.raises(RuntimeError, match="enable_global_layout_transform"):
        plain.dump_layout_transform_model(tmp_path / "other.mge")


def test_inputs_and_outputs_ahead(models):
    for file in (models / "net.mge", (models / "net.mge").read_bytes(), models / "packed"):
        info = get_model_io_info(file)
        assert [io.name for io in info.inputs] == ["data"]
        assert info.inputs[0].config_layout.shapes == [1, 3, 224, 224]
        assert [io.name for io in info.outputs] == ["score"]
        assert info.outputs[0].config_layout.shapes == [1, 1000]
    with pytest.raises(RuntimeError):
        get_model_io_info(b"no model")


def test_a_copied_model_file_may_be_cut(models, image, expected, tmp_path):
    options = LiteOptions()
    options.copy_model_files = 1
    copy = tmp_path / "net.mge"
    copy.write_bytes((models / "net.mge").read_bytes())
    network = LiteNetwork(LiteConfig(option=options))
    network.load(copy)
    os.truncate(copy, 0)
    np.testing.assert_array_equal(run(network, image), expected)
    # A plan for other shapes reads the weights again.
    two = run(network, np.concatenate([image, image]))
    np.testing.assert_allclose(two, np.concatenate([expected] * 2), rtol=1e-5, atol=1e-6)
