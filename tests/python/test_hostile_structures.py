# SPDX-License-Identifier: Apache-2.0
"""Nested values that hold themselves, one part in many places, or thousands of levels."""

import io
import os
import pickle
import signal

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.traced_module as T
from megengine import Tensor
from megengine.core._imperative_rt.core2 import apply
from megengine.core.ops import builtin

TRACED = b"cmegengine.traced_module.traced_module\nTracedModule\n)\x81"


@pytest.fixture(autouse=True)
def _ends_soon():
    """Ends a test that visits a part once per path."""

    def give_up(*_):
        raise AssertionError("it takes longer than 20 s")

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(20)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def _small_limit(monkeypatch):
    monkeypatch.setattr(mge._mge, "file_limit", lambda: 1 << 26)


def plain(content: bytes):
    return mge.load(io.BytesIO(content), weights_only=True)


def refused(content: bytes) -> str:
    with pytest.raises(pickle.UnpicklingError) as found:
        plain(content)
    return str(found.value)


def holding_itself(kind=list):
    """A container that holds itself twice."""
    if kind is dict:
        found = {}
        found["a"] = found["b"] = found
        return found
    found = []
    found += [found, found]
    return (found, found) if kind is tuple else found


def shared(levels: int, kind=list):
    """Few objects and very many paths."""
    found = kind([1.0]) if kind is not dict else {"a": 1.0}
    for _ in range(levels):
        found = kind([found, found]) if kind is not dict else {"a": found, "b": found}
    return found


def deep(levels: int, kind=list):
    found = kind([1.0]) if kind is not dict else {"a": 1.0}
    for _ in range(levels):
        found = kind([found]) if kind is not dict else {"a": found}
    return found


# Files.

NAME = b"cbuiltins\nlist\n"


@pytest.mark.parametrize("levels", [18, 60, 99])
def test_shared_tuples_with_names_are_visited_once(levels):
    start = b"\x80\x02" + TRACED + b"0](" + NAME + b"\x85q\x01"
    doubled = b"0h\x01h\x01\x86q\x01" * (levels - 1)
    found = plain(start + doubled + b"e.")
    assert found[-1][0] is found[-1][1]


def test_deep_tuples_with_names_are_refused():
    start = b"\x80\x02" + TRACED + b"0]" + NAME
    assert "nested too deep" in refused(start + b"\x85" * 5_000 + b"a.")
    assert "nested too deep" in refused(start + b"\x85" * 500_000 + b"a.")


@pytest.mark.parametrize(
    "start, step",
    [
        (b"]", b"q\x010]h\x01ah\x01a"),  # lists
        (b")", b"q\x010h\x01h\x01\x86"),  # tuples
        (b"}", b"q\x010}K\x01h\x01sK\x02h\x01s"),  # dicts
    ],
)
def test_shared_containers_load(start, step):
    assert plain(b"\x80\x02" + start + step * 200 + b".") is not None


@pytest.mark.usefixtures("_small_limit")
def test_copies_of_one_text_or_list_are_counted():
    text = b"X" + (1 << 20).to_bytes(4, "little") + b"a" * (1 << 20) + b"q\x01"
    encode = b"c_codecs\nencode\nh\x01X\x06\x00\x00\x00latin1\x86R"
    assert "MGE_FILE_LIMIT" in refused(b"\x80\x02" + text + encode * 2_000 + b".")
    many = b"](" + b"N" * 100_000 + b"eq\x01"
    for name in (b"set", b"frozenset"):
        copy = b"cbuiltins\n" + name + b"\nh\x01\x85R"
        assert "MGE_FILE_LIMIT" in refused(b"\x80\x02" + many + copy * 20_000 + b".")


@pytest.mark.usefixtures("_small_limit")
def test_attributes_that_many_modules_share_are_counted():
    state = b"}(" + b"".join(b"X\x04\x00\x00\x00%04dN" % k for k in range(5_000)) + b"uq\x01"
    module = b"cmegengine.module.activation\nReLU\n)\x81h\x01b"
    assert "MGE_FILE_LIMIT" in refused(b"\x80\x02" + state + module * 5_000 + b".")


def test_integers_with_equal_hashes_are_refused_as_keys():
    keys = b"".join(
        b"\x8a\x10" + (k * (2**61 - 1)).to_bytes(16, "little") + b"N" for k in range(1_000)
    )
    assert "64 bits" in refused(b"\x80\x02}(" + keys + b"u.")
    assert plain(pickle.dumps({2**63 - 1: 1, -(2**63): 2}, 2)) == {2**63 - 1: 1, -(2**63): 2}


