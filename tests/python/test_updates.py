# SPDX-License-Identifier: Apache-2.0
"""Changes in place: only without other readers."""

import os

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import Parameter, Tensor
from megengine.autodiff import GradManager
from megengine.optimizer import SGD, Adadelta, Adagrad, Adam, AdamW

ON_REAL_GPU = "MGE_REAL_GPU" in os.environ
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
    [
        lambda p: Adam([p], 0.1),
        lambda p: AdamW([p], 0.1),
        lambda p: Adagrad([p], 0.1, weight_decay=0.1),
        lambda p: Adadelta([p], 0.1),
        lambda p: SGD([p], 0.1, momentum=0.9),
        lambda p: SGD([p], 0.1),
    ],
)
def test_step_allocates_nothing(make):
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


def test_item_assignment_allocates_nothing():
    x = Tensor(filled(1))

    def assign():
        x[3, 4] = 5.0

    assign()
    assert growth(assign) < 0.01 * BYTES
    other = x.reshape(-1)
    assert growth(assign) > 0.9 * BYTES, "it is the memory of another tensor"
    x[0] = 7.0
    assert other.numpy()[0] == 1 and x.numpy()[0, 0] == 7


@pytest.mark.parametrize("value", [5.0, Tensor(5.0), Tensor([5.0])], ids=["float", "()", "(1,)"])
def test_masked_assignment_allocates_nothing(value):
    x = Tensor(filled(1))
    mask = Tensor(np.arange(256 * 1024).reshape(SHAPE) % 3 == 0)

    def assign():
        x[mask] = value

    assign()
    assert growth(assign) < 0.01 * BYTES
    other = x.detach()
    x[mask] = 7.0
    x[mask] = value
    assert growth(assign) < 0.01 * BYTES
    expected = np.where(mask.numpy(), np.float32(5), np.float32(1))
    for held in (x, other):
        np.testing.assert_array_equal(held.numpy(), expected)
    assert mask.numpy().sum() == np.ceil(256 * 1024 / 3)
    assert not isinstance(value, Tensor) or value.numpy() == 5


def test_assignment_by_arrays_allocates_nothing():
    x = Tensor(filled(1))
    rows = np.array([1, -1, 5], np.int32)

    def assign():
        x[rows] = 5.0

    assign()
    assert growth(assign) < 0.05 * BYTES, "the three rows, expanded"
    other = x.reshape(-1)
    assert growth(assign) > 0.9 * BYTES
    x[[0, 0], [1, 2]] = Tensor([8.0, 9.0])
    assert other.numpy()[1] == 1
    np.testing.assert_array_equal(x.numpy()[0, :4], [1, 8, 9, 1])
    mask = np.zeros(SHAPE, bool)
    mask[3, 4:6] = True
    x[Tensor(mask)] = Tensor([3.0, 4.0])
    np.testing.assert_array_equal(x.numpy()[3, 3:7], [1, 3, 4, 1])


def test_a_value_of_one_element_can_be_its_own_place():
    x, value = Tensor([1.0]), Tensor([2.0])
    mask = Tensor(np.array([True]))
    x[mask] = value
    x[mask] = x
    mask[mask] = False
    np.testing.assert_array_equal(x.numpy(), [2])
    np.testing.assert_array_equal(value.numpy(), [2])
    np.testing.assert_array_equal(mask.numpy(), [False])


def test_masked_assignments_have_gradients():
    x, value = Tensor([1.0, 2.0, 3.0]), Tensor(4.0)
    mask = Tensor(np.array([True, False, True]))
    with GradManager().attach([x, value]) as gm:
        y = x * 2
        z = y * y
        y[mask] = value
        y[[1]] = Tensor([5.0])
        gm.backward((y * y).sum() + z.sum())
    np.testing.assert_array_equal(x.grad.numpy(), [8, 16, 24])
    np.testing.assert_array_equal(value.grad.numpy(), 16)


@pytest.mark.parametrize("shape", [(2, 3), (1, 1), (3, 1)])
def test_mask_has_the_shape_of_the_masked_tensor(shape):
    x = Tensor(np.zeros((1, 3), np.float32))
    with pytest.raises(IndexError, match="bool index of shape"):
        x[Tensor(np.ones(shape, bool))] = 1.0
    np.testing.assert_array_equal(x.numpy(), np.zeros((1, 3)))


def steps_by_hand(kind, param, grads, decay):
    """The formulas in float32, operation by operation."""
    f = np.float32
    first, second, step, lr = np.zeros_like(param), np.zeros_like(param), f(0), f(0.3)
    for grad in grads:
        g = grad + param * f(decay) if decay else grad
        if kind is Adagrad:
            first = first + g * g
            rate = lr / (f(1) + step * f(0.01))
            param = param - rate * (g / np.sqrt(first + f(1e-10)))
        else:
            first = first * f(0.9) + g * g * f(1 - 0.9)
            delta = np.sqrt(second + f(1e-6)) / np.sqrt(first + f(1e-6)) * g
            param = param - lr * delta
            second = second * f(0.9) + delta * delta * f(1 - 0.9)
        step += f(1)
    return param


@pytest.mark.parametrize("decay", [0.0, 0.1])
@pytest.mark.parametrize("kind", [Adagrad, Adadelta])
def test_steps_are_the_formulas_bit_by_bit(kind, decay):
    random = np.random.RandomState(7)
    start = random.standard_normal(1001).astype(np.float32)
    grads = [random.standard_normal(1001).astype(np.float32) for _ in range(5)]
    param = Parameter(start)
    options = {"lr_decay": 0.01} if kind is Adagrad else {}
    optimizer = kind([param], lr=0.3, weight_decay=decay, **options)
    for grad in grads:
        param.grad = Tensor(grad)
        optimizer.step()
    expected = steps_by_hand(kind, start, grads, decay)
    # A GPU does a product and the sum that follows in one rounding.
    rounding = 3e-6 if ON_REAL_GPU else 0
    np.testing.assert_allclose(param.numpy(), expected, rtol=rounding, atol=rounding)


def test_values_for_backward_are_kept():
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


@pytest.mark.parametrize("function", [lambda x: F.tile(x, (1,)), lambda x: F.roll(x, 3, 0)])
def test_functions_that_move_nothing_give_another_tensor(function):
    x = Tensor([1.0, 2.0, 3.0])
    with GradManager().attach(x) as manager:
        y = function(x)
        manager.backward(y)
    y += 1
    assert x.tolist() == [1, 2, 3] and x.grad.tolist() == [1, 1, 1]


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


def test_every_asynchronous_level_returns_the_results():
    before = mge.config.async_level
    try:
        for level in (0, 1, 2):
            mge.config.async_level = level
            np.testing.assert_array_equal((Tensor([1.0]) + 1).numpy(), [2])
            with pytest.raises(RuntimeError, match="do not broadcast"):
                Tensor([1.0, 2.0]) + Tensor([1.0, 2.0, 3.0])
    finally:
        mge.config.async_level = before
