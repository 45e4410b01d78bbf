# SPDX-License-Identifier: Apache-2.0
"""``core.autodiff.grad.Grad``: a tape whose gradients go to functions."""

import numpy as np
import pytest

from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.core.autodiff.grad import Function, Grad, GradKey, get_grad_managers


def test_gradients_go_to_the_callback_of_each_tensor_that_has_one():
    x, other, found = Tensor([3.0]), Tensor([5.0]), []
    with Grad() as grad:
        assert grad.wrt(x, other, callback=found.append) is grad
        y = x * x
        grad(y, Tensor([1.0]))
    assert [g.item() for g in found] == [6] and x.grad is None


def test_without_a_block_it_begins_with_wrt():
    x, found = Tensor([3.0]), []
    grad = Grad().wrt(x, callback=found.append)
    y, z = x * 2, x * x
    grad([y, z], [Tensor([1.0]), Tensor([10.0])])
    assert found[0].item() == 62


def test_suppression_of_constants_is_constant():
    x, found = Tensor([3.0]), []
    with Grad() as grad:
        grad.wrt(x, callback=found.append)
        y = x * x * x
        grad.suppress()
        z = y * 5
        grad.resume()
        grad(y + z, Tensor([1.0]))
    assert found[0].item() == 27


def test_gradients_of_gradients():
    x, found = Tensor([3.0]), {}
    with Grad("outer") as outer:
        outer.wrt(x, callback=lambda g: found.update(second=g))
        with Grad("inner") as inner:
            inner.wrt(x, callback=lambda g: found.update(first=g))
            y = x * x * x
            inner(y, Tensor([1.0]))
        outer(found["first"], Tensor([1.0]))
    assert (found["first"].item(), found["second"].item()) == (27, 18)


def test_functions_take_part():
    class Twice(Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 3

    x, found = Tensor([1.0, 2.0]), []
    with Grad() as grad:
        grad.wrt(x, callback=found.append)
        grad(Twice()(x), Tensor([1.0, 1.0]))
    np.testing.assert_array_equal(found[0].numpy(), [3, 3])


def test_it_ends_with_its_call_and_with_its_block():
    x = Tensor([1.0])
    with Grad() as grad:
        grad.wrt(x)
        y = x * 2
        grad(y, Tensor([1.0]))
        with pytest.raises(RuntimeError, match="nothing is recorded"):
            grad(y, Tensor([1.0]))
    with Grad() as grad:
        grad.wrt(x)
    with pytest.raises(RuntimeError, match="nothing is recorded"):
        grad(x, Tensor([1.0]))


@pytest.mark.parametrize("dy", [1.0, [1.0], [[1.0, 1.0, 1.0]]])
def test_gradients_of_results_are_broadcast(dy):
    x = Tensor([1.0, 2.0, 3.0])
    manager, got = GradManager().attach(x), []
    with manager:
        manager.backward(x * x, Tensor(dy))
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4, 6])
    with Grad() as grad:
        grad.wrt(x, callback=got.append)
        grad(x * x, Tensor(dy))
    np.testing.assert_array_equal(got[0].numpy(), [2, 4, 6])


def test_gradients_of_results_that_do_not_broadcast_are_refused():
    x = Tensor([1.0, 2.0, 3.0])
    with GradManager().attach(x) as manager:
        with pytest.raises(RuntimeError, match=r"shape \(3,\) has shape \(2,\)"):
            manager.backward(x * x, Tensor([1.0, 2.0]))


def test_tape_of_a_result():
    x, found = Tensor([3.0]), []
    key = GradKey("own")
    key.attach(x, found.append)
    assert key.name == "own" and key.is_attached_to(x) and not key.is_attached_to(Tensor([3.0]))
    key.backward([x * x], [Tensor([1.0])])
    assert found[0].item() == 6 and not key.is_attached_to(x)
    key.enter()
    key.exit()
    with pytest.raises(RuntimeError, match="nothing is recorded"):
        key.backward([x], [Tensor([1.0])])


def test_live_tensors_are_listed():
    grad = Grad("listed")
    assert grad in get_grad_managers() and grad._name == "listed"
    del grad
    assert "listed" not in [one._name for one in get_grad_managers()]


def test_held_gradient_accumulates():
    x = Tensor([2.0])
    manager = GradManager().attach(x)
    with manager:
        manager.backward(x * 3)
    held = x.grad
    with manager:
        manager.backward(x * 4)
    assert held is x.grad and held.item() == 7
