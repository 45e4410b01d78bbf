# SPDX-License-Identifier: Apache-2.0
"""Branches and loops: called at once, traced, differentiated, dumped and loaded."""

import io
from collections import namedtuple

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import trace


def numeric_gradient(function, at, step=1e-2):
    gradient = np.zeros_like(at)
    for i in np.ndindex(at.shape):
        higher, lower = at.copy(), at.copy()
        higher[i] += step
        lower[i] -= step
        gradient[i] = (function(higher) - function(lower)) / (2 * step)
    return gradient


@pytest.fixture(params=["eager", "traced", "symbolic"])
def run(request):
    """Calls a function of Tensors, three times where it is traced: recorded, compiled, compiled."""
    if request.param == "eager":
        return lambda function, *inputs: function(*inputs)

    def traced(function, *inputs):
        traced_function = trace(function, symbolic=request.param == "symbolic")
        for _ in range(2):
            traced_function(*inputs)
        return traced_function(*inputs)

    return traced


def branch(flag, x):
    return F.cond(flag.sum() > 0, lambda a: a * a, lambda a: -a, x)


def test_cond_follows_its_value(run):
    x = Tensor([1.0, -2.0])
    np.testing.assert_array_equal(run(branch, Tensor([1.0]), x).numpy(), [1, 4])
    np.testing.assert_array_equal(run(branch, Tensor([-1.0]), x).numpy(), [-1, 2])


def test_recorded_cond_takes_another_branch_later():
    traced = trace(branch, symbolic=True)
    x = Tensor([1.0, -2.0])
    for flag, expected in ((1.0, [1, 4]), (-1.0, [-1, 2]), (1.0, [1, 4])):
        np.testing.assert_array_equal(traced(Tensor([flag]), x).numpy(), expected)


def test_cond_uses_outer_values_and_structures(run):
    weight, bias = Tensor([2.0]), Tensor([10.0])

    def function(x):
        result = F.cond(
            x.sum() > 0,
            lambda pair: {"y": pair[0] * weight, "z": (pair[1], None)},
            lambda pair: {"y": pair[0] + bias, "z": (pair[1] * 3, None)},
            (x, x + 1),
        )
        assert result["z"][1] is None
        return result["y"] + result["z"][0]

    np.testing.assert_allclose(run(function, Tensor([1.0])).numpy(), [4])
    np.testing.assert_allclose(run(function, Tensor([-1.0])).numpy(), [9])


def power(x, n):
    return F.while_loop(
        lambda i, y: i < n,
        lambda i, y: (i + 1, y * x),
        (Tensor(0), F.ones_like(x)),
        max_iterations=8,
    )[1]


def test_while_loop_iterates_by_its_values(run):
    x = Tensor([2.0, 3.0])
    for n in (0, 1, 5, 20):
        np.testing.assert_allclose(
            run(power, x, Tensor(n)).numpy(), np.array([2.0, 3.0]) ** min(n, 8)
        )


def test_loop_variables_may_be_a_named_tuple(run):
    pair = namedtuple("Pair", "count sum")

    def function(x):
        return F.while_loop(
            lambda count, _: count < 3,
            lambda count, total: pair(count + 1, total + x),
            pair(Tensor(0), F.zeros_like(x)),
        ).sum

    np.testing.assert_array_equal(run(function, Tensor([2.0])).numpy(), [6])


def running(h, xs):
    return F.scan(lambda a, x: (F.tanh(a + x), a * x), h, xs)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_iterates_over_the_first_axis(run, reverse):
    h, xs = np.float32([0.5, 1]), np.float32([[1, 2], [3, 4], [5, 6]])

    def function(h, xs):
        last, results = F.scan(lambda a, x: (a * x, a + x), h, xs, reverse=reverse)
        return last, results

    last, results = run(function, Tensor(h), Tensor(xs))
    expected, rows = h, [None] * 3
    for i in reversed(range(3)) if reverse else range(3):
        rows[i] = expected + xs[i]
        expected = expected * xs[i]
    np.testing.assert_allclose(last.numpy(), expected)
    np.testing.assert_allclose(results.numpy(), rows)


