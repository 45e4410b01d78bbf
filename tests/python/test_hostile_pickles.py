# SPDX-License-Identifier: Apache-2.0
"""Effects of untrusted files on ``megengine.load``."""

import io
import os
import pickle
import random
import struct
import subprocess
import sys
import threading
import warnings
from collections import OrderedDict

import numpy as np
import pytest

import megengine as mge
import megengine.module as M
import megengine.optimizer as O

MODULE_STATE = pickle.GLOBAL + b"megengine.module.linear\nLinear\n" + b")" + pickle.NEWOBJ
OS_SYSTEM = pickle.GLOBAL + b"os\nsystem\n"


def plain(content: bytes):
    return mge.load(io.BytesIO(content), weights_only=True)


def refused(content: bytes) -> str:
    with pytest.raises(pickle.UnpicklingError) as found:
        plain(content)
    return str(found.value)


class Command:
    """Runs a command when it is loaded."""

    def __init__(self, command: str):
        self.command = command

    def __reduce__(self):
        return os.system, (self.command,)


def assert_same(got, want):
    assert type(got) is type(want)
    if isinstance(want, mge.Tensor):
        assert got.dtype == want.dtype and str(got.device) == str(want.device)
        np.testing.assert_array_equal(got.numpy(), want.numpy())
    elif isinstance(want, np.ndarray | np.generic):
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
    elif isinstance(want, dict):
        assert list(got) == list(want)
        for key in want:
            assert_same(got[key], want[key])
    elif isinstance(want, list | tuple):
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            assert_same(one, other)
    else:
        assert got == want


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_states_of_nested_containers_round_trip(protocol, tmp_path):
    net = M.Sequential(M.Linear(3, 4), M.BatchNorm1d(4), M.ReLU())
    optimizer = O.Adam(net.parameters(), lr=0.1)
    state = {
        "net": net.state_dict(),
        "kept": net.state_dict(keep_var=True),
        "optimizer": optimizer.state_dict(),
        "numbers": [1, -2, 2**40, -(2**70), 0.5, True, None, "ä\ud800", b"bytes", 255, 65535],
        "arrays": (
            np.arange(12, dtype="f8").reshape(3, 4)[::2].T,
            np.zeros((0, 3), "u1"),
            np.float32(3),
        ),
        "tensors": [
            mge.Tensor([1.0, 2.0]).astype("bfloat16"),
            mge.Parameter(np.ones((2, 2), "float16")),
            mge.Tensor([True, False]),
            mge.Tensor(3, device="cpu0"),
        ],
        ("tuple", 1): OrderedDict(a={1, 2}, b=frozenset("x"), c=bytearray(b"q")),
        "device": mge.Tensor(1).device,
    }
    state[("tuple", 1)]["c"] = b"q"
    mge.save(state, tmp_path / "state", pickle_protocol=protocol)
    assert_same(mge.load(tmp_path / "state", weights_only=True), state)
    stream = io.BytesIO(pickle.dumps(1, protocol) + pickle.dumps("next", protocol))
    assert [mge.load(stream, weights_only=True) for _ in range(2)] == [1, "next"]


def test_returned_arrays_are_writable():
    for protocol in (2, 4, 5):
        array = plain(pickle.dumps(np.arange(3), protocol))
        array[0] = 7
        assert array.tolist() == [7, 1, 2]


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_modules_of_the_package_round_trip(protocol):
    deep = M.Sequential(M.Conv2d(3, 4, 3), M.BatchNorm2d(4), M.PReLU(4), M.Dropout(0.5))
    deep.eval()
    for net in (deep, M.LSTM(3, 4), M.Linear(3, 3)):
        again = plain(pickle.dumps(net, protocol))
        assert repr(again) == repr(net) and again.training == net.training
        assert_same(again.state_dict(), net.state_dict())


def test_map_location():
    content = pickle.dumps(mge.Tensor([1.0], device="cpu0"))
    found = mge.load(io.BytesIO(content), map_location="cpu1", weights_only=True)
    assert str(found.device) == "cpu1:0"


