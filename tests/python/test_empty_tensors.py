# SPDX-License-Identifier: Apache-2.0
"""Tensors without elements through layers that reshape, and tensors of the highest rank."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.jit import trace


def values(*shape):
    return mge.Tensor(np.random.default_rng(sum(shape)).random(shape).astype("float32"))


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("shape", [(0, 4), (0, 4, 3), (2, 4, 0), (0, 4, 3, 3), (2, 4, 0, 3)])
def test_batch_norm_of_nothing(shape, training):
    module = {2: M.BatchNorm1d, 3: M.BatchNorm1d, 4: M.BatchNorm2d}[len(shape)](4)
    module.train(training)
    for layer in (module, trace(module, symbolic=True), trace(module, symbolic=False)):
        for _ in range(2):
            assert layer(values(*shape)).shape == shape
    assert M.SyncBatchNorm(4)(values(*shape)).shape == shape
    got = F.batch_norm(values(0, 4, 2, 3, 2), F.zeros(4), F.ones(4), training=training)
    assert got.shape == (0, 4, 2, 3, 2)


@pytest.mark.parametrize("symbolic", [None, True, False])
@pytest.mark.parametrize("tail", [(), (5,), (5, 2), (5, 2, 3), (1, 5, 2, 3)])
def test_batch_norm_of_any_rank_and_size(symbolic, tail):
    def function(x):
        return F.batch_norm(x, F.zeros(3), F.ones(3) * 4, training=False, eps=0.0)

    traced = function if symbolic is None else trace(function, symbolic=symbolic)
    for n in (2, 1, 3):
        x = values(n, 3, *(n * size for size in tail))
        np.testing.assert_allclose(traced(x).numpy(), x.numpy() / 2, rtol=1e-6)


def test_extremes_along_an_empty_axis():
    for function in (F.max, F.min):
        assert function(values(0, 4, 0), axis=0).shape == (4, 0)
        assert function(values(0, 0), axis=1, keepdims=True).shape == (0, 1)
        with pytest.raises(RuntimeError, match="no largest or smallest element"):
            function(values(0, 4), axis=0)
    with pytest.raises(RuntimeError, match="no largest or smallest element"):
        F.argmax(values(0, 4, 0), axis=0)


@pytest.mark.parametrize("lead", [(), (2,), (2, 1, 3), (1, 2, 1, 3), (0,), (2, 0)])
@pytest.mark.parametrize("r", [1, 2])
def test_pixel_shuffle_of_any_rank(lead, r):
    x = values(*lead, 4, 3, 2)
    array = x.numpy().reshape(*lead, 4 // (r * r), r, r, 3, 2)
    n = len(lead)
    pattern = (*range(n), n, n + 3, n + 1, n + 4, n + 2)
    want = array.transpose(pattern).reshape(*lead, 4 // (r * r), 3 * r, 2 * r)
    got = F.pixel_shuffle(x, r)
    np.testing.assert_array_equal(got.numpy(), want)
    traced = trace(lambda v: F.pixel_shuffle(v, r), symbolic=True)
    for _ in range(2):
        np.testing.assert_array_equal(traced(x).numpy(), want)
    traced = trace(lambda v: F.pixel_shuffle(v, r), symbolic=True)
    traced(values(*(max(n, 1) for n in x.shape)))
    np.testing.assert_array_equal(traced(x).numpy(), want)
    if x.size:
        with GradManager().attach(x) as manager:
            manager.backward((F.pixel_shuffle(x, r) * got).sum())
        np.testing.assert_allclose(x.grad.numpy(), x.numpy(), rtol=1e-6)


@pytest.mark.parametrize("rank", [3, 4, 6])
def test_pixel_shuffle_in_a_trace_follows_all_sizes(rank):
    traced = trace(lambda v: F.pixel_shuffle(v, 2), symbolic=True)
    for n in (1, 2, 3):
        x = values(*(n, 2, n + 1, 4 * n, n + 2, 3)[-rank:])
        np.testing.assert_array_equal(traced(x).numpy(), F.pixel_shuffle(x, 2).numpy())


@pytest.mark.parametrize("mode", ["edge", "EDGE", "Edge", "replicate", "REPLICATE"])
def test_borders_of_the_edge_in_all_spellings(mode):
    x = values(2, 3, 4)
    widths = ((0, 0), (1, 2), (2, 1))
    want = np.pad(x.numpy(), widths, mode="edge")
    np.testing.assert_array_equal(F.nn.pad(x, widths, mode=mode).numpy(), want)
    np.testing.assert_array_equal(M.Pad(widths, mode=mode)(x).numpy(), want)
    for other in ("CONSTANT", "Reflect"):
        want = np.pad(x.numpy(), widths, mode=other.lower())
        np.testing.assert_array_equal(F.nn.pad(x, widths, mode=other).numpy(), want)