def step_of_no_scan(state, x):
    """A step with results of several shapes and dtypes."""
    total, count = state["total"], state["count"]
    state = {"total": total + F.exp(total).sum(), "count": count + 1}
    return state, (total * 2, [count, F.ones((2, 3)) * count if x is None else x > 0])


@pytest.mark.parametrize("has_slices", [True, False], ids=["slices", "length"])
def test_scan_of_no_steps_gives_empty_results(run, has_slices):
    start = Tensor([1.0, 2.0]), Tensor(7)

    def scan(total, count):
        xs = F.zeros((0, 4, 2)) if has_slices else None
        last, (totals, [counts, others]) = F.scan(
            step_of_no_scan, {"total": total, "count": count}, xs, length=0
        )
        return last["total"], last["count"], totals, counts, others

    total, count, totals, counts, others = run(scan, *start)
    np.testing.assert_array_equal(total.numpy(), [1, 2])
    assert count.numpy() == 7
    shape, dtype = ((0, 4, 2), "bool") if has_slices else ((0, 2, 3), "float32")
    assert (totals.shape, counts.shape, others.shape) == ((0, 2), (0,), shape)
    assert (totals.dtype, counts.dtype, others.dtype) == ("float32", "int32", dtype)


def test_scan_without_slices(run):
    def function(x):
        last, results = F.scan(
            lambda carry, _: ((carry[0] + carry[1], carry[0]), carry[0]), (x, x), length=5
        )
        assert isinstance(last, tuple)
        return results

    np.testing.assert_array_equal(run(function, Tensor([1.0])).numpy()[:, 0], [1, 2, 3, 5, 8])


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.cond(x.sum() > 0, lambda a: a * a * x, lambda a: -a, x).sum(),
        lambda x: power(x, Tensor(3)).sum(),
        lambda x: (lambda last, results: last.sum() + (results * results).sum())(
            *running(x, F.stack([x, x * 2, x - 1]))
        ),
    ],
    ids=["cond", "while_loop", "scan"],
)
def test_gradients_agree_with_finite_differences(run, function):
    value = np.float32([0.5, 0.75])

    def step(x):
        x.grad = None
        manager = GradManager().attach([x])
        with manager:
            y = function(x)
            manager.backward(y)
        return x.grad

    x = Tensor(value)
    expected = numeric_gradient(lambda v: float(function(Tensor(v)).numpy()), value)
    np.testing.assert_allclose(run(step, x).numpy(), expected, rtol=2e-2, atol=2e-3)


def test_parameters_inside_a_traced_loop_learn():
    def train(make_step):
        weight = mge.Parameter([0.5, 0.5])
        manager = GradManager().attach([weight])

        def step(x):
            with manager:
                y, _ = F.scan(lambda a, s: (F.tanh(a * weight + s), None), F.zeros_like(weight), x)
                loss = ((y - 0.25) ** 2).sum()
                manager.backward(loss)
            return loss

        step = make_step(step)
        x = Tensor(np.float32([[0.1, 0.2], [0.3, 0.1], [0.2, 0.3]]))
        losses = []
        for _ in range(10):
            losses.append(float(step(x).numpy()))
            weight[...] = weight - 0.5 * weight.grad
            weight.grad = None
        return losses

    losses = train(lambda step: trace(step, symbolic=True))
    assert losses[-1] < 0.5 * losses[0]
    np.testing.assert_allclose(losses, train(lambda step: step), rtol=1e-5)


