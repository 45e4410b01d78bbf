# SPDX-License-Identifier: Apache-2.0
"""save, load, and the settings of the process."""

import copyreg
import gzip
import io
import logging
import os
import pickle
import threading
import traceback
import types
from pathlib import Path

import numpy as np
import pytest
from interface_names import INTERFACE

import megengine as mge
import megengine.data.transform as T
import megengine.distributed as dist
import megengine.module as M
import megengine.quantization as Q
from megengine.core.tensor import dtype as D
from megengine.core.tensor.dtype import QuantDtypeMeta, _builtin_quant_dtypes
from megengine.jit import trace
from megengine.serialization import DamagedFileError, MissingClassError, MissingModuleError


def test_round_trip_of_nested_state(tmp_path):
    net = M.Linear(3, 2)
    path = tmp_path / "state.pkl"
    mge.save({"state": net.state_dict(), "step": 3, "t": mge.Parameter([1.0])}, path)
    found = mge.load(str(path))
    assert found["step"] == 3 and isinstance(found["t"], mge.Parameter)
    np.testing.assert_array_equal(found["state"]["weight"], net.weight.numpy())
    assert [p.name for p in tmp_path.iterdir()] == ["state.pkl"]


@pytest.mark.parametrize("use", [mge.load, lambda path: mge.save({}, path)], ids=["load", "save"])
@pytest.mark.parametrize("form", [str, Path])
def test_errors_of_the_system_name_the_file_as_given(tmp_path, use, form):
    path = form(tmp_path / "nowhere/state.pkl")
    with pytest.raises(FileNotFoundError) as caught:
        use(path)
    assert caught.value.filename == os.fspath(path)


class AsMegEngine:
    """Pickled as MegEngine pickles a Tensor: made by ``__new__`` alone, with a state."""

    def __init__(self, cls, array):
        self.arguments = cls, array, array.dtype, "cpu0:0"

    @property
    def __class__(self):
        return self.arguments[0]

    def __reduce_ex__(self, protocol):
        return copyreg.__newobj__, self.arguments, {"qparams": None}


@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize(
    "net",
    [
        M.Conv3d(2, 3, 2),
        M.ConvTranspose3d(2, 3, 2),
        M.LocalConv2d(2, 3, 4, 4, 3),
        M.DeformableConv2d(2, 3, 3),
        M.RegionRestrictedConv(2, 2, 3, 1),
    ],
    ids=lambda net: type(net).__name__,
)
def test_all_convolutions_are_found_where_megengine_has_them(net, weights_only):
    home = type(net).__module__.encode()
    content = pickle.dumps(net, protocol=2).replace(home, b"megengine.module.conv")
    found = mge.load(io.BytesIO(content), weights_only=weights_only)
    assert type(found) is type(net)
    np.testing.assert_array_equal(found.weight.numpy(), net.weight.numpy())


@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize("ranks", [None, []])
def test_groups_of_synchronised_norms_are_in_files(weights_only, ranks, monkeypatch):
    monkeypatch.setattr(dist.group, "_process", None)
    net = M.SyncBatchNorm(3, group=dist.WORLD)
    net.group = dist.Group([])
    net.group.proc_ranks = ranks
    found = mge.load(io.BytesIO(pickle.dumps(net)), weights_only=weights_only)
    assert isinstance(found.group, dist.Group) and found.group.key == ""
    assert found(mge.functional.ones((2, 3, 4, 4))).shape == (2, 3, 4, 4)


def test_strange_ranks_of_groups_are_refused():
    net = M.SyncBatchNorm(3, group=dist.Group([]))
    net.group.proc_ranks = {"a": 1}
    with pytest.raises(pickle.UnpicklingError, match="strange ranks"):
        mge.load(io.BytesIO(pickle.dumps(net)), weights_only=True)
    with pytest.raises(TypeError, match="group is a Group, got int"):
        M.SyncBatchNorm(3, group=0)


