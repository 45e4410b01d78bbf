# SPDX-License-Identifier: Apache-2.0
"""Checkpoints of PyTorch's: read as plain data, without PyTorch; files here are made by hand."""

import contextlib
import importlib.util
import io
import pickle
import resource
import sys
import types
import zipfile
from collections import Counter, OrderedDict

import numpy as np
import pytest

import megengine as mge
import megengine.module as M


def _rebuild_tensor_v2(*arguments):
    raise AssertionError("this is for PyTorch")


class Stored:
    """A tensor as PyTorch pickles it."""

    def __init__(self, values, kind="FloatStorage", offset=0, size=None, stride=None):
        self.values = np.asarray(values)
        self.kind, self.offset = kind, offset
        self.size = self.values.shape if size is None else size
        steps = (step // self.values.itemsize for step in self.values.strides)
        self.stride = tuple(steps) if stride is None else stride


class Writer(pickle.Pickler):
    def __init__(self, stream, torch):
        super().__init__(stream, 2)
        self.torch, self.storages = torch, []

    def persistent_id(self, obj):
        if not isinstance(obj, np.ndarray):
            return None
        key = next(k for k, (array, _) in enumerate(self.storages) if array is obj)
        kind = getattr(self.torch, self.storages[key][1])
        return ("storage", kind, str(key), "cpu", obj.size)

    def reducer_override(self, obj):
        if not isinstance(obj, Stored):
            return NotImplemented
        self.storages.append((obj.values, obj.kind))
        arguments = (obj.values, obj.offset, obj.size, obj.stride, False, OrderedDict())
        return self.torch._utils._rebuild_tensor_v2, arguments


@pytest.fixture
def write(monkeypatch):
    torch = types.ModuleType("torch")
    torch._utils = types.ModuleType("torch._utils")
    for kind in ("FloatStorage", "LongStorage", "BFloat16Storage", "HalfStorage"):
        setattr(torch, kind, type(kind, (), {"__module__": "torch"}))
    monkeypatch.setattr(_rebuild_tensor_v2, "__module__", "torch._utils")
    torch._utils._rebuild_tensor_v2 = _rebuild_tensor_v2

    def write(obj, compression=zipfile.ZIP_STORED):
        monkeypatch.setitem(sys.modules, "torch", torch)
        monkeypatch.setitem(sys.modules, "torch._utils", torch._utils)
        content = io.BytesIO()
        writer = Writer(content, torch)
        writer.dump(obj)
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w", compression) as archive:
            archive.writestr("net/data.pkl", content.getvalue())
            archive.writestr("net/byteorder", "little")
            for key, (array, _) in enumerate(writer.storages):
                archive.writestr(f"net/data/{key}", array.tobytes())
        monkeypatch.undo()
        return io.BytesIO(file.getvalue())

    return write


W = np.arange(6, dtype="<f4").reshape(2, 3)
B = np.array([1, 2], "<f4")


@pytest.mark.parametrize("weights_only", [False, True])
def test_a_state_dict_is_loaded(write, tmp_path, weights_only):
    state = OrderedDict(weight=Stored(W), bias=Stored(B))
    (tmp_path / "net.pt").write_bytes(write({"epoch": 3, "model": state}).getvalue())
    loaded = mge.load(tmp_path / "net.pt", weights_only=weights_only)
    assert loaded["epoch"] == 3 and list(loaded["model"]) == ["weight", "bias"]
    net = M.Linear(3, 2)
    net.load_state_dict(loaded["model"])
    np.testing.assert_array_equal(net.weight.numpy(), W)
    np.testing.assert_array_equal(net.bias.numpy(), B)


def test_dtypes_and_strides(write):
    halves = (W.view("<u4") >> 16).astype("<u2")
    file = write(
        [
            Stored(np.array([2**40], "<i8"), "LongStorage"),
            Stored(halves, "BFloat16Storage"),
            Stored(W.astype("<f2"), "HalfStorage"),
            Stored(W, size=(3, 2), stride=(1, 3)),
            Stored(W, offset=2, size=(), stride=()),
            Stored(W, size=(0, 2), stride=(2, 1)),
        ]
    )
    wide, brain, half, turned, one, empty = mge.load(file)
    assert (wide.dtype, wide.tolist()) == (np.int64, [2**40])
    np.testing.assert_array_equal(brain, W)
    assert half.dtype == np.float16 and brain.dtype == np.float32
    np.testing.assert_array_equal(turned, W.T)
    assert (one, empty.shape) == (2, (0, 2))


def test_expanded_tensors_take_no_memory(write):
    (found,) = mge.load(write([Stored(W, size=(1 << 20, 3), stride=(0, 1))]))
    np.testing.assert_array_equal(found[[0, -1]], [W[0], W[0]])
    assert found.strides == (0, 4) and not found.flags.writeable


def test_plain_values_of_checkpoints(write):
    plain = {"seen": {1, 2}, "z": 1 + 2j, "n": Counter("aab")}
    assert mge.load(write(plain)) == plain


needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="PyTorch is not installed"
)


