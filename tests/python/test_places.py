# SPDX-License-Identifier: Apache-2.0
"""Devices of Tensors: results stay on the device of their operands, moving is an operator."""

import os
import threading

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.autodiff import GradManager
from megengine.device import (
    default_device,
    get_allocated_memory,
    get_default_device,
    get_max_reserved_memory,
    get_mem_status_bytes,
    get_reserved_memory,
    reset_max_memory_stats,
    set_default_device,
)
from megengine.jit import trace
from megengine.module import Linear
from megengine.optimizer import SGD


@pytest.fixture
def restored():
    before = mge.get_default_device()
    yield
    set_default_device(before)


def test_trace_returns_results_on_the_device_of_its_arguments():
    for symbolic in (False, True):

        @trace(symbolic=symbolic)
        def net(x):
            return F.exp(x * 2) + 1

        for device in ("xpux", "cpu1", "cpu1", "cpu2", "xpux"):
            x = mge.Tensor([1.0, 2.0], device=device)
            y = net(x)
            assert y.device == x.device
            (y + x).numpy()


def test_a_default_device_with_another_name_trains_in_a_trace(restored):
    set_default_device("multithread2:0")
    net = Linear(3, 2)
    optimizer = SGD(net.parameters(), lr=0.1)
    tape = GradManager().attach(net.parameters())

    @trace(symbolic=True)
    def step(x):
        with tape:
            loss = (net(x) ** 2).mean()
            tape.backward(loss)
        return loss

    x = mge.Tensor(np.ones((4, 3), np.float32))
    losses = []
    for _ in range(3):
        loss = step(x)
        assert loss.device == x.device
        losses.append(loss.item())
        optimizer.step().clear_grad()
    assert losses[2] < losses[0]


@pytest.mark.parametrize("name", ["cpux", "xpu0", "multithread2:0", "cpu0:1", "cpu1"])
def test_the_default_device_is_called_as_it_was_given(name, restored):
    set_default_device(name)
    assert get_default_device() == name
    with default_device("cpu3"):
        assert get_default_device() == "cpu3"
    assert get_default_device() == name


def test_moving_has_a_gradient():
    x = mge.Tensor([1.0, 2.0])
    tape = GradManager().attach([x])
    with tape:
        there = F.copy(x * x, "cpu1")
        assert there.device == "cpu1:0"
        tape.backward((there * mge.Tensor([10.0, 100.0], device="cpu1")).sum())
    assert x.grad.device == "xpux:0"
    np.testing.assert_allclose(x.grad.numpy(), [20, 400])


def test_moving_is_traced(tmp_path):
    @trace(symbolic=True, capture_as_const=True)
    def net(x):
        return (x.to("cpu1") * 3).to("xpux")

    for i in range(3):
        y = net(mge.Tensor([float(i)]))
        assert y.device == "xpux:0" and y.item() == 3 * i
    net.dump(str(tmp_path / "moves.mge"), arg_names=["x"], output_names=["y"])


def test_a_loaded_model_runs_where_its_inputs_are(tmp_path):
    weight = mge.Tensor([2.0, 3.0])
    net = trace(symbolic=True, capture_as_const=True)(lambda x: x * weight)
    net(mge.Tensor([1.0, 1.0]))
    net.dump(str(tmp_path / "net.mge"), arg_names=["x"], output_names=["y"])
    model = mge._mge.load(str(tmp_path / "net.mge"))
    for device in ("cpu1", "xpux", "cpu1"):
        x = mge.Tensor([1.0, 1.0], device=device)
        (y,) = model.run([x])
        assert y.device == x.device
        np.testing.assert_array_equal(y.numpy(), [2, 3])


def test_default_device_is_per_thread():
    seen = {}

    def look():
        seen["other"] = str(mge.Tensor([1.0]).device)

    with default_device("cpu1"):
        assert get_default_device() == "cpu1"
        assert mge.Tensor([1.0]).device == "cpu1:0"
        assert F.arange(3).device == "cpu1:0"
        with default_device("cpu2"):
            assert F.zeros((2,)).device == "cpu2:0"
        assert mge.Tensor([1.0]).device == "cpu1:0"
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
    assert seen["other"] == "xpux:0" and get_default_device() == "xpux"


def test_random_numbers_are_made_on_the_default_device(restored):
    for device in ("cpu1:0", "xpux:0", "cpu2:0"):
        set_default_device(device)
        assert mge.random.uniform(size=(2,)).device == device
        mge.random.RNG(seed=None).exponential(2.0, size=(2,))


def test_a_default_device_ends_with_an_error():
    with pytest.raises(KeyError), default_device("cpu1"):
        raise KeyError
    assert get_default_device() == "xpux"
    with pytest.raises(RuntimeError, match="nosuch"):
        default_device("nosuch0")


def test_a_default_device_decorates():
    @default_device("cpu3")
    def make():
        return mge.Tensor([1.0])

    assert make().device == make().device == "cpu3:0"


def test_mixing_names_both_devices():
    with pytest.raises(RuntimeError, match=r"\[add\] .* xpux:0 and cpu1:0"):
        mge.Tensor([1.0]) + mge.Tensor([1.0], device="cpu1")
    with pytest.raises(RuntimeError, match=r"\[concat\] .* xpux:0 and cpu1:0"):
        F.concat([mge.Tensor([1.0]), mge.Tensor([1.0], device="cpu1")])
    mask, x = mge.Tensor([True]), mge.Tensor([1.0], device="cpu1")
    with pytest.raises(RuntimeError, match=r"\[where\] .* xpux:0 and cpu1:0; .* \.to\(\)"):
        F.where(mask, x, x)
    with pytest.raises(RuntimeError, match=r"\[cond_take\] .* cpu1:0 and xpux:0; .* \.to\(\)"):
        F.cond_take(mask, x)


def test_properties_are_per_device():
    reset_max_memory_stats("cpu5")
    before = get_allocated_memory()
    x = mge.Tensor(np.zeros(1 << 20, np.float32), device="cpu5")
    assert get_allocated_memory("cpu5") == x.shape[0] * 4
    assert get_allocated_memory() - before < 1 << 20
    held = get_reserved_memory("cpu5")
    del x
    mge._mge.release_cached_memory("cpu5")
    assert get_reserved_memory("cpu5") < held
    assert get_max_reserved_memory("cpu5") == held
    reset_max_memory_stats("cpu5")
    assert get_max_reserved_memory("cpu5") < held


def test_memory_of_the_system_or_the_container():
    total, free = get_mem_status_bytes()
    assert 0 < free <= total <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