def test_files_of_megengine_itself():
    array, dtype = np.arange(2, dtype="f4"), np.dtype("f4")

    class Name:
        def __reduce__(self):
            return "Tensor"

    body = pickle.dumps((array, dtype, "cpu0:0"), 2)[2:-1]
    content = (
        b"\x80\x02cmegengine.tensor\nTensor\n" + body + pickle.NEWOBJ + b"}" + pickle.BUILD + b"."
    )
    assert_same(plain(content), mge.Tensor(array, device="cpu0"))


def test_hostile_file_runs_nothing_and_raises(tmp_path):
    mark = tmp_path / "mark"
    for protocol in (2, 4):
        hostile = {"weights": mge.Tensor([1.0]), "x": Command(f"touch '{mark}'")}
        mge.save(hostile, tmp_path / "f", pickle_protocol=protocol)
        with pytest.raises(pickle.UnpicklingError, match=r"f' .*it names (os|posix).system"):
            mge.load(tmp_path / "f", weights_only=True)
        assert not mark.exists()
        with pytest.warns(UserWarning, match=r"names posix.system: loading it runs"):
            mge.load(tmp_path / "f")
        assert mark.exists()
        mark.unlink()


def test_one_warning_for_a_file_but_not_for_data(tmp_path):
    mge.save([Command("true"), Command("true"), Command], tmp_path / "f")
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        mge.load(tmp_path / "f")
        mge.save([M.Linear(2, 3), {"a": mge.Tensor(1)}, np.float64(3)], tmp_path / "g")
        mge.load(tmp_path / "g")
    assert len(found) == 1 and found[0].filename == __file__


def test_weights_only_excludes_other_pickle_modules():
    with pytest.raises(ValueError, match="pickle_module"):
        mge.load(io.BytesIO(), pickle_module=object(), weights_only=True)


def reduced(function: bytes, arguments: bytes) -> bytes:
    return b"\x80\x02c" + function + b"\n" + arguments + b"R."


ARRAY = pickle.dumps(np.arange(4, dtype="i4"), 2)
SHORT = b"\x8c"


def text(value: str) -> bytes:
    return SHORT + bytes([len(value)]) + value.encode()


@pytest.mark.parametrize(
    "content, message",
    [
        (b"", "cut off"),
        (b"\x80\x02", "cut off"),
        (b".", "stack"),
        (b"NN.", "stack"),
        (b"(.", "stack"),
        (b"\x80\x02" + OS_SYSTEM + b"(X\x02\x00\x00\x00lstR.", "os.system"),
        (b"cbuiltins\ngetattr\n.", "builtins.getattr"),
        (b"cmegengine\nload\n.", "megengine.load"),
        (b"cmegengine.module\nos\n.", "megengine.module.os"),
        (b"cnumpy\nload\n.", "numpy.load"),
        (b"cmegengine.module.linear\nLinear.__init__\n.", "Linear.__init__"),
        # A callable is not a value, and has no state.
        (b"cmegengine.tensor\nTensor\n.", "itself"),
        (b"]cmegengine.tensor\nTensor\na.", "itself"),
        (b"]cmegengine.tensor\nTensor\n\x85a.", "arguments of a call"),
        (b"]cmegengine.tensor\nTensor\n\x85\x85a.", "arguments of a call"),
        (b"cmegengine.tensor\nTensor\n}b.", "state to a Name"),
        (b"cmegengine.tensor\nTensor\nN}\x86b.", "state to a Name"),
        (b"]}b.", "state to a list"),
        (b"cmegengine.tensor\n_restored\n)R.", "0 arguments"),
        (b"cmegengine.module.linear\nLinear\n)R.", "calls"),
        (b"cmegengine.module.linear\nLinear\nK\x01\x85\x81.", "arguments"),
        (b"ccollections\nOrderedDict\n)\x81.", "not one of its classes"),
        (b"]K\x01K\x02s.", "not a dict"),
        (b"}K\x01a.", "not a list"),
        (b"}(K\x01u.", "no value"),
        (b"}]K\x01s.", "neither plain"),
        (b"}" + b")" * 1 + b"\x85" * 100_000 + b"K\x01s.", "neither plain"),
        (b"](K\x01\x90.", "not a set"),
        (b"h\x05.", "not written"),
        (b"e.", "mark"),
        (b"I1\n.", "instruction"),
        (b"\x82\x01.", "instruction"),
        (b"Qx.", "instruction"),
        (b"X\xff\xff\xff\x7fabc.", "cut off"),
        (b"\x8e" + b"\xff" * 8 + b"abc.", "cut off"),
        (b"X\x01\x00\x00\x00\xff.", "text"),
        (MODULE_STATE + b"}b}b.", "twice"),
        (MODULE_STATE + b"]b.", "not a dict"),
        (MODULE_STATE + b"}X\x09\x00\x00\x00__class__Nsb.", "special name"),
        (b"cnumpy\ndtype\n" + text("O8") + b"\x89\x88\x87R.", "dtype"),
        (b"cnumpy\ndtype\n" + text("V99999999") + b"\x89\x88\x87R.", "dtype"),
    ],
)
def test_refused_values(content, message):
    assert message in refused(content)