@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize("cls", [mge.Tensor, mge.Parameter])
def test_tensors_of_megengine_have_their_values(cls, weights_only):
    array = np.arange(6, dtype=np.float32).reshape(2, 3)
    content = pickle.dumps([AsMegEngine(cls, array)], protocol=4)
    (found,) = mge.load(io.BytesIO(content), map_location="cpu1", weights_only=weights_only)
    assert type(found) is cls and str(found.device) == "cpu1:0"
    np.testing.assert_array_equal(found.numpy(), array)


def quantised_net(make):
    net = M.Sequential(M.QuantStub(), M.ConvBnRelu2d(1, 2, 1), M.Linear(4, 2), M.DequantStub())
    Q.quantize_qat(net, qconfig=Q.min_max_fakequant_qconfig)
    net(mge.functional.ones((1, 1, 4, 4)))
    return make(net)


def tensor_with_scale():
    x = mge.Tensor([1.0])
    x.qparams.update(Q.create_qparams(Q.QuantMode.ASYMMERTIC, "quint8", mge.Tensor(0.5)))
    return x


@pytest.mark.parametrize(
    "make",
    [
        lambda: [mge.Tensor([1.0]), mge.Parameter(2.0)],
        tensor_with_scale,
        lambda: Q.LSQ("qint8").get_qparams(),
        lambda: M.Conv3d(2, 3, 2),
        lambda: M.ConvTranspose3d(2, 3, 2),
        lambda: M.LocalConv2d(2, 3, 4, 4, 3),
        lambda: M.DeformableConv2d(2, 3, 3),
        lambda: M.LSTM(3, 4),
        lambda: M.ConvBn2d(2, 3, 1),
        lambda: quantised_net(lambda net: net),
        lambda: quantised_net(lambda net: Q.quantize(net.eval() or net)),
        lambda: mge.optimizer.Adam([mge.Parameter(2.0)], lr=0.1),
        lambda: T.Compose([T.Resize(4), T.ColorJitter(0.1), T.RandomResizedCrop(4)]),
    ],
)
def test_pickles_use_megengine_names(make):
    names = set()

    class Watching(pickle.Unpickler):
        def find_class(self, module, name):
            names.add((module, name))
            return super().find_class(module, name)

    Watching(io.BytesIO(pickle.dumps(make()))).load()
    own = {key for key in names if key[0].startswith("megengine")}
    assert own and not [key for key in own if key[1] not in INTERFACE.get(key[0], "")]


class NoSets(pickle.Unpickler):
    def find_class(self, module, name):
        if name == "set":
            raise pickle.UnpicklingError("sets are refused")
        return super().find_class(module, name)


def test_tensors_are_mapped_with_any_pickle_module():
    content = pickle.dumps([mge.Tensor([1.0], device="cpu0"), mge.Parameter(2.0, device="cpu0")])
    other = types.SimpleNamespace(load=pickle.load)
    tensors = mge.load(io.BytesIO(content), map_location={"cpu0": "cpu1"}, pickle_module=other)
    assert [str(found.device) for found in tensors] == ["cpu1:0", "cpu1:0"]
    assert str(pickle.loads(content)[0].device) == "cpu0:0"


def test_custom_pickle_module_decides_types():
    refusing = types.SimpleNamespace(Unpickler=pickle.Unpickler, load=lambda f: NoSets(f).load())
    with pytest.raises(pickle.UnpicklingError, match="sets are refused"):
        mge.load(io.BytesIO(pickle.dumps({1}, 0)), pickle_module=refusing)


def test_descriptions_of_dtypes_are_the_same_after_a_pickle():
    for meta in _builtin_quant_dtypes.values():
        assert pickle.loads(pickle.dumps(meta)) is meta
    three_bits = QuantDtypeMeta("qint3", None, "int8", -4, 3)
    assert pickle.loads(pickle.dumps(three_bits)) == three_bits


def test_failed_save_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.pkl"
    mge.save(1, path)
    with pytest.raises(Exception):  # noqa: B017 - which one is pickle's affair
        mge.save(lambda: None, path)
    assert mge.load(path) == 1 and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    "location, device",
    [
        (None, "cpu0:0"),
        ("cpu1", "cpu1:0"),
        ({"cpu0": "cpu2"}, "cpu2:0"),
        ({"gpu0": "cpu2"}, "cpu0:0"),
        (lambda name: name.replace("cpu0", "cpu3"), "cpu3:0"),
    ],
)
def test_map_location(location, device):
    file = io.BytesIO()
    mge.save(mge.Tensor([1.0], device="cpu0"), file)
    file.seek(0)
    assert str(mge.load(file, map_location=location).device) == device
    assert mge.Tensor.dmap_callback is None