class Net(M.Module):
    def forward(self, x):
        return F.concat([x, x], axis=0)


def traced_state():
    return T.trace_module(Net(), Tensor(np.ones((1, 2), "float32"))).__getstate__()


def as_traced(state: dict) -> bytes:
    """A file of a traced module with this state."""
    body = pickle.dumps(state, 2)[2:-1]
    return b"\x80\x02" + TRACED + body + b"b."


def in_files(change):
    state = traced_state()
    change(state)
    return as_traced(state)


def test_a_traced_module_by_hand_loads():
    net = plain(as_traced(traced_state()))
    assert net(Tensor(np.ones((1, 2), "float32"))).shape == (2, 2)


def tree(levels: int, is_shared: bool):
    found = ["tree", "list", None, [["constant", 1]]]
    for _ in range(levels):
        found = ["tree", "list", None, [found, found] if is_shared else [found]]
    return found


@pytest.mark.usefixtures("_small_limit")
@pytest.mark.parametrize("place", ["arguments", "results", "signature"])
@pytest.mark.parametrize("levels, is_shared", [(40, True), (99, True), (150, False)])
def test_structures_in_traced_modules_are_counted(place, levels, is_shared):
    def change(state):
        row = state["graphs"][0]
        if place == "signature":
            row[0] = tree(levels, is_shared)
        else:
            row[2]["exprs"][-1][place] = tree(levels, is_shared)

    message = refused(in_files(change))
    assert "MGE_FILE_LIMIT" in message or "too deep" in message


def test_structures_that_hold_themselves_are_refused():
    def change(state):
        structure = ["tree", "list", None, []]
        structure[3] += [structure, structure]
        state["graphs"][0][2]["exprs"][-1]["arguments"] = structure

    assert "nested too deep" in refused(in_files(change))


@pytest.mark.usefixtures("_small_limit")
def test_one_graph_in_very_many_modules_is_counted():
    state = traced_state()
    state["graphs"] *= 3_000
    body = pickle.dumps(state, 2)[2:-1] + b"q\xff0"
    content = b"\x80\x02" + body + b"](" + (TRACED + b"h\xffb") * 2_000 + b"e."
    assert "MGE_FILE_LIMIT" in refused(content)


def test_traced_modules_within_each_other():
    def pickled(parts: dict) -> bytes:
        items = b"".join(
            b"X\x01\x00\x00\x00" + k.encode() + b"j" + v.to_bytes(4, "little")
            for k, v in parts.items()
        )
        return TRACED + b"h\x01h\x02b" if not parts else TRACED + STATE + b"(" + items + b"ub"

    empty = {**traced_state(), "graphs": []}
    STATE = pickle.dumps(empty, 2)[2:-1]
    # Two in each level, which both hold the two of the level below.
    content = b"\x80\x02" + b"]("
    places = [1000, 1001]
    for place in places:
        content += TRACED + STATE + b"b" + b"r" + place.to_bytes(4, "little")
    for level in range(1, 60):
        below = places
        places = [1000 + 2 * level, 1001 + 2 * level]
        for place in places:
            content += pickled(dict(zip("xy", below, strict=True)))
            content += b"r" + place.to_bytes(4, "little")
    assert len(plain(content + b"e.")) == 120


def test_deep_attributes_of_a_module():
    """Modules with such attributes load, and whatever looks for their parts ends."""
    for value in (deep(3_000), shared(60), holding_itself(), holding_itself(dict)):
        net = M.Linear(2, 2)
        net.more = value
        assert [name for name, _ in net.named_parameters()] == ["bias", "weight"]
        assert list(net.state_dict()) == ["bias", "weight"]
    net = M.Sequential(M.ReLU())
    net.itself = net
    assert "..." in repr(net)
    lists = [M.ReLU(), [M.ReLU()]]
    net.lists = [*lists, lists[1]]
    names = [name for name, _ in net.named_children()]
    assert names == ["0", "lists.0", "lists.1.0"]


# Arguments.

