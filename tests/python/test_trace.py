# SPDX-License-Identifier: Apache-2.0
"""jit.trace: recording, replay with checks, values read on the way."""

import io
from collections import namedtuple

import numpy as np
import pytest
from trace_samples import both_modes, floats

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import (
    TraceError,
    exclude_from_trace,
    is_tracing,
    trace,
)
from megengine.optimizer import SGD
from megengine.utils.comp_graph_tools import GraphInference


@both_modes
def test_runs_again_with_other_values_and_shapes(symbolic):
    calls = []

    @trace(symbolic=symbolic)
    def f(x, y):
        calls.append(is_tracing())
        return F.relu(x * 2 - y), x + y

    for n in (3, 3, 5):
        x = np.arange(n, dtype=np.float32)
        a, b = f(Tensor(x), Tensor(x + 1))
        np.testing.assert_allclose(a.numpy(), np.maximum(x - 1, 0))
        np.testing.assert_allclose(b.numpy(), 2 * x + 1)
    assert calls == [True] * 3
    assert not is_tracing()


@both_modes
def test_values_can_be_read_on_the_way(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        y = x + 1
        seen.append(y.numpy().tolist())
        z = y * y
        seen.append(float(z.sum()))
        return z - y

    for value in (1.0, 2.0, 3.0):
        seen = []
        assert f(floats(value)).item() == (value + 1) ** 2 - value - 1
        assert seen == [[value + 1], (value + 1) ** 2]


@both_modes
def test_tensors_from_outside_are_fed_again(symbolic):
    weight = floats(1.0)

    @trace(symbolic=symbolic)
    def f(x):
        return x * weight + Tensor(np.float32(bias))

    for value, bias in ((1.0, 5.0), (2.0, 6.0), (3.0, 7.0)):
        weight._reset(floats(value))
        assert f(floats(10.0)).item() == 10 * value + bias


@both_modes
def test_calls_after_a_captured_tensor_has_changed_are_errors(symbolic):
    weight = floats(2.0)

    @trace(symbolic=symbolic, capture_as_const=True)
    def f(x):
        return x * weight

    assert f(floats(3.0)).item() == 6
    weight += 98
    for _ in range(2):
        with pytest.raises(TraceError, match="tensors not equals"):
            f(floats(3.0))
    weight[...] = floats(2.0)
    assert f(floats(3.0)).item() == 6


@both_modes
def test_training_step_is_traced_whole(symbolic):
    rng = np.random.default_rng(0)
    batches = [
        (rng.normal(size=(8, 4)).astype(np.float32), rng.normal(size=(8, 2)).astype(np.float32))
        for _ in range(5)
    ]

    def train(wrap):
        net = M.Linear(4, 2)
        net.weight._reset(Tensor(np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4)))
        manager = GradManager().attach(net.parameters())
        optimizer = SGD(net.parameters(), lr=0.1, momentum=0.9)

        def step(x, target):
            with manager:
                loss = ((net(x) - target) ** 2).mean()
                manager.backward(loss)
            optimizer.step().clear_grad()
            return loss

        step = wrap(step)
        losses = [step(Tensor(x), Tensor(target)).item() for x, target in batches]
        return losses, net.weight.numpy()

    losses, weight = train(trace(symbolic=symbolic))
    expected_losses, expected_weight = train(lambda step: step)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-5)
    np.testing.assert_allclose(weight, expected_weight, rtol=1e-5, atol=1e-6)