def test_concurrent_loading_threads_have_separate_devices():
    content, both_load = (
        pickle.dumps(mge.Tensor([1.0], device="cpu0")),
        threading.Barrier(2, timeout=20),
    )
    first_is_done, other_is_made, found = threading.Event(), threading.Event(), {}

    def load(wanted, wait):
        def place(device):
            both_load.wait()
            wait()
            return wanted

        found[wanted] = str(mge.load(io.BytesIO(content), map_location=place).device)
        first_is_done.set()

    threads = [threading.Thread(target=load, args=("cpu1", lambda: None))]
    threads += [threading.Thread(target=load, args=("cpu2", lambda: other_is_made.wait(60)))]
    for thread in threads:
        thread.start()
    first_is_done.wait(20)
    other = mge.Tensor([1.0], device="cpu0")  # while the second one loads
    other_is_made.set()
    for thread in threads:
        thread.join()
    assert found == {"cpu1": "cpu1:0", "cpu2": "cpu2:0"} and str(other.device) == "cpu0:0"
    assert str(pickle.loads(content).device) == "cpu0:0"


@pytest.mark.parametrize("weights_only", [False, True])
def test_a_buffered_stream_without_a_file(weights_only):
    file = io.BytesIO()
    mge.save({"a": mge.Tensor([1.0])}, file)
    stream = io.BufferedReader(io.BytesIO(file.getvalue()))
    assert mge.load(stream, weights_only=weights_only)["a"].item() == 1


def test_wrong_map_location():
    with pytest.raises(TypeError, match="map_location"):
        mge.load(io.BytesIO(b""), map_location=5)


def test_config_is_checked_and_restored():
    assert mge.config.async_level == 2
    with pytest.raises(AssertionError, match="async_level"):
        mge.config.async_level = 3
    with pytest.raises(KeyError), mge.config._override(async_level=0, compute_mode="float32"):
        assert (mge.config.async_level, mge.config._compute_mode) == (0, "float32")
        raise KeyError
    assert (mge.config.async_level, mge.config._compute_mode) == (2, "default")


def test_log_level_and_file(tmp_path):
    logger = mge.get_logger("megengine.test")
    before = mge.set_log_level("ERROR")
    try:
        assert logger.level == logging.ERROR
        mge.set_log_file(str(tmp_path / "log"))
        logger.error("something happened")
        assert "something happened" in (tmp_path / "log").read_text()
    finally:
        mge.set_log_level(before)
    with pytest.raises(ValueError, match="level"):
        mge.set_log_level("LOUD")


def test_devices_and_their_memory():
    assert mge.get_device_count("cpu") >= 1 and mge.get_device_count("gpu") >= 0
    assert mge.Tensor([0]).device == mge.get_default_device()
    with pytest.raises(AssertionError, match="device_type"):
        mge.get_device_count("toaster")
    total, free = mge.get_mem_status_bytes()
    assert total >= free > 0
    before = mge.device.get_allocated_memory()
    held = mge.Tensor(np.zeros(1 << 20, np.float32))
    assert mge.device.get_allocated_memory() >= before + (1 << 22)
    assert mge.device.get_max_allocated_memory() >= mge.device.get_allocated_memory()
    del held
    with pytest.raises(AssertionError, match="not a device name"):
        mge.set_default_device("nosuchdevice")


def test_xpux_of_a_file_is_the_default_gpu_if_present():
    file = io.BytesIO()
    mge.save(mge.Tensor([1.0], device="xpux"), file)

    def place(map_location=None):
        file.seek(0)
        return mge.load(file, map_location).device

    assert place() == mge.Tensor([1.0]).device
    assert place("cpu1") == place({"xpux": "cpu1"}) == "cpu1:0"
    with mge.device.default_device("cpu1"):
        assert place() == "xpux:0"


