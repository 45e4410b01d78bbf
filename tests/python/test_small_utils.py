# SPDX-License-Identifier: Apache-2.0
"""Small helpers that programs written for MegEngine import from ``utils`` and ``core``."""

import sys
import threading
import warnings

import pytest

import megengine as mge
from megengine.core._wrap import as_device
from megengine.core.counted import counted
from megengine.utils.deprecation import deprecated, deprecated_func, deprecated_kwargs_default
from megengine.utils.future import Future
from megengine.utils.max_recursion_limit import AlternativeRecursionLimit, max_recursion_limit
from megengine.utils.tuple_function import _pair, _pair_nonzero, _quadruple, _single, _triple


def test_tuples_of_a_length():
    assert _single(1) == (1,) and _pair((1, 2)) == (1, 2)
    assert _triple(0) == (0, 0, 0) and _quadruple([1, 2, 3, 4]) == (1, 2, 3, 4)
    with pytest.raises(AssertionError, match="2 numbers are expected"):
        _pair((1, 2, 3))
    with pytest.raises(AssertionError, match="no number may be 0"):
        _pair_nonzero((1, 0))


def test_one_thing_has_no_plural():
    assert [counted(n, "run") for n in (0, 1, 2)] == ["0 runs", "1 run", "2 runs"]
    assert counted(1, "axis", "axes") == "1 axis" and counted(3, "axis", "axes") == "3 axes"


def test_a_future_waits_for_its_value():
    future, seen = Future(), []
    taker = threading.Thread(target=lambda: seen.append(future.get()))
    taker.start()
    future.set("x")  # returns when it was taken
    taker.join(10)
    assert seen == ["x"]
    with pytest.raises(AssertionError, match="already"):
        future.set("y")


def test_limits_of_recursion_nest():
    before = sys.getrecursionlimit()
    with max_recursion_limit() as outer, AlternativeRecursionLimit(before + 10), outer:
        assert sys.getrecursionlimit() >= 1 << 20
    assert sys.getrecursionlimit() == before


def test_deprecated_names_work_and_warn():
    @deprecated("use g", "1.2")
    def f(x):
        return x + 1

    @deprecated_kwargs_default("1.3", "y", 1)
    def h(x, y=2):
        return x + y

    moved = deprecated_func("1.1", "megengine.functional", "relu", False)
    for call, text in (
        (lambda: f(1), "f is deprecated since version 1.2. use g"),
        (lambda: h(1), "default of y"),
        (lambda: moved(mge.Tensor(1.0)), "relu is deprecated since version 1.1"),
    ):
        with pytest.warns(DeprecationWarning, match=text):
            call()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert h(1, y=3) == h(1, 3) == 4
        assert deprecated_func("1.1", "megengine.functional", "relu", True)(mge.Tensor(1.0)) == 1


def test_devices_by_name():
    assert as_device("cpu0").logical_name == "cpu0:0"
    device = mge.Tensor(1.0).device
    assert as_device(device) is device


def test_an_error_on_purpose():
    with pytest.raises(RuntimeError, match="assert_equal"):
        mge.functional.utils._simulate_error()


def test_operators_that_change_their_inputs_are_named(monkeypatch):
    from megengine import _mge
    from megengine.core._imperative_rt import TensorSanityCheckImpl
    from megengine.core.profiling_state import state
    from megengine.utils.tensor_sanity_check import TensorSanityCheck

    with TensorSanityCheck() as check:
        x = mge.Tensor([1.0, 2.0])
        y = x + 1
        y[0] = 5.0
        y += x
    assert y.numpy().tolist() == [6, 5] and isinstance(check.impl, TensorSanityCheckImpl)
    monkeypatch.setattr(_mge, "stop_input_check", lambda: ["input 1 of add has changed"])
    with pytest.raises(RuntimeError, match="input 1 of add has changed"):
        with TensorSanityCheck():
            pass
    monkeypatch.undo()
    _mge.stop_input_check()
    monkeypatch.setattr(state, "calls", [])
    with pytest.raises(RuntimeError, match="a profiler runs"):
        TensorSanityCheck().__enter__()