def test_dumped_and_loaded(tmp_path):
    weight = Tensor([[1.0, 0.5], [0.25, 1.0]])

    @trace(symbolic=True, capture_as_const=True)
    def function(h, xs):
        last, results = F.scan(
            lambda a, x: (
                F.cond(x.sum() > 4, lambda b: F.matmul(b, weight), lambda b: b + x, a),
                a,
            ),
            h,
            xs,
        )
        n = F.while_loop(lambda i: i.sum() < last.sum(), lambda i: (i * 2,), (Tensor([1.0]),))[0]
        return last, results, n

    h, xs = Tensor([[1.0, 2.0]]), Tensor([[1.0, 2.0], [3.0, 4.0], [0.5, 1.0]])
    expected = [value.numpy() for value in function(h, xs)]
    file = io.BytesIO()
    function.dump(file, arg_names=["h", "xs"], output_names=["last", "results", "n"])
    path = tmp_path / "loop.mge"
    path.write_bytes(file.getvalue())
    model = mge._mge.load(str(path))
    assert {"scan", "while_loop"} <= set(model.operators)
    for got, want in zip(model.run([h, xs]), expected, strict=True):
        np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)
    longer = Tensor(np.tile(xs.numpy(), (3, 1)))
    got = model.run([h, longer])
    np.testing.assert_allclose(got[1].numpy().shape, (9, 1, 2))
    assert "  body:\n" in model.text and "then_graph" in model.text


def test_other_shapes_of_a_traced_loop():
    traced = trace(running, symbolic=True)
    for length, width in ((3, 2), (5, 2), (1, 4)):
        h, xs = np.zeros(width, np.float32), np.ones((length, width), np.float32)
        last, results = traced(Tensor(h), Tensor(xs))
        want = running(Tensor(h), Tensor(xs))
        np.testing.assert_allclose(last.numpy(), want[0].numpy(), rtol=1e-6)
        np.testing.assert_allclose(results.numpy(), want[1].numpy(), rtol=1e-6)


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (
            lambda x: F.cond(x.sum() > 0, lambda a: a, lambda a: (a, a), x),
            TypeError,
            r"\[cond\] the two functions give different structures of Tensors",
        ),
        (
            lambda x: F.cond(x.sum() > 0, lambda a: a, lambda a: a.astype("int32"), x),
            TypeError,
            r"\[cond\] result 0 is",
        ),
        (
            lambda x: F.while_loop(lambda a: a.sum() < 9, lambda a: (a, a), (x,)),
            TypeError,
            r"\[while_loop\] the body gives another structure",
        ),
        (
            lambda x: F.while_loop(lambda a: a.sum() < 9, lambda a: (F.concat([a, a]),), (x,)),
            ValueError,
            r"\[while_loop\] a step changes carried value 0 from",
        ),
        (
            lambda x: F.scan(lambda a, b: ((a, b), None), x, x),
            TypeError,
            r"\[scan\] the carried value changes its structure",
        ),
        (lambda x: F.scan(lambda a, b: (a, None), x), ValueError, r"\[scan\] needs one length"),
        (
            lambda x: F.while_loop(lambda a: a, lambda a: a, x),
            TypeError,
            "must be a tuple or list",
        ),
        (
            lambda x: F.cond(x.sum() > 0, lambda a: "no", lambda a: a, x),
            TypeError,
            r"\[cond\] expected Tensors in lists, tuples and dicts, got str",
        ),
        (
            lambda x: F.cond(
                x.sum() > 0, lambda a: a if a.sum().item() > 0 else -a, lambda a: a, x
            ),
            RuntimeError,
            "a value of a graph that is being made can only be read when it runs",
        ),
    ],
)
def test_errors_of_traced_control(function, error, message):
    with pytest.raises(error, match=message):
        trace(function, symbolic=True)(Tensor([1.0, 2.0]))


def test_assert_equal_is_part_of_a_trace():
    @trace(symbolic=True)
    def function(x, y):
        assert F.utils._assert_equal(x, y, maxerr=0.1) is x
        return x + y

    one, other = Tensor([1.0]), Tensor([1.0])
    for _ in range(2):
        assert function(one, other).numpy() == 2
    with pytest.raises(RuntimeError, match=r"\[assert_equal\] error 1, the limit is 0.1"):
        function(one, Tensor([2.0]))
    assert function(one, other).numpy() == 2


