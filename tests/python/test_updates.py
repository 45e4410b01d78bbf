# SPDX-License-Identifier: Apache-2.0
"""Changes in place: only where nobody else reads."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import Parameter, Tensor
from megengine.autodiff import GradManager
from megengine.optimizer import SGD, Adam

SHAPE = (256, 1024)
BYTES = 4 * 256 * 1024


def growth(work):
    """How far the memory in use rises above what it was before, in bytes."""
    before = mge.device.get_allocated_memory()
    mge.device.reset_max_memory_stats()
    work()
    return mge.device.get_max_allocated_memory() - before


def filled(value):
    return np.full(SHAPE, value, np.float32)


@pytest.mark.parametrize(
    "make",
    [lambda p: Adam([p], 0.1), lambda p: SGD([p], 0.1, momentum=0.9), lambda p: SGD([p], 0.1)],
)
def test_a_step_takes_no_memory(make):
    param = Parameter(filled(1))
    optimizer = make(param)
    param.grad = Tensor(filled(2))
    optimizer.step()
    assert growth(optimizer.step) < 0.01 * BYTES
    kept = param.detach()
    before = kept.numpy().copy()
    assert BYTES <= growth(optimizer.step) < 1.1 * BYTES, "somebody holds the value"
    np.testing.assert_array_equal(kept.numpy(), before)
    assert not np.array_equal(param.numpy(), before)


def test_an_item_assignment_takes_no_memory():
    x = Tensor(filled(1))

    def assign():
        x[3, 4] = 5.0

    assign()
    assert growth(assign) < 0.01 * BYTES
    other = x.reshape(-1)
    assert growth(assign) > 0.9 * BYTES, "it is the memory of another tensor"
    x[0] = 7.0
    assert other.numpy()[0] == 1 and x.numpy()[0, 0] == 7


def test_what_backward_needs_stays():
    w = Parameter([1.0, 2.0])
    with GradManager().attach(w) as gm:
        a = w * w
        w[0] = 5.0
        gm.backward(a.sum())
    np.testing.assert_array_equal(w.numpy(), [5, 2])
    x = Tensor([1.0, 2.0, 3.0])
    with GradManager().attach(x) as gm:
        y = x * 2
        z = y * y
        y[1] = 0.0
        gm.backward(z.sum())
    np.testing.assert_array_equal(x.grad.numpy(), [8, 16, 24])


def test_an_optimizer_steps_between_forward_and_backward():
    w = Parameter([1.0, 2.0])
    optimizer = Adam([w], 0.5)
    w.grad = Tensor([1.0, 1.0])
    with GradManager().attach(w) as gm:
        a = w * w
        optimizer.step()
        w.grad = None
        gm.backward(a.sum())
    np.testing.assert_array_equal(w.grad.numpy(), [2, 4])


def test_views_copies_and_arrays_keep_their_values():
    array = np.arange(4, dtype=np.float32)
    x = Tensor(array)
    before, copied, detached = x.numpy(), F.copy(x), x.detach()
    same = Tensor(x)
    x[0] = 9.0
    for held in (before, copied.numpy(), detached.numpy(), same.numpy(), array):
        np.testing.assert_array_equal(held, [0, 1, 2, 3])
    x[x > 2] = 0.0
    x[[0, 1]] = Tensor([3.0, 4.0])
    np.testing.assert_array_equal(x.numpy(), [3, 4, 2, 0])
    y = Tensor([1.0, 2.0])
    y[0] = y[1]
    y[:] = y * 2
    np.testing.assert_array_equal(y.numpy(), [4, 4])


def test_a_wrong_assignment_changes_nothing():
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError):
        x[0:1] = Tensor([1.0, 2.0, 3.0])
    np.testing.assert_array_equal(x.numpy(), [1, 2])


def test_traced_updates():
    @mge.jit.trace(symbolic=True)
    def assign(x):
        y = F.exp(x)
        y[0] = 1.0
        return y

    for _ in range(3):
        np.testing.assert_allclose(assign(Tensor([0.0, 0.0])).numpy(), [1, 1])


def test_every_asynchronous_level_gives_the_results():
    before = mge.config.async_level
    try:
        for level in (0, 1, 2):
            mge.config.async_level = level
            np.testing.assert_array_equal((Tensor([1.0]) + 1).numpy(), [2])
            with pytest.raises(RuntimeError, match="do not broadcast"):
                Tensor([1.0, 2.0]) + Tensor([1.0, 2.0, 3.0])
    finally:
        mge.config.async_level = before
