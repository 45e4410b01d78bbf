# SPDX-License-Identifier: Apache-2.0
"""Memory that others have too is written between a forward and a backward pass: gradients are those
of the values that the forward pass read."""

import numpy as np
import pytest
from at_once import in_child

import megengine as mge
import megengine.functional as F
import megengine.multiprocessing as mp
from megengine.autodiff import GradManager
from megengine.optimizer import SGD
from megengine.utils.dlpack import from_numpy

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")


def shared(values):
    parameter = mge.Parameter(values)
    parameter.share_memory()
    return parameter


def imported(values):
    array = np.array(values, np.float32)
    tensor = mge.Parameter(from_numpy(array))
    assert tensor.numpy().ctypes.data == array.ctypes.data
    return tensor


def exported(values):
    parameter = mge.Parameter(values)
    parameter.view = np.from_dlpack(parameter)
    return parameter


WRITES = {
    "in place": lambda w: w.__iadd__(1),
    "reset": lambda w: w._reset(w + 1),
    "item": lambda w: w.__setitem__(0, 7.0),
    "whole": lambda w: w.__setitem__(Ellipsis, w.detach() * 3),
}


@pytest.mark.parametrize("make", [shared, imported, exported, mge.Parameter])
@pytest.mark.parametrize("size", [2, 10_000])
@pytest.mark.parametrize("write", WRITES)
def test_a_write_leaves_the_gradient(make, size, write):
    start = np.linspace(1, 2, size, dtype=np.float32)
    w = make(start)
    with GradManager().attach(w) as gm:
        parts = [(w * w).sum(), F.exp(w.reshape(1, -1)).sum(), F.pow(w[: size // 2], 3).sum()]
        leaf = w.detach()
        WRITES[write](w)
        gm.backward(sum(parts))
    wanted = 2 * start + np.exp(start)
    wanted[: size // 2] += 3 * start[: size // 2] ** 2
    np.testing.assert_allclose(w.grad.numpy(), wanted, rtol=1e-5)
    del leaf


def test_computation_after_a_write_sees_it():
    w = shared([1.0, 2.0])
    with GradManager().attach(w) as gm:
        first = (w * w).sum()
        w *= 3
        gm.backward(first + (w * w).sum())
    np.testing.assert_allclose(w.numpy(), [3, 6])
    # d(w² + 9 w²) / dw
    np.testing.assert_allclose(w.grad.numpy(), [20, 40])


def test_other_libraries_write():
    x = mge.Tensor([1.0, 2.0])
    with GradManager().attach(x) as gm:
        before = (x * x).sum()
        view = np.from_dlpack(x)  # shares memory that the recording has already
        view.flags.writeable or view.setflags(write=True)
        between = (x * x * x).sum()
        view += 1
        gm.backward(before + between)
    np.testing.assert_allclose(x.numpy(), [2, 3])
    np.testing.assert_allclose(x.grad.numpy(), [5, 16])


def test_an_array_is_written():
    array = np.array([1.0, 2.0], np.float32)
    x = from_numpy(array)
    with GradManager().attach(x) as gm:
        y = (x * x).sum()
        array += 1
        gm.backward(y)
    np.testing.assert_allclose(x.grad.numpy(), [2, 4])


def test_an_optimizer_steps_inside_of_a_recording():
    w = shared([1.0, 2.0])
    w.grad = mge.Tensor([1.0, 1.0])
    optimizer = SGD([w], lr=1.0)
    with GradManager().attach(w) as gm:
        loss = (w * w).sum()
        optimizer.step()
        gm.backward(loss)
    np.testing.assert_allclose(w.numpy(), [0, 1])
    np.testing.assert_allclose(w.grad.numpy(), [3, 5])  # 1 from before


def test_another_process_writes():
    w = shared([1.0, 2.0])
    with GradManager().attach(w) as gm:
        loss = (w * w).sum()
        assert in_child(lambda: w.__iadd__(1) is w)
        gm.backward(loss)
    np.testing.assert_allclose(w.numpy(), [2, 3])
    np.testing.assert_allclose(w.grad.numpy(), [2, 4])


def double(queue, done):
    x = queue.get()
    x *= 2
    done.put(True)


def test_receiving_process_writes():
    context = mp.get_context("fork")
    queue, done = context.Queue(), context.Queue()
    process = context.Process(target=double, args=(queue, done))
    process.start()
    x = mge.Parameter([1.0, 2.0])
    with GradManager().attach(x) as gm:
        loss = (x * x).sum()
        queue.put(x)
        assert done.get(timeout=30)
        gm.backward(loss + (x * 0).sum())
    process.join()
    np.testing.assert_allclose(x.numpy(), [2, 4])
    np.testing.assert_allclose(x.grad.numpy(), [2, 4])