@both_modes
def test_gradients_flow_through_a_traced_function(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        return x * x

    x = floats(3.0)
    manager = GradManager().attach(x)
    for _ in range(3):
        x.grad = None
        with manager:
            manager.backward(f(x))
        assert x.grad.item() == 6


@both_modes
def test_shapes_are_tensors_inside(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        assert isinstance(x.shape, Tensor)
        return x.reshape(x.shape[1], -1), x.shape

    for shape in ((2, 3), (2, 3), (4, 5)):
        y, seen = f(Tensor(np.zeros(shape, np.float32)))
        assert y.shape == (shape[1], shape[0])
        assert tuple(seen.numpy()) == shape


@both_modes
def test_results_with_run_time_shapes(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        values, indices = F.cond_take(x > 0, x)
        return values * 2, indices

    for data in ([1, -1, 2], [1, -1, 2], [-1, -1, 3, 4]):
        x = np.array(data, np.float32)
        values, indices = f(Tensor(x))
        np.testing.assert_array_equal(values.numpy(), 2 * x[x > 0])
        np.testing.assert_array_equal(indices.numpy(), np.nonzero(x > 0)[0])


@both_modes
def test_random_numbers_are_new_each_time(symbolic):
    @trace(symbolic=symbolic)
    def f():
        return mge.random.uniform(size=(16,))

    draws = {tuple(f().numpy().tolist()) for _ in range(4)}
    assert len(draws) == 4


@both_modes
def test_random_numbers_are_new_each_time_beside_constants(symbolic):
    def f(x):
        return F.dropout(x + mge.random.uniform(size=(16,)), 0.5) * 2

    traced = trace(f, symbolic=symbolic, capture_as_const=True)
    results = []
    for call in (f, traced):
        mge.random.seed(3)
        results.append([call(floats(1.0)).numpy() for _ in range(4)])
    assert len({tuple(result.tolist()) for result in results[1]}) == 4
    np.testing.assert_allclose(*results, rtol=1e-6)


@both_modes
def test_changes_of_captured_statistics_are_named(symbolic):
    norm = M.BatchNorm2d(2)
    f = trace(norm, symbolic=symbolic, capture_as_const=True)
    x = F.ones((2, 2, 3, 3))
    f(x)
    with pytest.raises(TraceError, match="tensors not equals") as caught:
        f(x)
    assert "(1, 2, 1, 1)" in caught.value.__notes__[0]
    assert "training mode" in caught.value.__notes__[0]


@pytest.mark.parametrize(
    "other, reason",
    [
        (lambda x: x * 2, "operator mismatch"),
        (lambda x: x + 3, "tensors not equals"),
        (lambda x: x, "mismature end"),
        (lambda x: x + 1 + x, "too many instructions"),
        (lambda x: 1 + x * x, "operator mismatch"),
        (lambda x: F.reshape(x, (1, 1)), "operator mismatch"),
    ],
)
@both_modes
def test_another_course_is_an_error(symbolic, other, reason):
    def usual(x):
        return x + 1

    course = usual

    @trace(symbolic=symbolic)
    def f(x):
        return course(x)

    f(floats(1.0))
    course = other
    with pytest.raises(TraceError) as caught:
        f(floats(1.0))
    assert str(caught.value) == f"trace error because {reason}" and caught.value.__notes__
    course = usual
    assert f(floats(4.0)).item() == 5


@pytest.mark.parametrize(
    "usual, other, reason",
    [
        ("a + b + c", "c + (a + b)", "expect internal node, got external"),
        ("c + (a + b)", "a + b + c", "expect external node, got internal"),
        ("a + b + b", "a + b + c", "input id mismatch"),
        ("((a + b), (b + c))[1] + a", "((a + b), (b + c))[0] + a", "input id mismatch"),
    ],
)
@both_modes
def test_other_operands_are_an_error(symbolic, usual, other, reason):
    @trace(symbolic=symbolic)
    def f(a, b, c):
        return eval(course)

    values = floats(1.0), floats(2.0), floats(4.0)
    course = usual
    expected = f(*values).item()
    course = other
    with pytest.raises(TraceError) as caught:
        f(*values)
    assert str(caught.value) == f"trace error because {reason}"
    course = usual
    assert f(*values).item() == expected


@pytest.mark.parametrize("other", ["c + b + a", "a + a + b", "c + c + c"])
@both_modes
def test_another_argument_in_the_place_of_a_recorded_one_counts(symbolic, other):
    @trace(symbolic=symbolic)
    def f(a, b, c):
        return eval(course)

    values = {"a": floats(1.0), "b": floats(2.0), "c": floats(4.0)}
    course = "a + b + c"
    f(**values)
    course = other
    assert f(*values.values()).item() == eval(other, values).item()


@both_modes
def test_arguments_may_be_passed_in_another_way_than_in_the_recording(symbolic):
    @trace(symbolic=symbolic)
    def f(x, y, *unused):
        return x * 10 + y

    one, two = floats(1.0), floats(2.0)
    for call in (
        lambda: f(one, two),
        lambda: f(one, y=two),
        lambda: f(y=two, x=one),
        lambda: f(one, two, two, one),
    ):
        assert call().item() == 12
    assert f(two, two).item() == 22 and f(two, y=one).item() == 21


@pytest.mark.parametrize("truth", [1, 3, "yes"])
def test_options_of_traces_may_be_any_truth(truth):
    options = {"symbolic": truth, "symbolic_shape": truth, "capture_as_const": truth}
    traced = trace(lambda x: x + x.shape[0], **options)
    assert traced(floats(1.0, 2.0)).numpy().tolist() == [3, 4]
    assert not is_tracing() and traced.dump(io.BytesIO(), silent=True).inputs == ["arg_0"]


@both_modes
def test_exceptions_pass_through(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        y = x + 1
        if fail:
            kept.append(y)
            raise KeyError("mine")
        return y

    kept = []
    for fail in (True, False, True, False):
        if fail:
            with pytest.raises(KeyError, match="mine"):
                f(floats(1.0))
        else:
            assert f(floats(1.0)).item() == 2
    assert [t.item() for t in kept] == [2, 2]
    assert not is_tracing()


@both_modes
def test_excluded_code_runs_every_time(symbolic):
    @trace(symbolic=symbolic)
    def f(x):
        y = x + 1
        with exclude_from_trace():
            assert not is_tracing()
            bonus = Tensor(np.float32(10)) if float(y.numpy()[0]) > 2 else Tensor(np.float32(0)) * 5
        return y + bonus

    assert [f(floats(v)).item() for v in (1.0, 5.0, 0.0)] == [2, 16, 1]


@both_modes
def test_excluded_code_may_replace_values_from_before(symbolic):
    @trace(symbolic=symbolic)
    def f(x, negated):
        y = x + 1
        with exclude_from_trace():
            if "argument" in negated:
                x = -x
            if "computed" in negated:
                y = -y
        return x * y

    calls = [(), ("computed",), ("argument",), ("computed", "argument"), ()]
    assert [f(floats(2.0), negated).item() for negated in calls] == [6, -6, -6, 6, 6]


def test_only_tensors_are_arguments_of_a_captured_function():
    @trace(symbolic=True, capture_as_const=True)
    def f(x, y):
        return x

    words = "Only support tensor type args"
    with pytest.raises(AssertionError, match=f"{words}.*: argument 1 is a int; .* by keyword"):
        f(floats(1.0), 2)
    with pytest.raises(AssertionError, match=f"{words}.*: argument 0 is a tuple$"):
        f((floats(1.0),), floats(1.0))  # a comma too many


def test_only_tensors_are_results_of_a_captured_function():
    @trace(symbolic=True, capture_as_const=True)
    def f(x):
        return x, 2

    with pytest.raises(AssertionError, match="Only support return tensors"):
        f(floats(1.0))


@both_modes
def test_keyword_order_is_free(symbolic):
    @trace(symbolic=symbolic, capture_as_const=True)
    def f(x, a, b):
        return x + a * 10 - b

    for k in (1.0, 2.0):
        a, b = floats(k), floats(k + 1)
        assert f(floats(0.0), a=a, b=b).item() == 9 * k - 1
        assert f(floats(0.0), b=b, a=a).item() == 9 * k - 1
        assert f(floats(0.0), a, b=b).item() == 9 * k - 1
        assert f(x=floats(0.0), b=b, a=a).item() == 9 * k - 1


@both_modes
def test_accuracies_of_batches_of_any_size(symbolic):
    count = trace(lambda x, y: F.metric.topk_accuracy(x, y, (1, 2)), symbolic=symbolic)
    for n in (4, 3, 1):
        scores = np.tile(np.float32([3, 2, 1]), (n, 1))
        first, second = count(Tensor(scores), Tensor(np.arange(n, dtype=np.int32) % 3))
        assert first.shape == () and abs(first.item() - -(-n // 3) / n) < 1e-6
        assert abs(second.item() - (n - (n > 2)) / n) < 1e-6


def test_keywords_of_a_graph_without_host():
    alone = trace(lambda x, a, b: x + a * 10 - b, without_host=True, capture_as_const=True)
    for keywords in ("ab", "ba", "ab"):
        values = {"a": floats(1.0), "b": floats(2.0)}
        assert alone(floats(0.0), **{name: values[name] for name in keywords}).item() == 8
    assert alone(x=floats(0.0), b=floats(2.0), a=floats(1.0)).item() == 8


def test_named_tuples_of_a_graph_without_host():
    Pair = namedtuple("Pair", ["sum", "product"])
    alone = trace(lambda x, y: Pair(x + y, x * y), without_host=True, capture_as_const=True)
    for _ in range(3):
        found = alone(floats(2.0), floats(3.0))
        assert isinstance(found, Pair) and found.product.item() == 6


def test_a_recording_alone_can_be_dumped():
    weight = floats(3.0)
    f = trace(lambda x: x * weight, record_only=True)
    f(floats(1.0))
    file = io.BytesIO()
    f.dump(file, arg_names=["x"], output_names=["y"])
    assert GraphInference(io.BytesIO(file.getvalue())).run(np.float32([2]))["y"] == [6]


@both_modes
def test_traced_training_accepts_batches_of_any_size(symbolic):
    def train(wrap):
        mge.random.seed(1)
        net = M.Sequential(M.Conv2d(1, 4, 3, padding=1), M.BatchNorm2d(4), M.ReLU(), M.MaxPool2d(2))
        manager = GradManager().attach(net.parameters())
        optimizer = SGD(net.parameters(), lr=0.1, momentum=0.9)

        def step(x, label):
            with manager:
                loss = F.nn.cross_entropy(F.flatten(net(x), 1), label)
                manager.backward(loss)
            optimizer.step().clear_grad()
            return loss

        step = wrap(step)
        losses = []
        for seed, n in enumerate((4, 4, 6, 3)):
            rng = np.random.default_rng(seed)
            x = rng.normal(size=(n, 1, 4, 4)).astype(np.float32)
            label = rng.integers(0, 16, n).astype(np.int32)
            losses.append(step(Tensor(x), Tensor(label)).item())
        return losses, net[1].running_mean.numpy()

    losses, mean = train(trace(symbolic=symbolic))
    expected_losses, expected_mean = train(lambda step: step)
    np.testing.assert_allclose(losses, expected_losses, rtol=1e-4)
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-4, atol=1e-6)


P = mge.Parameter(np.linspace(0.5, 1.5, 6, dtype=np.float32).reshape(1, 6))
OF_BATCHES = {
    "row": lambda z, w: ((z + P) ** 2).sum(),
    "column": lambda z, w: (z * P * w).sum(),
    "mean": lambda z, w: (z * P - (z * P).mean(0, keepdims=True)).sum(),
    "softmax": lambda z, w: (F.softmax(z * P) ** 2).sum(),
    "where": lambda z, w: F.where(z > 0, z * P, z).sum(),
    "loss": lambda z, w: F.nn.l1_loss(z * P, z),
    "products": lambda z, w: (F.matmul(F.expand_dims(z, 1), F.expand_dims(P, 2)) * w).sum(),
    "division": lambda z, w: (P / (z + 4) + w).sum(),
}


@both_modes
@pytest.mark.parametrize("sizes", [(4, 3, 1, 2, 1), (1, 1, 4, 3, 1)])
@pytest.mark.parametrize("name", OF_BATCHES)
def test_traced_gradients_support_batches_of_one_sample(name, sizes, symbolic):
    manager = GradManager().attach(P)

    def step(z, w):
        P.grad = None
        with manager:
            manager.backward(OF_BATCHES[name](z, w))
        return P.grad

    traced = trace(symbolic=symbolic)(step)
    for n in sizes:
        rng = np.random.default_rng(n)
        z, w = (Tensor(rng.normal(size=(n, k)).astype(np.float32)) for k in (6, 1))
        np.testing.assert_allclose(
            traced(z, w).numpy(), step(z, w).numpy(), rtol=1e-5, atol=1e-5, err_msg=f"{n}"
        )


@both_modes
def test_ranges_follow_their_tensors(symbolic):
    """Also a bound that another operator has computed, and numbers beside Tensors."""

    @trace(symbolic=symbolic)
    def ranges(start, stop, num):
        return (
            F.linspace(start, stop * 2, 3),
            F.linspace(1, stop, num),
            F.arange(stop),
            F.arange(start, stop, 0.5),
            F.arange(0, stop, start + 1, dtype="int32"),
            F.logspace(start, stop, 2),
        )

    for start, stop, num in ((0.0, 1.0, 2), (1.0, 2.0, 3), (0.5, 2.0, 0), (0.0, 1.0, 2)):
        first, last, count = Tensor(start), Tensor(stop), Tensor(num)
        wanted = (
            np.linspace(start, stop * 2, 3),
            np.linspace(1, stop, num),
            np.arange(stop),
            np.arange(start, stop, 0.5),
            np.arange(0, stop, start + 1).astype(np.int32),
            np.logspace(start, stop, 2),
        )
        for got, want in zip(ranges(first, last, count), wanted, strict=True):
            np.testing.assert_allclose(got.numpy(), want, rtol=1e-6)


def test_bad_bounds_in_a_trace():
    with pytest.raises(ValueError, match="first must be one number"):
        trace(lambda x: F.linspace(x, 1, 3))(floats(1, 2)).numpy()
    with pytest.raises(RuntimeError, match="num"):
        trace(lambda n: F.linspace(0, 1, n))(Tensor(-1)).numpy()


@pytest.mark.parametrize("symbolic", [False, True])
def test_side_effects_happen_in_every_call_with_its_values(symbolic):
    seen = []

    @mge.jit.sideeffect
    def note(x, scale=1):
        """Notes a number."""
        seen.append(float(x) * scale)
        return len(seen)

    @mge.jit.trace(symbolic=symbolic)
    def step(x):
        y = x * 2
        if note(y, scale=10) > 100:
            y = y + 1
        return y + 1

    for k in range(4):
        assert float(step(mge.Tensor(float(k)))) == 2 * k + 1
    assert seen == [0, 20, 40, 60]
    assert note(mge.Tensor(1.0)) == 5 and note.__doc__ == "Notes a number."


@pytest.mark.parametrize("symbolic", [False, True])
def test_the_number_of_elements_follows_the_inputs(symbolic):
    centred = trace(lambda x: x - x.sum() / x.size, symbolic=symbolic)
    for shape in ((2, 3), (4, 5), (7,), ()):
        expected = np.zeros(shape, np.float32)
        np.testing.assert_array_equal(centred(Tensor(expected + 2)).numpy(), expected)
    twice = trace(lambda x: x * 2 if x.size > 0 else x, symbolic=symbolic)
    assert [twice(Tensor([3.0])).item() for _ in range(3)] == [6, 6, 6]
    flat = trace(lambda x: x.reshape(x.size), symbolic=symbolic)
    assert [flat(Tensor(np.ones((n, 3), "float32"))).shape for n in (2, 4)] == [(6,), (12,)]


def test_dump_with_a_module_given_by_keyword():
    net, x = mge.module.Linear(3, 2), mge.tensor(np.ones((2, 3), np.float32))

    @trace(symbolic=True, without_host=True, capture_as_const=True)
    def f(data, *, net):
        return net(data)

    expected, file = f(x, net=net).numpy(), io.BytesIO()
    f.dump(file, arg_names=["data"], output_names=["y"])
    np.testing.assert_allclose(expected, net(x).numpy(), rtol=1e-6)
    assert file.getvalue()