def noisy(h, x):
    def step(a, row):
        extra = F.cond(
            row.sum() > 0,
            lambda b: b + mge.random.normal(size=(2,)),
            lambda b: b * mge.random.uniform(size=(2,)),
            a,
        )
        return extra, F.dropout(row, 0.5)

    last, rows = F.scan(step, h, x)
    i, last = F.while_loop(
        lambda i, v: i < 3,
        lambda i, v: (i + 1, v + mge.random.uniform(size=(2,))),
        (Tensor(0), last),
    )
    return last, rows, mge.random.uniform(size=(2,))


@pytest.mark.parametrize("symbolic", [False, True])
def test_random_numbers_match_python_loops(symbolic):
    h, x = Tensor([1.0, 2.0]), Tensor(np.float32([[1, 2], [-3, 1], [0.5, 0.5], [-1, 0]]))

    def drawn(function):
        mge.random.seed(7)
        return [[value.numpy() for value in function(h, x)] for _ in range(3)]

    for got, want in zip(drawn(trace(noisy, symbolic=symbolic)), drawn(noisy), strict=True):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6)


def test_tensors_changed_inside_are_handed_on():
    norm = mge.module.BatchNorm1d(2)
    norm.train()
    calls = Tensor([0.0])

    def step(carry, row):
        calls[0] = calls[0] + 1
        return norm(carry + row), calls * 1

    def function(h, x):
        return F.scan(step, h, x)

    def numbers():
        return norm.running_mean.numpy().copy(), norm.running_var.numpy().copy(), float(calls)

    h, x = Tensor(np.float32([[1, 2], [3, 4]])), Tensor(np.ones((5, 2, 2), np.float32))
    function(h, x)
    want = numbers()
    norm.running_mean[...], norm.running_var[...], calls[...] = 0, 1, 0
    traced = trace(function, symbolic=True)
    counts = traced(h, x)[1].numpy()
    np.testing.assert_array_equal(counts[:, 0], [1, 2, 3, 4, 5])
    for got, expected in zip(numbers(), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-5)
    np.testing.assert_array_equal(traced(h, x)[1].numpy()[:, 0], [6, 7, 8, 9, 10])


def test_branch_may_change_values_that_the_other_keeps():
    counter = Tensor([10.0])

    def count(x):
        nonlocal counter
        counter += x
        return x

    traced = trace(lambda x: F.cond(x.sum() > 0, count, lambda x: -x, x), symbolic=True)
    for value, expected in ((1.0, 11), (-5.0, 11), (2.0, 13)):
        traced(Tensor([value]))
        assert float(counter) == expected


def test_tensors_made_inside_are_new_in_each_step():
    def step(carry, row):
        local = Tensor([0.0, 0.0])
        local[0] = row.sum()
        return carry + local, local

    traced = trace(lambda h, x: F.scan(step, h, x), symbolic=True)
    h, x = Tensor([0.0, 0.0]), Tensor(np.float32([[1, 2], [3, 4]]))
    for _ in range(2):
        last, rows = traced(h, x)
        np.testing.assert_array_equal(rows.numpy(), [[3, 0], [7, 0]])
        np.testing.assert_array_equal(last.numpy(), [10, 0])


def test_a_condition_changes_nothing():
    counter = Tensor([0.0])

    def condition(x):
        counter[...] = counter + 1
        return x.sum() < 5

    with pytest.raises(
        TypeError, match=r"\[while_loop\] the condition changes a Tensor from outside"
    ):
        trace(lambda x: F.while_loop(condition, lambda x: (x + 1,), (x,)), symbolic=True)(
            Tensor([0.0])
        )
    assert float(counter) == 0


def test_an_error_inside_leaves_tensors_as_they_were():
    counter = Tensor([1.0])

    def step(carry, row):
        counter[...] = counter + 1
        raise KeyError("stop")

    with pytest.raises(KeyError, match="stop"):
        trace(lambda x: F.scan(step, x, x), symbolic=True)(Tensor([0.0]))
    assert float(counter) == 1