def assert_read(got, want):
    """The arrays that were read are PyTorch's tensors; other values are equal."""
    import torch

    if isinstance(want, torch.Tensor):
        want = want.detach().resolve_conj().resolve_neg()
        want = (want.float() if want.dtype == torch.bfloat16 else want).numpy()
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            assert_read(got[key], want[key])
    elif isinstance(want, (list, tuple)):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_read(one, other)
    else:
        assert (type(got), got) == (type(want), want)


@needs_torch
@pytest.mark.parametrize("is_archive", [True, False])
def test_files_written_by_pytorch(tmp_path, is_archive):
    import torch

    base = torch.arange(12.0).reshape(3, 4)
    net = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.BatchNorm2d(4))
    optimizer = torch.optim.Adam(net.parameters())
    net(torch.ones(2, 3, 4, 4)).sum().backward()
    optimizer.step()
    names = (
        "float32 float64 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128"
    )
    saved = {
        "dtypes": [(base % 2).to(getattr(torch, name)) for name in names.split()],
        "views": {"a": base, "b": base[1:], "t": base.t(), "c": base[:, ::2], "f": base.view(-1)},
        "brain": [base.bfloat16(), {"deep": base.bfloat16()[1:].t()}],
        "expanded": torch.ones(1, 3).expand(4, 3),
        "odd": [torch.tensor(3.5), torch.zeros(0, 3), torch.tensor([1 + 2j]).conj()],
        "large": torch.tensor([2**40, -(2**50)]),
        "model": net.state_dict(),
        "optimizer": optimizer.state_dict(),
        "others": [1, 0.5, None, True, "name", {1, 2}],
    }
    if is_archive:
        newer = ("uint16", "uint32", "uint64")
        saved["newer"] = [torch.arange(3).to(getattr(torch, name)) for name in newer]
    path = str(tmp_path / "net.pt")
    torch.save(saved, path, _use_new_zipfile_serialization=is_archive)
    assert_read(mge.load(path), saved)
    assert_read(mge.load(path, weights_only=True), saved)


def legacy_file():
    """The file that PyTorch 1.0 writes for {"w": torch.arange(3.0)}."""
    parts = [0x1950A86A20F9469CFC6C, 1001, {"protocol_version": 1001, "little_endian": True}]
    head = b"".join(pickle.dumps(part, 2) for part in parts)
    tensor = (
        b"ctorch._utils\n_rebuild_tensor_v2\n((X\x07\x00\x00\x00storagectorch\nFloatStorage\n"
        b"X\x01\x00\x00\x007X\x03\x00\x00\x00cpuK\x03NtQK\x00K\x03\x85K\x01\x85\x89"
        b"ccollections\nOrderedDict\n)RtR"
    )
    whole = b"\x80\x02}X\x01\x00\x00\x00w" + tensor + b"s."
    values = (3).to_bytes(8, "little") + np.arange(3, dtype="<f4").tobytes()
    return head + whole + pickle.dumps(["7"], 2) + values


def test_files_of_early_versions_are_read():
    file = legacy_file()
    for weights_only in (False, True):
        found = mge.load(io.BytesIO(file), weights_only=weights_only)
        np.testing.assert_array_equal(found["w"], [0, 1, 2])
    for damaged, match in (
        (file[:-2], "storage 7 has|buffer size"),
        (file[:-14], "storage 7 is damaged"),
        (file[:20], "it is cut off"),
        (file.replace(b"ctorch._utils\n_rebuild_tensor_v2", b"cos\nsystem"), "os.system, which is"),
        (file.replace(b"X\x01\x00\x00\x007X", b"X\x01\x00\x00\x008X"), "storage 7 is damaged"),
    ):
        with pytest.raises(pickle.UnpicklingError, match=match):
            mge.load(io.BytesIO(damaged))


class Evil:
    def __reduce__(self):
        return eval, ("1 + 1",)


