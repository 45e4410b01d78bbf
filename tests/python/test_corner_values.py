# SPDX-License-Identifier: Apache-2.0
"""Values at the corners: NaN, equal operands, bounds and infinities, forward and backward."""

import numpy as np
import pytest

import megengine.functional as F
from megengine import Parameter, Tensor
from megengine.autodiff import GradManager
from megengine.jit import trace

NAN, INF = float("nan"), float("inf")
DTYPES = ("float32", "float16")


def gradients(function, *operands, dtype):
    tensors = [Tensor(np.array(x, dtype)) for x in operands]
    with GradManager().attach(tensors) as manager:
        y = function(*tensors)
        manager.backward(y, F.ones_like(y))
    return [t.grad.numpy() for t in tensors]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "uint8"])
@pytest.mark.parametrize("as_tensors", [False, True], ids=["numbers", "tensors"])
def test_clip_between_crossed_bounds_checks_the_lower_one_first(dtype, as_tensors):
    x, bounds = Tensor(np.array([1, 3, 5, 7, 9], dtype)), (7, 3)
    if as_tensors:
        bounds = [Tensor(np.array(bound, dtype)) for bound in bounds]
    result = F.clip(x, *bounds)
    assert result.dtype == dtype
    np.testing.assert_array_equal(result.numpy(), [7, 7, 7, 7, 3])


def test_clip_of_nan_and_between_nan():
    nan, x = Tensor(np.nan), Tensor([1.0, 5.0, np.nan])
    two, three = Tensor(2.0), Tensor(3.0)
    for lower, upper, expected in [
        (two, three, [2, 3, 3]),
        (nan, three, [1, 3, 3]),
        (two, nan, [2, np.nan, np.nan]),
    ]:
        np.testing.assert_array_equal(F.clip(x, lower, upper).numpy(), expected)


