# SPDX-License-Identifier: Apache-2.0
"""Files of safetensors: written and read as the package does, hostile ones refused."""

import io
import json
import struct
import time
from collections import OrderedDict

import numpy as np
import pytest
import safetensors
import safetensors.numpy

import megengine as mge
import megengine.module as M
from megengine.core.tensor import dtype as dtypes
from megengine.files.safetensors_files import SafetensorsError

DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "int32", "float16", "float32")


def file_of(header, data=b""):
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text)) + text + data


def entry(dtype="F32", shape=(1,), begin=0, end=4):
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [begin, end]}


def load(content):
    return mge.load(io.BytesIO(content))


def saved(tensors):
    stream = io.BytesIO()
    mge.save(tensors, stream, format="safetensors")
    return stream.getvalue()


def test_package_reads_written_files():
    arrays = {f"a.{name}": np.arange(6).reshape(2, 3).astype(name) for name in DTYPES}
    arrays |= {"empty": np.zeros((0, 3), np.float32), "scalar": np.array(2.5, np.float32)}
    arrays |= {"ß\n": np.arange(4, dtype=">i4")[::2], "wide": np.arange(3)}
    tensors = {k: mge.Tensor(v) if "a." in k else v for k, v in arrays.items()}
    content = saved(tensors)
    found = safetensors.numpy.load(content)
    assert found.keys() == arrays.keys()
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype.newbyteorder("<")
    length = struct.unpack("<Q", content[:8])[0]
    assert length % 8 == 0 and content[8:9] == b"{"
    header = json.loads(content[8 : 8 + length])
    assert list(header) == sorted(header, key=lambda k: (-found[k].itemsize, k))
    assert all(header[k]["data_offsets"][0] % v.itemsize == 0 for k, v in found.items())


def test_package_files_are_read(tmp_path):
    arrays = {
        name: np.arange(6).reshape(2, 3).astype(name) for name in (*DTYPES, "int64", "uint32")
    }
    arrays |= {"float64": np.linspace(0, 1, 4), "none": np.zeros(0, np.int8)}
    path = tmp_path / "model.safetensors"
    safetensors.numpy.save_file(arrays, path, metadata={"made": "there"})
    for weights_only in (False, True):
        found = mge.load(path, weights_only=weights_only)
        assert set(found) == set(arrays) and len(found) == len(arrays)
        assert found.metadata == {"made": "there"}
        for name, array in arrays.items():
            np.testing.assert_array_equal(found[name].numpy(), array.astype(found[name].dtype))
    assert found["float64"].dtype == np.float32 and found["int64"].dtype == np.int32
    assert mge.load(path, map_location="cpu1")["bool"].device == "cpu1:0"


def test_state_dict_round_trips(tmp_path):
    net, other = M.Linear(3, 2), M.Linear(3, 2)
    path = tmp_path / "net.safetensors"
    mge.save(net.state_dict(), path, format="safetensors")
    other.load_state_dict(OrderedDict((k, v.numpy()) for k, v in mge.load(path).items()))
    np.testing.assert_array_equal(other.weight.numpy(), net.weight.numpy())


def test_bfloat16_and_quantised_tensors_round_trip():
    tensors = {
        "half": mge.Tensor([1.5, -2.0], dtype="bfloat16"),
        "s8": mge.Tensor([1.0, -2.0]).astype(dtypes.qint8(0.1)),
        "u8": mge.Tensor([1.0, -2.0]).astype(dtypes.quint8(0.3, 100)),
        "s32": mge.Tensor([1.0, -2.0]).astype(dtypes.qint32(1e-3)),
    }
    content = saved(tensors)
    described = dict(safetensors.deserialize(content))
    assert [described[k]["dtype"] for k in tensors] == ["BF16", "I8", "U8", "I32"]
    found = load(content)
    for name, tensor in tensors.items():
        assert dtypes.is_dtype_equal(found[name].dtype, tensor.dtype) or name == "half"
        assert dtypes.is_bfloat16(found[name].dtype) == (name == "half")
        np.testing.assert_array_equal(
            found[name].astype("float32").numpy(), tensor.astype("float32").numpy()
        )
    with pytest.raises(TypeError, match="'q', which is qint4"):
        saved({"q": mge.Tensor([1.0]).astype(dtypes.qint4(0.1))})


def test_shards_are_read_by_their_index(tmp_path):
    for name in "ab":
        array = np.full(3, ord(name), np.float32)
        safetensors.numpy.save_file({name: array}, tmp_path / f"{name}.safetensors")
    index = tmp_path / "model.safetensors.index.json"

    def write(homes):
        index.write_text(json.dumps({"metadata": {"total_size": 24}, "weight_map": homes}))

    write({"a": "a.safetensors", "b": "b.safetensors"})
    found = mge.load(index)
    assert list(found) == ["a", "b"] and found["b"].numpy()[0] == ord("b")
    for homes, message in (
        ({"a": "../a.safetensors"}, "not a file next to it"),
        ({"a": "/etc/passwd"}, "not a file next to it"),
        ({"a": ".."}, "not a file next to it"),
        ({"c": "a.safetensors"}, "has no tensor 'c'"),
        ([], "no weight_map"),
    ):
        write(homes)
        with pytest.raises(SafetensorsError, match=message):
            mge.load(index)


