# SPDX-License-Identifier: Apache-2.0
"""Streams of random numbers, dropout, permutations."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.random import RNG


def test_same_seed_same_numbers_and_the_stream_moves():
    mge.random.seed(5)
    first, second = (mge.random.uniform(size=(4,)).numpy() for _ in range(2))
    mge.random.seed(5)
    again = mge.random.uniform(size=(4,)).numpy()
    np.testing.assert_array_equal(first, again)
    assert (first != second).any()


def test_streams_do_not_disturb_each_other():
    mge.random.seed(1)
    a = RNG(seed=3)
    expected = RNG(seed=3).normal(size=(6,)).numpy()
    mge.random.normal(size=(10,))
    RNG(seed=4).normal(size=(10,))
    np.testing.assert_array_equal(a.normal(size=(6,)).numpy(), expected)
    on_other = RNG(seed=3, device="cpu1").normal(size=(6,))
    assert on_other.device == "cpu1"
    np.testing.assert_array_equal(on_other.numpy(), expected)


def test_normal_numbers_are_normal():
    mge.random.seed(0)
    x = mge.random.normal(1, 2, size=(100_000,)).numpy()
    z = (x - 1) / 2
    assert abs(z.mean()) < 0.015 and abs(z.std() - 1) < 0.01
    assert abs((z**3).mean()) < 0.05 and abs((z**4).mean() - 3) < 0.15


def test_dropout_keeps_the_mean():
    mge.random.seed(0)
    y = F.dropout(F.ones((1000, 50)), 0.3).numpy()
    assert abs((y != 0).mean() - 0.7) < 0.01
    np.testing.assert_allclose(np.unique(y), [0, 1 / 0.7], rtol=1e-6)
    mge.random.seed(0)
    np.testing.assert_array_equal(F.dropout(F.ones((1000, 50)), 0.3).numpy(), y)
    with pytest.raises(AssertionError, match="drop_prob"):
        F.dropout(F.ones(2), 1.0)


def test_gradient_of_dropout_is_its_mask():
    x = F.ones((100,))
    with mge.autodiff.GradManager().attach(x) as gm:
        y = F.dropout(x, 0.5)
        gm.backward(y)
    np.testing.assert_array_equal(x.grad.numpy(), y.numpy())


def test_permutation_and_shuffle():
    order = mge.random.permutation(100).numpy()
    assert sorted(order) == list(range(100)) and (order != np.arange(100)).any()
    assert mge.random.permutation(0).shape == (0,)
    rows = mge.Tensor(np.arange(20, dtype=np.float32).reshape(10, 2))
    shuffled = mge.random.permutation(rows).numpy()
    assert (shuffled[:, 1] == shuffled[:, 0] + 1).all()
    kept = rows
    mge.random.shuffle(rows)
    assert rows is kept and sorted(rows.numpy()[:, 0]) == list(range(0, 20, 2))


def test_wrong_arguments():
    with pytest.raises(AssertionError, match="low must be below high"):
        mge.random.uniform(1, 0)
    with pytest.raises(AssertionError, match="number"):
        mge.random.uniform(mge.Tensor([0.0, 5.0]), 1)
    with pytest.raises(AssertionError, match="rate"):
        mge.random.exponential(-1.0)