# Five elements are the tail of a vector loop, 42 its body and its tail. MegEngine gives the second
# operand in the body of its loops, for halves and for broadcast operands; ours do everywhere.
@pytest.mark.parametrize("n", [1, 5, 42])
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("function", [F.maximum, F.minimum])
def test_second_operand_replaces_nan(function, dtype, n):
    nans, numbers = np.full(n, NAN, dtype), np.arange(n).astype(dtype)
    rows = np.tile(numbers, (3, 1))

    def check(y, expected):
        np.testing.assert_array_equal(y.numpy(), np.broadcast_to(expected, y.shape))

    def fused(a, b):
        return function(a * 1 + 0, b * 1 + 0) * 2

    for f, scale in ((function, 1), (trace(symbolic=True)(fused), 2)):
        for _ in range(2):
            check(f(Tensor(nans), Tensor(numbers)), numbers * scale)
            check(f(Tensor(numbers), Tensor(nans)), nans)
    check(function(Tensor(nans), Tensor(rows)), rows)
    check(function(Tensor(rows), Tensor(nans)), nans)
    check(function(Tensor(nans), 1.0), np.ones(n))
    check(function(1.0, Tensor(nans)), nans)
    check(function(Tensor(numbers), NAN), nans)
    check(function(NAN, Tensor(numbers)), numbers)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "function, first, second",
    [
        (F.maximum, [0, 0, 0, 1, 1, 0], [0, 0, 0, 0, 0, 1]),
        (F.minimum, [0, 0, 0, 1, 0, 1], [0, 0, 0, 0, 1, 0]),
    ],
)
def test_first_of_equal_operands_gets_the_gradient_and_nan_blocks_it(
    function, first, second, dtype
):
    da, db = gradients(function, [NAN, 1, NAN, 2, 2, 1], [0, NAN, NAN, 2, 1, 2], dtype=dtype)
    np.testing.assert_array_equal(da, first)
    np.testing.assert_array_equal(db, second)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize(
    "function, expected",
    [
        (lambda x: F.clip(x, lower=-1), [0, 0, 1, 1, 1, 1]),
        (lambda x: F.clip(x, upper=6), [0, 1, 1, 1, 1, 0]),
        (lambda x: F.clip(x, -1, 6), [0, 0, 1, 1, 1, 0]),
        (lambda x: F.maximum(x, 0), [0, 0, 0, 1, 1, 1]),
        (F.relu, [0, 0, 0, 0, 1, 1]),
        (F.nn.relu6, [1, 0, 0, 0, 0, 0]),
        (lambda x: F.leaky_relu(x, 0.25), [0.25, 0.25, 0.25, 1, 1, 1]),
        (lambda x: F.prelu(x, Tensor(np.array([0.5], x.dtype))), [0.5, 0.5, 0.5, 1, 1, 1]),
    ],
)
def test_gradient_at_bounds(function, expected, dtype):
    (dx,) = gradients(function, [NAN, -3, -1, 0, 6, 7], dtype=dtype)
    np.testing.assert_array_equal(dx, expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_gradient_of_logaddexp_at_infinity(dtype):
    da, db = gradients(F.logaddexp, [0, INF, 0, -INF], [0, 0, INF, 0], dtype=dtype)
    np.testing.assert_array_equal(da, [0.5, 1, 0, 0])
    np.testing.assert_array_equal(db, [0.5, 0, 1, 1])


@pytest.mark.parametrize("with_logits", [True, False])
def test_certain_class_costs_zero_without_a_sign(with_logits):
    certain = [[200.0, 0.0]] if with_logits else [[1.0, 0.0]]
    loss = F.nn.cross_entropy(Tensor(certain), Tensor([0]), with_logits=with_logits)
    assert loss.item() == 0 and not np.signbit(loss.numpy())


def test_impossible_other_classes_have_no_gradient():
    pred = Parameter([[0.0, 1.0, 0.0], [0.5, 0.5, 0.0]])
    gm = GradManager().attach(pred)
    with gm:
        loss = F.nn.cross_entropy(pred, Tensor([1, 0]), with_logits=False, label_smooth=None)
        gm.backward(loss)
    np.testing.assert_allclose(loss.numpy(), np.log(2) / 2, rtol=1e-6)
    np.testing.assert_array_equal(pred.grad.numpy(), [[0, -0.5, 0], [-1, 0, 0]])


def test_gradient_of_expm1_far_below_zero():
    (dx,) = gradients(F.expm1, [-15, -8, 0, 2], dtype="float32")
    np.testing.assert_allclose(dx, np.exp([-15, -8, 0, 2]), rtol=1e-6)


@pytest.mark.parametrize("order", [None, 1, 2, 3])
def test_norm_of_integers_is_a_float(order):
    y = F.norm(Tensor(np.full((2, 3), 100, np.int8)), order, 1)
    assert y.dtype == np.float32
    np.testing.assert_allclose(y.numpy(), [100 * 3 ** (1 / (order or 2))] * 2, rtol=1e-6)


@pytest.mark.parametrize("shape", [(6,), (3, 5)])
@pytest.mark.parametrize("dtype", ["float32", "int32", "int8"])
def test_negative_count_selects_the_other_end(shape, dtype):
    rows = np.random.default_rng(3).permutation(np.prod(shape)).reshape(shape).astype(dtype)
    x = Tensor(rows)
    for count in (1, 2, shape[-1], 100):
        for descending in (True, False):
            for options in ({}, {"kth_only": True}, {"no_sort": True}):
                got = F.topk(x, -count, descending=descending, **options)
                want = F.topk(x, count, descending=not descending, **options)
                for a, b in zip(got, want, strict=True):
                    np.testing.assert_array_equal(a.numpy(), b.numpy())
    first = np.sort(rows, -1)[..., :2]
    np.testing.assert_array_equal(F.topk(x, Tensor(-2))[0].numpy(), first)
    np.testing.assert_array_equal(
        trace(lambda v: F.topk(v, -2)[0], symbolic=True)(x).numpy(), first
    )
