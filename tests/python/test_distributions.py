# SPDX-License-Identifier: Apache-2.0
"""megengine.distributions."""

import numpy as np
import pytest

import megengine as mge
from megengine.distributions import Distribution, Exponential

RATES = np.array([0.5, 1, 4], np.float32)


def test_an_exponential_distribution_has_its_formulas():
    ours, r = Exponential(mge.Tensor(RATES)), RATES.astype(np.float64)
    x = np.array([[0.1], [1], [3]])
    p = 1 - np.exp(-r * x)
    at, probability = mge.Tensor(x), mge.Tensor(p)
    for got, wanted in (
        (ours.mean, 1 / r),
        (ours.stddev, 1 / r),
        (ours.variance, 1 / r**2),
        (ours.log_prob(at), np.log(r * np.exp(-r * x))),
        (ours.cdf(at), p),
        (ours.icdf(probability[:2]), np.broadcast_to(x[:2], (2, 3))),
    ):
        np.testing.assert_allclose(got.numpy(), wanted, rtol=3e-6)


def test_samples_have_the_shape_and_the_means():
    mge.random.seed(3)
    distribution = Exponential(mge.Tensor(RATES))
    assert distribution.batch_shape == (3,) and distribution.event_shape == ()
    drawn = distribution.sample((50_000,)).numpy()
    assert drawn.shape == (50_000, 3) and distribution.sample().shape == (3,)
    np.testing.assert_allclose(drawn.mean(axis=0), 1 / RATES, rtol=0.02)
    assert distribution.expand((2, 3)).sample((4,)).shape == (4, 2, 3)
    assert Exponential(2.0).sample().shape == ()


def test_rates_may_be_an_array():
    distribution = Exponential(RATES.astype(np.float64))
    assert distribution.batch_shape == (3,) and distribution.sample((2,)).shape == (2, 3)
    np.testing.assert_allclose(distribution.mean.numpy(), 1 / RATES)
    assert Exponential(3).rate.dtype == np.float32


def test_distribution_names_unsupported_methods():
    base = Distribution((2,), (3,))
    assert base.batch_shape == (2,) and base.event_shape == (3,)
    calls = ("sample", "log_prob", "cdf", "icdf", "expand")
    for name in ("mean", "variance", "stddev", *calls):
        with pytest.raises(NotImplementedError, match=r"\[Distribution\] \w+ must be defined"):
            got = getattr(base, name)
            got() if name == "sample" else got(mge.Tensor([1.0]))