def test_array_is_read_from_its_bytes():
    good = plain(ARRAY)
    assert good.tolist() == [0, 1, 2, 3]
    shape = ARRAY.index(b"K\x04\x85")
    for extent in (b"K\x05\x85", b"K\x03\x85", b"J\xff\xff\xff\xff\x85"):
        assert "array" in refused(ARRAY[:shape] + extent + ARRAY[shape + 3 :])
    # Without its content, and with it twice.
    head = b"\x80\x02cnumpy._core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
    assert "before its content" in refused(head + b".")
    assert "before its content" in refused(b"]" + head + b"a.")
    end = ARRAY.rindex(b"b.")
    again = ARRAY[:end] + b"b" + b"N" + b"b."
    assert "twice" in refused(again)


def test_repeated_references_to_bytes_are_limited():
    data = bytes(1 << 20)
    dtype = b"cnumpy\ndtype\n" + text("u1") + b"\x89\x88\x87R" + b"q\x01"
    start = b"\x80\x04B" + struct.pack("<I", len(data)) + data + b"q\x000" + dtype + b"0]"
    call = (
        b"cnumpy._core.numeric\n_frombuffer\n"
        + b"(h\x00h\x01J"
        + struct.pack("<i", len(data))
        + b"\x85"
        + text("C")
        + b"tRa"
    )
    assert len(plain(start + call + b".")) == 1
    assert "over and over" in refused(start + call * 50 + b".")


def test_objects_are_counted(monkeypatch):
    from megengine import _mge

    monkeypatch.setattr(_mge, "file_limit", lambda: 1 << 20)
    assert "MGE_FILE_LIMIT" in refused(b"]" * 100_000 + b".")


def test_deep_nesting_does_not_recurse():
    nested = b"]" * 200_000 + b"a" * 199_999
    assert "neither plain" in refused(b"}" + nested + b"Ns.")
    assert "neither plain" in refused(b"}" + b")" + b"\x85" * 200_000 + b"Ns.")
    assert isinstance(plain(nested + b"."), list)


def test_mutations_are_harmless():
    """Flips, cuts and splices of good files: an error of the promised class or a plain object."""
    seeds = [
        pickle.dumps(value, protocol)
        for protocol in (2, 4, 5)
        for value in (
            {"a": mge.Tensor([1.0, 2.0]), "b": [np.arange(3), "x", 2**70]},
            M.Linear(2, 2),
            mge.Tensor([1.0]).astype("bfloat16"),
            OrderedDict(a=(1, 2.5), b={3}, c=frozenset("q")),
        )
    ]
    chance = random.Random(20261122)
    loaded = 0
    for _ in range(6000):
        content = bytearray(chance.choice(seeds))
        for _ in range(chance.randrange(1, 4)):
            at = chance.randrange(len(content))
            kind = chance.randrange(4)
            if kind == 0:
                content[at] = chance.randrange(256)
            elif kind == 1:
                content[at] ^= 1 << chance.randrange(8)
            elif kind == 2:
                del content[at : at + chance.randrange(1, 20)]
            else:
                other = chance.choice(seeds)
                start = chance.randrange(len(other))
                content[at:at] = other[start : start + chance.randrange(1, 30)]
            if not content:
                content = bytearray(b".")
        try:
            plain(bytes(content))
            loaded += 1
        except (pickle.UnpicklingError, RuntimeError):  # the latter: no such device
            pass
    assert loaded > 0


