# SPDX-License-Identifier: Apache-2.0
"""Counts of elements: of ranges, whose bounds are float32, and of repetitions inside traces."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.jit import trace

# (bounds, count that MegEngine gives): float32 decides whether the end still belongs to them.
RANGES = [
    ((7.8, 8.4, 0.05), 12),
    ((0, 0.6, 0.2), 3),
    ((0, 0.3, 0.1), 3),
    ((0.0, 1e-3, 1e-4), 11),
    ((-0.8, 1.9, 0.3), 9),
    ((1.1, 4.4, 0.3), 11),
    ((0.8, 1.95, 0.05), 24),
    ((-2.6, -3.4, -0.1), 9),
    ((10, 0, -2.5), 4),
    ((2.5,), 3),
    ((4, 1), 0),
    ((4, 1, 0.5), 0),
]


@pytest.mark.parametrize("bounds,count", RANGES)
def test_ranges_have_as_many_values_as_megengines(bounds, count):
    first, step = (bounds[0], bounds[-1]) if len(bounds) == 3 else (0, 1)
    want = np.float32(first) + np.float32(step) * np.arange(count, dtype="float32")
    got = F.arange(*bounds)
    assert got.shape == (count,)
    if len(bounds) == 3:
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-5, atol=1e-6)
    assert F.arange(*bounds, dtype="int32").shape == (count,)
    tensors = [mge.Tensor(bound) for bound in bounds]
    assert F.arange(*tensors).shape == (count,)
    for symbolic in (True, False):
        traced = trace(lambda *args: F.arange(*args), symbolic=symbolic)
        assert [traced(*tensors).shape for _ in range(3)] == [(count,)] * 3


def test_whole_numbers_are_counted_exactly():
    assert F.arange(2**24 - 1, 2**24 + 5, dtype="int32").numpy().tolist()[-1] == 2**24 + 4
    with pytest.raises(RuntimeError, match="step 0"):
        F.arange(0.5, 5, 0)


@pytest.mark.parametrize("symbolic", [True, False])
def test_counts_of_repetitions_may_change_from_call_to_call(symbolic):
    x = mge.Tensor([[1, 2], [3, 4]])
    calls = {
        "repeat": trace(lambda v, n: F.repeat(v, n), symbolic=symbolic),
        "axis": trace(lambda v, n: F.repeat(v, n, axis=1), symbolic=symbolic),
        "tile": trace(lambda v, n: F.tile(v, (n, 2)), symbolic=symbolic),
        "shape": trace(lambda v, n: F.repeat(v, F.zeros(n).shape[0], axis=0), symbolic=symbolic),
    }
    array = x.numpy()
    for n in (2, 2, 3, 1, 5):
        count = mge.Tensor(n)
        got = {name: call(x, count).numpy() for name, call in calls.items()}
        np.testing.assert_array_equal(got["repeat"], array.repeat(n))
        np.testing.assert_array_equal(got["axis"], array.repeat(n, axis=1))
        np.testing.assert_array_equal(got["tile"], np.tile(array, (n, 2)))
        np.testing.assert_array_equal(got["shape"], array.repeat(n, axis=0))


@pytest.mark.parametrize("symbolic", [None, True, False])
def test_the_dtype_of_a_tensor_is_a_dtype_for_astype(symbolic):
    def function(x, other):
        return x.astype(other)

    traced = function if symbolic is None else trace(function, symbolic=symbolic)
    for _ in range(2):
        got = traced(mge.Tensor([1.5, 2.0]), mge.Parameter([1.0], dtype="float16"))
        assert got.dtype == np.float16
    assert mge.Tensor([1.5]).astype(mge.Tensor([3])).numpy().tolist() == [1]


# Axes of size 1 and 0; counts of 0 and 1; new axes; as many new axes at once as a rank of 7 allows.
@pytest.mark.parametrize(
    "shape, counts",
    [
        ((2, 3), (2, 2)),
        ((2, 3), (3, 1, 2)),
        ((1, 4, 1), (2, 0, 3)),
        ((0, 2), (2, 2)),
        ((), (2, 3)),
        ((2, 1, 3, 2), (2, 3, 1, 2)),
        ((2, 1, 2, 2, 1, 2), (2, 2, 1, 3, 2, 2)),
    ],
)
def test_tile_repeats_each_axis(shape, counts):
    array = np.arange(np.prod(shape, dtype=int), dtype="float32").reshape(shape)
    traced = trace(lambda x: F.tile(x, counts), symbolic=True)
    for tile in (lambda x: F.tile(x, counts), traced, traced):
        np.testing.assert_array_equal(tile(mge.Tensor(array)).numpy(), np.tile(array, counts))