HOSTILE = {
    "too short": (b"{" * 7, None),
    "twice": (
        file_of(b'{"a":%s,"a":%s}' % ((json.dumps(entry()).encode(),) * 2), bytes(4)),
        "twice",
    ),
    "blank first": (file_of(b" {}"), None),
    "no object": (file_of(b"[]"), None),
    "no JSON": (file_of(b'{"a"'), "not JSON"),
    "no text": (file_of(b'{"\xff":1}'), "not JSON"),
    "deep": (file_of(b'{"a":' + b"[" * 100_000), "not JSON"),
    "NaN": (file_of(b'{"a":NaN}'), "NaN"),
    "beyond the end": (file_of({"a": entry(end=8, shape=(2,))}, bytes(4)), "after the header"),
    "trailing": (file_of({"a": entry()}, bytes(5)), "have 4 bytes, after the header there are 5"),
    "hole": (file_of({"a": entry(begin=4, end=8)}, bytes(8)), "begin at byte 0"),
    "overlap": (file_of({"a": entry(), "b": entry()}, bytes(4)), "begin at byte 4"),
    "size": (file_of({"a": entry(shape=(2,))}, bytes(4)), "does not take 4 bytes"),
    "overflow": (file_of({"a": entry(shape=(1 << 62, 16))}, bytes(4)), "does not take"),
    "negative": (file_of({"a": entry(shape=(-1,))}, bytes(4)), "no shape"),
    "fraction": (file_of({"a": entry(shape=(1.0,))}, bytes(4)), "no shape"),
    "truth": (file_of({"a": entry(shape=(True,))}, bytes(4)), "no shape"),
    "backwards": (file_of({"a": entry(begin=4, end=0)}, bytes(4)), "does not take"),
    "bits": (file_of({"a": entry("F4", (3,), 0, 1)}, bytes(1)), "does not take"),
    "dtype": (file_of({"a": {**entry(), "dtype": []}}, bytes(4)), "no dtype"),
    "entry": (file_of({"a": 5}), "not an object"),
    "metadata": (file_of({"__metadata__": {"a": 1}}), "metadata"),
    "header": (struct.pack("<Q", 1 << 40) + b"{}", None),
    "truncated": (file_of({"a": entry()})[:20], "shorter"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name, tmp_path):
    content, message = HOSTILE[name]
    (tmp_path / "f").write_bytes(content)
    # Some do not even begin as a file of this kind does: those are damaged pickles.
    error = SafetensorsError if message else mge.serialization.DamagedFileError
    for give in (io.BytesIO(content), tmp_path / "f"):
        with pytest.raises(error, match=message or "damaged"):
            mge.load(give)


def test_many_dimensions_are_refused_at_once():
    content = file_of({"a": entry(shape=[1 << 62] * 200_000)}, bytes(4))
    start = time.process_time()
    with pytest.raises(SafetensorsError, match="does not take 4 bytes"):
        load(content)
    assert time.process_time() - start < 60  # their product takes minutes


def test_unsupported_tensors_are_named_and_others_read():
    parts = {
        "good": (entry(), np.float32(7).tobytes()),
        "wide": (entry("I64", (1,), 0, 8), np.int64(1 << 40).tobytes()),
        "f8": (entry("F8_E4M3", (2,), 0, 2), bytes(2)),
        "later": (entry("X9", (2,), 0, 3), bytes(3)),
        "truth": (entry("BOOL", (1,), 0, 1), b"\2"),
        "deep": (entry("U8", (1,) * 8, 0, 1), b"\0"),
    }
    at, header = 0, {}
    for name, (fields, data) in parts.items():
        header[name] = {**fields, "data_offsets": [at, at + len(data)]}
        at += len(data)
    found = load(file_of(header, b"".join(data for _, data in parts.values())))
    assert found["good"].numpy() == 7 and list(found) == list(parts)
    for name, what in (
        ("wide", "beyond int32"),
        ("f8", "F8_E4M3"),
        ("later", "X9"),
        ("truth", "other than 0 and 1"),
        ("deep", "rank 8"),
    ):
        with pytest.raises(SafetensorsError, match=f"{name}.*{what}"):
            found[name]
    with pytest.raises(KeyError):
        found["nosuch"]
    with pytest.raises(SafetensorsError, match="no quint8 of tensor 'a'"):
        load(
            file_of(
                {"__metadata__": {"a.scale": "x"}, "a": entry("U8", (1,), 0, 1)},
                b"\0",
            )
        )["a"]


def test_unwritable_outputs_are_named():
    for value, message in (
        ([1, 2], "takes a dict"),
        ({1: np.zeros(1)}, "names tensors by texts"),
        ({"__metadata__": np.zeros(1)}, "names tensors by texts"),
        ({"a": {"b": np.zeros(1)}}, "'a' is a dict"),
        ({"a": np.zeros(1, np.complex128)}, "'a', which is complex128"),
        ({"a": np.array(["x"])}, "no dtype for 'a'"),
    ):
        with pytest.raises(TypeError, match=message):
            saved(value)
    with pytest.raises(ValueError, match="'pickle' or 'safetensors', got 'xml'"):
        mge.save({}, io.BytesIO(), format="xml")