X = Tensor(np.ones((2, 2), "float32"))
ALLOWED = (ValueError, TypeError, RuntimeError, IndexError, AssertionError, AttributeError)
CALLS = {
    "Tensor": Tensor,
    "add": lambda v: X + v,
    "multiply": lambda v: F.mul(v, X),
    "index": lambda v: X[v],
    "index of lists": lambda v: X[v, 0],
    "assignment": lambda v: Tensor(X).__setitem__(0, v),
    "assignment at": lambda v: Tensor(X).__setitem__(v, 0),
    "reshape": lambda v: X.reshape(v),
    "reshape by F": lambda v: F.reshape(X, v),
    "transpose": lambda v: X.transpose(v),
    "broadcast_to": lambda v: F.broadcast_to(X, v),
    "sum": lambda v: F.sum(X, axis=v),
    "concat": F.concat,
    "stack": F.stack,
    "split": lambda v: F.split(X, v),
    "tile": lambda v: F.tile(X, v),
    "pad": lambda v: F.nn.pad(X, v),
    "full": lambda v: F.full((2,), v),
    "full of shape": lambda v: F.full(v, 1),
    "arange": F.arange,
    "zeros": F.zeros,
    "one_hot": lambda v: F.one_hot(v, 3),
    "gather": lambda v: F.gather(X, 0, v),
    "where": lambda v: F.where(v, X, X),
    "clip": lambda v: F.clip(X, v, v),
    "conv": lambda v: F.conv2d(F.ones((1, 1, 4, 4)), F.ones((1, 1, 1, 1)), stride=v),
    "pool": lambda v: F.max_pool2d(F.ones((1, 1, 4, 4)), v),
    "pads": lambda v: F.nn.pad(X, v),
    "sections": lambda v: F.split(X, v),
    "resize": lambda v: F.vision.resize(F.ones((1, 1, 4, 4)), v),
    "warp": lambda v: F.warp_affine(F.ones((1, 4, 4, 1)), F.ones((1, 2, 3)), v),
    "dropout": lambda v: F.dropout(X, v),
    "general_norm": lambda v: F.nn.general_norm(X, v),
    "Linear": lambda v: M.Linear(v, 3),
    "swapaxes": lambda v: F.swapaxes(X, v, 0),
    "interpolate": lambda v: F.vision.interpolate(F.ones((1, 1, 4, 4)), size=v),
    "dtype": lambda v: X.astype(v),
    "dtype of a Tensor": lambda v: Tensor([1.0], dtype=v),
    "complex": lambda v: Tensor(v, dtype="complex64"),
    "device": lambda v: X.to(v),
    "operator": lambda v: mge._mge.ops.reshape(X, shape=v),
    "operator's input": lambda v: mge._mge.ops.add(X, v),
    "apply": lambda v: apply(builtin.Elemwise("add"), X, v),
    "apply with params": lambda v: apply(builtin.Reshape(shape=v), X),
    "cond": lambda v: F.cond(Tensor(True), lambda x: x, lambda x: x, v),
    "trace": lambda v: mge.jit.trace(lambda x: X)(v),
    "symbolic trace": lambda v: mge.jit.trace(symbolic=True)(lambda x: X)(v),
    "trace_module": lambda v: T.trace_module(Net(), v),
    "module_stats": lambda v: mge.utils.module_stats.module_stats(Net(), [v]),
}
VALUES = {
    "itself": lambda: holding_itself(),
    "itself in a tuple": lambda: holding_itself(tuple),
    "itself in a dict": lambda: holding_itself(dict),
    "shared": lambda: shared(60),
    "shared tuples": lambda: shared(60, tuple),
    "shared dicts": lambda: shared(60, dict),
    "deep": lambda: deep(20_000),
    "deep tuples": lambda: deep(20_000, tuple),
    "deep dicts": lambda: deep(20_000, dict),
}


def _error_of(value: str) -> str:
    """The calls that do not fail as they should, given a value."""
    wrong = []
    for name, call in CALLS.items():
        try:
            call(VALUES[value]())
            # Some never look into the value.
            wrong += [] if name in ("cond", "trace", "symbolic trace") else [f"{name}: no error"]
        except ALLOWED as error:
            wrong += [f"{name}: {error!r}"] if isinstance(error, RecursionError) else []
    return "; ".join(wrong)


@pytest.mark.parametrize("value", list(VALUES))
def test_arguments_that_are_nested_without_end(value):
    # In a process of its own: a crash would end this one, and NumPy cannot be interrupted.
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(60)
        os.write(writer, b"done: " + _error_of(value).encode())
        os._exit(0)
    os.close(writer)
    with open(reader, "rb") as stream:
        found = stream.read().decode()
    os.waitpid(child, 0)
    assert found == "done: "