def test_queries_without_a_gpu():
    for where in (mge, mge.device):
        with pytest.raises(RuntimeError, match="device 'gpu200'"):
            where.get_cuda_compute_capability(200)
        assert where.set_prealloc_config(alignment=256, growth_factor=1.5) is None
    names = "get_allocated_memory get_reserved_memory get_max_allocated_memory"
    for name in [*names.split(), "get_max_reserved_memory"]:
        assert getattr(mge, name)() >= 0
    mge.coalesce_free_memory()
    mge.reset_max_memory_stats()


class Sample:
    """A class that no longer exists when its file is read."""


def test_damaged_and_foreign_files_have_different_errors(tmp_path):
    path = tmp_path / "state.pkl"
    mge.save({"t": mge.Tensor(np.zeros(100, np.float32))}, path)
    whole = path.read_bytes()
    for size in (0, 1, 10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:size])
        with pytest.raises(DamagedFileError, match="damaged, or was not written by megengine.save"):
            mge.load(path)
        assert issubclass(DamagedFileError, (pickle.UnpicklingError, EOFError))
    archive = io.BytesIO()
    np.savez(archive, a=np.zeros(2))
    double = trace(lambda x: x * 2, symbolic=True, capture_as_const=True)
    double(mge.Tensor([1.0]))
    dumped = io.BytesIO()
    double.dump(dumped)
    models = Path(__file__).parents[1] / "data" / "megengine"
    for content, kind in (
        (archive.getvalue(), "a zip archive, as NumPy"),
        (b"\x93NUMPY\x01\x00" + bytes(20), "an array of NumPy's"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file"),
        (gzip.compress(whole), "compressed by gzip"),
        (dumped.getvalue(), "a model, .*Network.load and megenginelite"),
        *(
            ((models / name).read_bytes(), "a model, .*Network.load and megenginelite")
            for name in ("attention.v1.mge", "attention.v2.mge", "attention.testcase.mge")
        ),
        (b"packed_model" + bytes(20), "a model, .*Network.load and megenginelite"),
        (b"some text\n", "damaged"),
    ):
        with pytest.raises(DamagedFileError, match=kind):
            mge.load(io.BytesIO(content))


def test_missing_class_is_named(monkeypatch):
    content = pickle.dumps({"net": Sample()})
    monkeypatch.delattr(f"{__name__}.Sample")
    with (
        pytest.warns(UserWarning, match="the file names"),
        pytest.raises(MissingClassError, match=r"needs Sample, which .* state dict") as found,
    ):
        mge.load(io.BytesIO(content))
    assert isinstance(found.value, AttributeError)
    content = content.replace(__name__.encode(), b"x" * len(__name__))
    with (
        pytest.warns(UserWarning, match="the file names"),
        pytest.raises(MissingModuleError, match="No module named 'xxx") as found,
    ):
        mge.load(io.BytesIO(content))
    assert isinstance(found.value, ModuleNotFoundError)


class Failing:
    def __setstate__(self, state):
        raise KeyError("of its own")


def test_exceptions_of_file_classes_propagate():
    failing = Failing()
    failing.attribute = 1
    content = pickle.dumps(failing)
    with pytest.warns(UserWarning, match="names"), pytest.raises(KeyError, match="of its own"):
        mge.load(io.BytesIO(content))


# Tensors of 1.5 and 2.5 in bfloat16, and of -3, -1, 1 and 3 in intb2, pickled by MegEngine 1.13.
BFLOAT16 = (
    b"\x80\x04\x95\xe0\x00\x00\x00\x00\x00\x00\x00\x8c\x10megengine.tensor\x94\x8c\x06Ten"
    b"sor\x94\x93\x94\x8c\x15numpy.core.multiarray\x94\x8c\x0c_reconstruct\x94\x93\x94"
    b"\x8c\x05numpy\x94\x8c\x07ndarray\x94\x93\x94K\x00\x85\x94C\x01b\x94\x87\x94R\x94(K"
    b"\x01K\x02\x85\x94h\x06\x8c\x05dtype\x94\x93\x94\x8c\x1dmegengine.core._imperative_r"
    b"t\x94\x8c\npybfloat16\x94\x93\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNK\x02K"
    b"\x02Kpt\x94b\x89C\x04\xc0? @\x94t\x94bh\x14\x8c\x06xpux:0\x94\x87\x94\x81\x94}\x94b"
    b"."
)
INTB2 = (
    b"\x80\x04\x95\xdd\x00\x00\x00\x00\x00\x00\x00\x8c\x10megengine.tensor\x94\x8c\x06Ten"
    b"sor\x94\x93\x94\x8c\x15numpy.core.multiarray\x94\x8c\x0c_reconstruct\x94\x93\x94"
    b"\x8c\x05numpy\x94\x8c\x07ndarray\x94\x93\x94K\x00\x85\x94C\x01b\x94\x87\x94R\x94(K"
    b"\x01K\x04\x85\x94h\x06\x8c\x05dtype\x94\x93\x94\x8c\x1dmegengine.core._imperative_r"
    b"t\x94\x8c\x07pyintb2\x94\x93\x94\x89\x88\x87\x94R\x94(K\x03\x8c\x01<\x94NNNK\x01K"
    b"\x01Kpt\x94b\x89C\x04\xfd\xff\x01\x03\x94t\x94bh\x14\x8c\x06xpux:0\x94\x87\x94\x81"
    b"\x94}\x94b."
)


@pytest.mark.parametrize("weights_only", [False, True])
@pytest.mark.parametrize(
    ("pickled", "dtype", "values"),
    [(BFLOAT16, D.bfloat16, [1.5, 2.5]), (INTB2, D.intb2, [-3, -1, 1, 3])],
)
def test_dtypes_that_megengine_names_by_classes(pickled, dtype, values, weights_only):
    behind = io.BytesIO(b"xy" + pickled + b"z")
    behind.seek(2)
    x = mge.load(behind, weights_only=weights_only)
    assert behind.read() == b"z"
    assert x.dtype == dtype and x.dtype.metadata == dtype.metadata
    real = x.astype("float32") if D.is_bfloat16(dtype) else x
    assert real.tolist() == values
    # The package's own dtype is what it was.
    assert D.is_bfloat16(D.bfloat16) and np.array([1.5], D.bfloat16).tolist() == [1.5]
    with pytest.raises(pickle.UnpicklingError):
        mge.load(io.BytesIO(pickled[:-20]), weights_only=weights_only)


@pytest.mark.parametrize("pickled", [BFLOAT16, INTB2])
@pytest.mark.filterwarnings("ignore:.*the file names:UserWarning")
def test_damaged_files_of_megengine_dtypes_are_reported_as_damaged(pickled):
    reported = 0
    for place in range(len(pickled)):
        changed = bytearray(pickled)
        changed[place] ^= 1
        try:
            mge.load(io.BytesIO(changed))
        except pickle.UnpicklingError as error:
            assert "[load]" in str(error)
            reported += 1
        except (TypeError, ValueError) as error:  # raised by the Tensor that is made from the file
            frames = traceback.extract_tb(error.__traceback__)
            assert any(frame.filename.endswith("megengine/tensor.py") for frame in frames)
    assert reported > len(pickled) // 2


class Trickle:
    """No more than pickle asks of a stream."""

    def __init__(self, content):
        file = io.BytesIO(content)
        self.read, self.readline, self.readinto = file.read, file.readline, file.readinto


def test_megengine_dtypes_load_from_unseekable_streams():
    assert mge.load(Trickle(BFLOAT16)).astype("float32").tolist() == [1.5, 2.5]
    reading, writing = os.pipe()
    with open(writing, "wb") as end:
        end.write(INTB2)
    with open(reading, "rb") as stream:
        assert mge.load(stream).tolist() == [-3, -1, 1, 3]


@pytest.mark.parametrize("wrap", [io.BytesIO, Trickle])
def test_one_warning_at_the_call(wrap):
    names = b"cfractions\nFraction\n(K\x01K\x02tR0"
    with pytest.warns(UserWarning, match="fractions.Fraction") as warned:
        mge.load(wrap(b"\x80\x04" + names + BFLOAT16[11:]))
    assert [warning.filename for warning in warned] == [__file__]