@pytest.mark.parametrize(
    "content, match",
    [
        (Evil(), "eval, which is not among"),
        (Stored(W, size=(7,), stride=(1,)), "outside of its storage"),
        (Stored(W, size=(2**40,), stride=(0,)), "outside of its storage"),
        (Stored(W, offset=-1, size=(1,), stride=(1,)), "not numbers"),
        (Stored(W, size=(2, 2), stride=(1,)), "do not fit"),
    ],
)
def test_hostile_files_are_refused(write, content, match):
    with pytest.raises(pickle.UnpicklingError, match=match):
        mge.load(write({"x": content}))


def archive_of(content):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr("net/data.pkl", content)
        archive.writestr("net/data/0", bytes(1 << 16))
    return io.BytesIO(file.getvalue())


def test_files_do_not_change_classes():
    state = b"(N}X\x04\x00\x00\x00evilK\x01st"  # for setattr
    for module, name in (("collections", "Counter"), ("collections", "OrderedDict")):
        content = b"\x80\x02c%s\n%s\n%sb." % (module.encode(), name.encode(), state)
        with contextlib.suppress(pickle.UnpicklingError):
            mge.load(archive_of(content))
        assert not hasattr(Counter, "evil") and not hasattr(OrderedDict, "evil")


def test_small_file_uses_little_memory(monkeypatch):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert mge.load(archive_of(b"\x80\x02K\x01r\x00\x00\x00\x04.")) == 1  # memo of 1 << 26
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1 << 18  # KiB
    monkeypatch.setattr(mge._mge, "file_limit", lambda: 1 << 20)
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000NM\x00\x40tQ"
    arguments = b"(" + storage + b"K\x00M\x00\x40\x85K\x01\x85\x89}tq\x01"
    content = b"\x80\x02]q\x00ctorch._utils\n_rebuild_tensor_v2\nq\x02" + arguments + b"R"
    assert mge.load(archive_of(content + b".")).shape == (1 << 14,)
    content += b"h\x00h\x02h\x01Ra" * 100 + b"."
    with pytest.raises(pickle.UnpicklingError, match="share memory and take more than MGE_FILE"):
        mge.load(archive_of(content))


@pytest.mark.parametrize("kind", ["bytes", "bytearray"])
def test_bytes_are_plain_values(write, kind):
    value = {"bytes": b"a\xff", "bytearray": bytearray(b"a\xff")}[kind]
    found = mge.load(write({"x": value}))["x"]
    assert found == value and type(found) is type(value)


def test_length_of_a_bytearray_is_not_an_argument():
    with pytest.raises(pickle.UnpicklingError, match="cannot be read"):
        mge.load(archive_of(b"\x80\x02c__builtin__\nbytearray\nK\x05\x85R."))


def test_compressed_and_other_archives_are_refused(write):
    with pytest.raises(pickle.UnpicklingError, match="compressed"):
        mge.load(write({"x": Stored(W)}, zipfile.ZIP_DEFLATED))
    file = io.BytesIO()
    np.savez(file, x=W)
    with pytest.raises(pickle.UnpicklingError, match="zip archive"):
        mge.load(io.BytesIO(file.getvalue()))


def test_errors_give_the_remedy(write):
    file = write({"x": Stored(W)}).getvalue()
    with pytest.raises(pickle.UnpicklingError, match="or a checkpoint that is cut off"):
        mge.load(io.BytesIO(file[:-30]))
    for name in (b"torch.nn.modules.linear\nLinear", b"__torch__.net\nNet"):
        with pytest.raises(pickle.UnpicklingError, match=r"save the state_dict\(\) of the module"):
            mge.load(archive_of(b"\x80\x02c" + name + b"\n)\x81."))


class Lent:
    """A tensor of another library: its memory by DLPack."""

    def __init__(self, array):
        self.array, self.steps = array, []

    def detach(self):
        self.steps.append("detach")
        return self

    def cpu(self):
        self.steps.append("cpu")
        return self

    def __dlpack__(self, **keywords):
        return self.array.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()


def test_state_dicts_of_tensors():
    net, weight = M.Linear(3, 2), Lent(W.astype("float64"))
    net.load_state_dict({"weight": weight, "bias": B})
    np.testing.assert_array_equal(net.weight.numpy(), W)
    np.testing.assert_array_equal(net.bias.numpy(), B)
    assert net.weight.dtype == np.float32 and weight.steps == ["detach", "cpu"]
    with pytest.raises(AssertionError, match="bias must be a numpy.ndarray, got list"):
        net.load_state_dict({"weight": W, "bias": [1.0, 2.0]})
