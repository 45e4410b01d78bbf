# SPDX-License-Identifier: Apache-2.0
"""Two GPUs in one process: which one is meant, what goes between them, threads, and memory."""

import threading

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.data import DataLoader, SequentialSampler
from megengine.data.dataset import ArrayDataset
from megengine.device import default_device, get_allocated_memory, get_default_device
from megengine.jit import trace
from megengine.optimizer import LAMB, SGD, Adadelta, Adagrad, Adam

pytestmark = pytest.mark.skipif(mge.get_device_count("gpu") < 2, reason="needs two GPUs")


def test_current_device_is_per_thread_and_restored():
    before, seen = get_default_device(), {}

    def look():
        seen["default"] = get_default_device()

    with default_device("gpu1"):
        assert mge.Tensor([1.0]).device == F.zeros((2,)).device == "gpu1:0"
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        with default_device("gpu0"):
            assert mge.random.uniform(size=(2,)).device == "gpu0:0"
        assert F.arange(3).device == "gpu1:0"
    with pytest.raises(KeyError), default_device("gpu1"):
        raise KeyError
    assert seen["default"] == get_default_device() == before


def test_named_device_wins_and_keeps_results():
    x = mge.Tensor([1.0, -2.0], device="gpu0")
    with default_device("gpu1"):
        assert mge.Tensor([1.0], device="cpu0").device == "cpu0:0"
        for y in (x + x, x * 2, x + np.float32([1, 1]), F.relu(x), x[0], F.concat([x, x])):
            assert y.device == "gpu0:0"
        np.testing.assert_array_equal(F.relu(x).numpy(), [1, 0])


def test_mixing_devices_raises():
    x, y = mge.Tensor([1.0, 2.0], device="gpu0"), mge.Tensor([3.0, 4.0], device="gpu1")
    for name, call in {
        "add": lambda: x + y,
        "concat": lambda: F.concat([x, y]),
        "matmul": lambda: F.matmul(x.reshape(1, 2), y.reshape(2, 1)),
    }.items():
        with pytest.raises(RuntimeError, match=rf"\[{name}\] .*gpu0:0 and gpu1:0.*\.to"):
            call()
    with pytest.raises(RuntimeError, match="gpu0:0 and gpu1:0"):
        x[0:2] = y
    joined = F.concat([x, y], device="cpu0")
    assert joined.device == "cpu0:0"
    np.testing.assert_array_equal(joined.numpy(), [1, 2, 3, 4])


@pytest.mark.parametrize("dtype", ("float32", "float16", "int8", "bool"))
def test_values_go_from_one_to_the_other(dtype):
    data = (np.arange(1000).reshape(8, 125) % 2).astype(dtype)
    x = mge.Tensor(data, device="gpu0")
    for step in ("gpu1", "gpu1", "gpu0", "cpu0", "gpu1"):
        x = F.copy(x.to(step), step)
        assert x.device == f"{step}:0"
        np.testing.assert_array_equal(x.numpy(), data)


def test_gradients_return_the_same_way():
    w = mge.Parameter([2.0, 3.0], device="gpu0")
    tape = GradManager().attach([w])
    with tape:
        tape.backward(((w * w).to("gpu1") * mge.Tensor([1.0, 10.0], device="gpu1")).sum())
    assert w.grad.device == "gpu0:0"
    np.testing.assert_array_equal(w.grad.numpy(), [4, 60])


def test_memory_figures_are_per_device():
    before = [get_allocated_memory(f"gpu{i}") for i in (0, 1)]
    x = mge.Tensor(np.zeros(1 << 20, np.float32), device="gpu1")
    assert get_allocated_memory("gpu1") - before[1] == 1 << 22
    assert get_allocated_memory("gpu0") == before[0]
    del x
    assert get_allocated_memory("gpu1") == before[1]


def test_batches_are_loaded_ahead_to_the_current_device():
    data = np.random.default_rng(0).normal(size=(23, 5)).astype(np.float32)
    with default_device("gpu1"):
        loader = DataLoader(
            ArrayDataset(data, np.arange(23)), SequentialSampler(data, 4), preload=True
        )
        batches = list(loader)
    assert all(x.device == y.device == "gpu1:0" for x, y in batches)
    np.testing.assert_array_equal(np.concatenate([x.numpy() for x, _ in batches]), data)


def trained(device, traced):
    """The parameters of a small net after some steps on a device."""
    random = np.random.default_rng(3)
    net = M.Sequential(M.Linear(6, 8), M.ReLU(), M.Linear(8, 3))
    for p in net.parameters():
        p._reset(mge.Tensor(random.normal(size=p.shape).astype(np.float32), device=device))
    images = mge.Tensor(random.normal(size=(10, 6)).astype(np.float32), device=device)
    labels = mge.Tensor((np.arange(10) % 3).astype(np.int32), device=device)
    optimizer, tape = SGD(net.parameters(), lr=0.1, momentum=0.9), GradManager()
    tape.attach(net.parameters())

    def step():
        with tape:
            loss = F.nn.cross_entropy(net(images), labels)
            tape.backward(loss)
        optimizer.step().clear_grad()
        return loss

    if traced:
        step = trace(step, symbolic=True)
    for _ in range(4):
        step()
    return [p.numpy() for p in net.parameters()]


@pytest.mark.parametrize("optimizer", (SGD, Adam, Adagrad, Adadelta, LAMB))
def test_parameters_of_one_group_are_on_both_devices(optimizer):
    data = np.float32([1.0, 2.0])
    params = [mge.Parameter(data, device=device) for device in ("gpu0", "gpu1", "cpu0")]
    step = optimizer(params, lr=0.1)
    for param in params:
        param.grad = mge.Tensor([1.0, -1.0], device=param.device)
    step.step()
    for param in params[1:]:
        np.testing.assert_allclose(param.numpy(), params[0].numpy(), rtol=1e-6)
    assert (params[0].numpy() != data).all()


@pytest.mark.parametrize("traced", (False, True))
def test_threads_train_on_both_as_one_does(traced):
    expected, got = trained("gpu0", traced), {}

    def train(name, device):
        got[name] = trained(device, traced)

    threads = [threading.Thread(target=train, args=(i, f"gpu{i % 2}")) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(got) == 8
    for parameters in got.values():
        for a, b in zip(parameters, expected, strict=True):
            np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("where", ("cpu0", "gpu1", {"gpu0": "cpu0"}, lambda device: "gpu1"))
def test_files_of_a_gpu_are_loaded_elsewhere(tmp_path, where):
    mge.save({"x": mge.Tensor([1.0, 2.0], device="gpu0")}, tmp_path / "x.pkl")
    x = mge.load(tmp_path / "x.pkl", map_location=where)["x"]
    assert x.device == ("cpu0:0" if where == "cpu0" or isinstance(where, dict) else "gpu1:0")
    np.testing.assert_array_equal(x.numpy(), [1, 2])
