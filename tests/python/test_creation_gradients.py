# SPDX-License-Identifier: Apache-2.0
"""Ranges and constants made of Tensors: the gradient reaches the Tensors."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.autodiff import GradManager
from megengine.jit import trace

WEIGHTS = np.array([1.0, 2.0, 4.0], np.float32)
# Makes three numbers; its arguments; the gradients of the sum of the numbers times WEIGHTS.
CASES = {
    "linspace": (lambda a, b: F.linspace(a, b, 3), [1.0, 3.0], [2.0, 5.0]),
    "linspace from a number": (lambda b: F.linspace(0, b, 3), [3.0], [5.0]),
    "linspace of vectors": (lambda a, b: F.linspace(a, b, 3), [[1.0], [3.0]], [[2.0], [5.0]]),
    "arange": (lambda a, s: F.arange(a, 2.5, s), [1.0, 0.5], [7.0, 10.0]),
    "full": (lambda a: F.full((3,), a), [2.0], [7.0]),
    "full of float16": (lambda a: F.full(3, a, dtype="float16"), [2.0], [7.0]),
    "full of a vector": (lambda a: F.full((2, 3), a)[1], [[1.0, 2.0, 3.0]], [WEIGHTS]),
    "full_like": (lambda a: F.full_like(F.zeros(3, device=a.device), a), [2.0], [7.0]),
}


@pytest.mark.parametrize("device", ["xpux", "cpu1"])
@pytest.mark.parametrize("mode", ["eager", "traced"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_reach_the_bounds(name, mode, device):
    make, starts, wanted = CASES[name]
    bounds = [mge.Parameter(start, device=device) for start in starts]
    tape = GradManager().attach(bounds)

    def step():
        with tape:
            made = make(*bounds)
            tape.backward((made.astype("float32") * WEIGHTS).sum())
        return made

    plain = make(*bounds)
    made = (trace(step, symbolic=True) if mode == "traced" else step)()
    assert made.device == bounds[0].device
    np.testing.assert_array_equal(made.numpy(), plain.numpy())
    for bound, grad in zip(bounds, wanted, strict=True):
        assert bound.grad.device == bound.device
        np.testing.assert_allclose(bound.grad.numpy(), grad, rtol=1e-3)


def test_second_derivatives_of_a_line():
    a = mge.Parameter(2.0)
    outer, inner = GradManager().attach(a), GradManager().attach(a)
    with outer:
        with inner:
            line = F.linspace(a * a, 0, 3)
            inner.backward((line * line).sum())
        slope, a.grad = a.grad, None
        outer.backward(slope)
    # The sum is 5/4 a**4.
    assert slope.item() == pytest.approx(40) and a.grad.item() == pytest.approx(60)


def test_full_repeats_a_list():
    np.testing.assert_array_equal(F.full((2, 2), [1, 2]), [[1, 2], [1, 2]])
    assert F.full((2,), [mge.Tensor(3.0), 1]).numpy().tolist() == [3, 1]