def test_saving_follows_no_planted_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for number in range(os.getpid() - 3, os.getpid() + 3):
        for form in ("s.pkl.{}.partial", ".s.pkl.{}.part", "s.pkl.part.{}", ".part.{}"):
            (tmp_path / form.format(number)).symlink_to(victim)
    mge.save({"a": 1}, tmp_path / "s.pkl")
    assert victim.read_text() == "precious" and not (tmp_path / "s.pkl").is_symlink()
    assert mge.load(tmp_path / "s.pkl", weights_only=True) == {"a": 1}


def test_dumping_follows_no_planted_link(tmp_path):
    victim = tmp_path / "victim"
    victim.write_text("precious")
    for number in range(os.getpid() - 3, os.getpid() + 3):
        (tmp_path / f".o.mge.{number}.part").symlink_to(victim)
    traced = mge.jit.trace(capture_as_const=True)(lambda x: x + 1)
    traced(mge.Tensor([1.0]))
    traced.dump(tmp_path / "o.mge", strip_info_file=tmp_path / "info.json")
    assert victim.read_text() == "precious" and not (tmp_path / "o.mge").is_symlink()
    assert (tmp_path / "o.mge").read_bytes()[:4] == b"\x89MGE"


def test_saving_keeps_links_and_permissions(tmp_path):
    (tmp_path / "far").mkdir()
    (tmp_path / "link").symlink_to("far/state")
    mge.save(1, tmp_path / "link")
    assert (tmp_path / "link").is_symlink() and mge.load(tmp_path / "far/state") == 1
    (tmp_path / "far/state").chmod(0o600)
    mge.save(2, tmp_path / "far/state")
    assert (tmp_path / "far/state").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileNotFoundError):
        mge.save(1, tmp_path / "nowhere" / "x")
    with pytest.raises(FileNotFoundError):
        mge.load(tmp_path / "nowhere")


def test_pipe_wait_is_bounded(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(RuntimeError, match="without a writer"):
        mge.load(tmp_path / "pipe")
    code = "import sys, megengine; print(megengine.load(sys.argv[1], weights_only=True))"
    mge.save([1, 2], tmp_path / "f")
    ran = subprocess.run(
        ["bash", "-c", f'"{sys.executable}" -c "{code}" <(cat "{tmp_path}/f")'],
        check=True,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert ran.stdout == "[1, 2]\n"


def test_each_load_of_a_named_pipe_has_its_own_content(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    for value in (1, 2):
        content = pickle.dumps(value)
        writer = threading.Timer(0.1, lambda: (tmp_path / "pipe").write_bytes(content))  # noqa: B023
        writer.start()
        assert mge.load(tmp_path / "pipe", weights_only=True) == value
        writer.join()


def test_a_stalled_writer_is_waited_for_without_the_lock(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    code = (
        "import megengine, os, signal, sys, threading, time\n"
        "from megengine import _mge\n"
        "def stall():\n"
        "    with open(sys.argv[1], 'wb', 0) as pipe:\n"
        "        pipe.write(b'begin')\n"
        "        time.sleep(0.3)\n"
        "        os.kill(os.getpid(), signal.SIGINT)\n"
        "        time.sleep(60)\n"
        "threading.Thread(target=stall, daemon=True).start()\n"
        "try:\n"
        "    (megengine.load if sys.argv[2] == 'load' else _mge.load)(sys.argv[1])\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
        "    os._exit(0)\n"
    )
    for what in ("load", "model"):
        ran = subprocess.run(
            [sys.executable, "-c", code, tmp_path / "pipe", what],
            capture_output=True,
            text=True,
            timeout=30,
        )
        assert ran.stdout == "interrupted\n", ran.stderr
