# SPDX-License-Identifier: Apache-2.0
"""Functions whose Python code runs once: ``partial_trace``, and ``trace(without_host=True)``."""

import functools

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import Function, GradManager, no_grad
from megengine.core.tensor.dtype import qint8
from megengine.jit import DTRConfig, GraphOptimizationConfig, partial_trace, trace

X = mge.Tensor(np.random.RandomState(3).rand(4, 3).astype("float32"))


def plain(function):
    return function


without_host = trace(without_host=True)


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.fc = M.Linear(3, 3)
        self.fc.weight._reset(mge.Tensor(np.arange(9, dtype="float32").reshape(3, 3) / 5))
        self.bn = M.BatchNorm1d(3)
        self.runs = 0

    def forward(self, x):
        self.runs += 1
        return F.gelu(self.bn(self.fc(x)))


class PartNet(Net):
    forward = partial_trace(Net.forward)


def train(net, steps=4):
    """Losses of some steps, then weights and statistics."""
    gm = GradManager().attach(net.parameters())
    optimizer = mge.optimizer.Adam(net.parameters(), lr=0.05)
    losses = []
    for i in range(steps):
        with gm:
            y = net(X + i)
            loss = (y * F.exp(y)).mean()
            gm.backward(loss)
        optimizer.step().clear_grad()
        losses.append(float(loss))
    return losses, [tensor.numpy() for tensor in net.tensors()]


def assert_same(found, expected):
    np.testing.assert_allclose(found[0], expected[0], rtol=1e-4)
    for a, b in zip(found[1], expected[1], strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-3, atol=1e-5)


def test_a_part_trains_as_the_eager_net():
    net = PartNet()
    assert_same(train(net), train(Net()))
    assert net.runs == 1


def test_modes_and_shapes_are_recorded_separately():
    net, eager = PartNet(), Net()
    for part in (net, eager):
        part(X)
        part.eval()
    np.testing.assert_allclose(net(X).numpy(), eager(X).numpy(), rtol=1e-5)
    np.testing.assert_allclose(net(X[:2]).numpy(), eager(X[:2]).numpy(), rtol=1e-5)
    net.train()
    net(X)
    assert net.runs == 3


class Frozen(M.Module):
    """A net in training mode with a part in evaluation mode, as for fine-tuning."""

    def __init__(self):
        super().__init__()
        self.parts = [M.BatchNorm1d(3), {"last": M.Dropout(0.5)}]

    def forward(self, x):
        return self.parts[1]["last"](self.parts[0](x))


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
@pytest.mark.parametrize("is_argument", [False, True], ids=["itself", "argument"])
def test_the_modes_of_parts_are_recorded_separately(wrap, is_argument):
    net = Frozen()
    call = functools.partial(wrap(lambda net, x: net(x)), net) if is_argument else wrap(net)
    net.eval()
    call(X)
    for frozen in ([net.parts[0], net.parts[1]["last"]], [net.parts[1]["last"]]):
        net.train()
        for part in frozen:
            part.eval()
        before = net.parts[0].running_mean.numpy()
        found, after = call(X).numpy(), net.parts[0].running_mean.numpy()
        net.parts[0].running_mean._reset(mge.Tensor(before))
        np.testing.assert_allclose(found, net(X).numpy(), rtol=1e-5, atol=1e-6)
        np.testing.assert_allclose(after, net.parts[0].running_mean.numpy(), rtol=1e-6)


def test_a_module_as_a_part():
    net = M.Linear(3, 3)
    part = partial_trace(net)
    for _ in range(2):
        np.testing.assert_array_equal(part(X).numpy(), net(X).numpy())
        net.weight._reset(net.weight * 2)


def test_parts_within_a_trace_belong_to_it():
    part = partial_trace(lambda x: F.exp(x) * 2)
    whole = trace(symbolic=True, capture_as_const=True)(lambda x: part(x) + 1)
    for _ in range(2):
        np.testing.assert_allclose(whole(X).numpy(), np.exp(X.numpy()) * 2 + 1, rtol=1e-5)


def test_second_derivatives():
    cube = partial_trace(lambda x: x * x * x)
    x = mge.Parameter([2.0])
    outer, inner = GradManager().attach(x), GradManager().attach(x)
    with outer:
        with inner:
            inner.backward(cube(x))
        slope, x.grad = x.grad, None
        outer.backward(slope)
    assert slope.numpy() == [12] and x.grad.numpy() == [12]


def test_partial_trace_with_the_host():
    runs = []

    @partial_trace(without_host=False, opt_level=1)
    def part(x):
        runs.append(1)
        return x * 2

    assert isinstance(part, trace)
    part(X), part(X)
    assert len(runs) == 2


def test_wrong_uses_of_partial_trace():
    with pytest.raises(mge.NotAvailableError, match="XLA"):
        partial_trace(plain, backend="xla")
    with pytest.raises(ValueError, match="no backend 'other'"):
        partial_trace(plain, backend="other")
    with pytest.warns(UserWarning, match=r"\[partial_trace\] opt_level has no effect"):
        partial_trace(plain, opt_level=1)


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_arguments_and_results_of_any_kind(wrap):
    runs = []

    @wrap
    def function(x, factor, *, named):
        runs.append(1)
        return {"y": x["a"] * factor, "rest": [named[0] + 1, 3, "text", None]}

    for factor, count in ((2.0, 1), (2.0, 1), (2, 2), (3.0, 3)):
        found = function({"a": X}, factor, named=(X,))
        np.testing.assert_array_equal(found["y"].numpy(), X.numpy() * factor)
        np.testing.assert_array_equal(found["rest"][0].numpy(), X.numpy() + 1)
        assert found["rest"][1:] == [3, "text", None] and len(runs) == count


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_tensors_from_outside_are_read_by_each_call(wrap):
    w = mge.Parameter([1.0])
    listed = [mge.Tensor([5.0])]
    function = wrap(lambda x: x * w + listed[0])
    assert function(mge.Tensor([2.0])).numpy() == [7]
    w._reset(mge.Tensor([10.0]))
    listed[0][...] = 1.0
    assert function(mge.Tensor([2.0])).numpy() == [21]


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_tensors_from_outside_are_changed_by_each_call(wrap):
    count = mge.Tensor([0.0])

    @wrap
    def function(x):
        count.__iadd__(x)

    for expected in (2, 4, 6):
        assert function(mge.Tensor([2.0])) is None
        assert count.numpy() == [expected]


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_random_numbers_are_new_in_each_call(wrap):
    function = wrap(lambda x: F.dropout(x, 0.5))
    ones = F.ones(200)
    assert (function(ones).numpy() != function(ones).numpy()).any()


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_a_seed_restarts_the_random_numbers(wrap):
    function = wrap(lambda x: x + mge.random.uniform(size=(4, 3)))
    mge.random.seed(7)
    expected = (X + mge.random.uniform(size=(4, 3))).numpy()
    for _ in range(3):
        mge.random.seed(7)
        np.testing.assert_array_equal(function(X).numpy(), expected)


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_scales_are_recorded_separately(wrap):
    function = wrap(lambda x: x.astype("float32") + x.astype("float32"))
    for scale in (0.1, 0.5, 0.1):
        steps = mge.Tensor(np.int8([1, -2])).astype("float32") * scale
        found = function(steps.astype(qint8(scale)))
        np.testing.assert_allclose(found.numpy(), 2 * scale * np.float32([1, -2]), rtol=1e-6)
    np.testing.assert_array_equal(function(mge.Tensor(np.int8([1, -2]))).numpy(), [2, -4])


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_settings_are_recorded_separately(wrap):
    product = wrap(lambda x: F.matmul(x, x, transpose_b=True))
    with mge.amp.autocast(low_prec_dtype="float16"):
        assert product(X).dtype == "float16"
    assert product(X).dtype == "float32"
    zeros = wrap(lambda: F.zeros(2))
    assert zeros().device == F.zeros(2).device
    with mge.device.default_device("cpu1"):
        assert zeros().device == "cpu1"


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_values_cannot_be_read(wrap):
    function = wrap(lambda x: float(x.sum()))
    for _ in range(2):
        with pytest.raises(RuntimeError, match="can only be read when it runs"):
            function(X)


def test_nothing_changes_when_a_recording_fails():
    w = mge.Parameter([1.0])
    gm = GradManager().attach(w)

    @without_host
    def fails(x):
        with gm:
            gm.backward(w * x)
        w._reset(w * 2)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails(mge.Tensor([3.0]))
    assert w.numpy() == [1] and w.grad is None
    with gm:
        gm.backward(w * 4)
    assert w.grad.numpy() == [4]


@pytest.mark.parametrize("optimizer", ["SGD", "Adam", "Adagrad", "Adadelta"])
def test_whole_steps_run_without_host(optimizer):
    def losses(wrap):
        net = Net()
        gm = GradManager().attach(net.parameters())
        steps = getattr(mge.optimizer, optimizer)(net.parameters(), lr=0.1)

        @wrap
        def step(x, net, gm, steps):
            with gm:
                loss = (net(x) ** 2).mean()
                gm.backward(loss)
            steps.step().clear_grad()
            return loss

        found = [float(step(X, net, gm, steps)) for _ in range(5)]
        return found, [tensor.numpy() for tensor in net.tensors()], net.runs

    alone, eager = losses(without_host), losses(plain)
    assert_same(alone[:2], eager[:2])
    assert (alone[2], eager[2]) == (1, 5)


def test_options_of_an_optimizer_count():
    w = mge.Parameter([1.0])
    gm, optimizer = GradManager().attach(w), mge.optimizer.SGD([w], lr=0.5)

    @without_host
    def step(optimizer):
        with gm:
            gm.backward(w * 1)
        optimizer.step().clear_grad()

    for lr, expected in ((0.5, 0.5), (0.25, 0.25), (0.25, 0)):
        optimizer.param_groups[0]["lr"] = lr
        step(optimizer)
        assert w.numpy() == [expected]


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_arguments_that_may_change(wrap):
    with pytest.raises(TypeError, match="ndarray may change between calls.*as Tensors"):
        wrap(lambda x: mge.Tensor(x))(np.ones(3))


def test_gradients_that_a_step_leaves():
    w = mge.Parameter([1.0, 2.0])
    gm = GradManager().attach(w)

    @without_host
    def gradients(x):
        with gm:
            gm.backward((w * w * x).sum())

    for factor in (1.0, 3.0):
        w.grad = None
        gradients(mge.Tensor([factor]))
        np.testing.assert_allclose(w.grad.numpy(), 2 * w.numpy() * factor)


def test_outer_recordings_see_a_call_as_one_operator():
    w = mge.Parameter([3.0])
    inner_manager, outer = GradManager().attach(w), GradManager().attach(w)

    @without_host
    def slope(x):
        with inner_manager:
            inner_manager.backward(w * x * x)
        return w.grad

    x = mge.Parameter([5.0])
    outer.attach(x)
    with outer:
        y = slope(x)
        w.grad = None
        outer.backward(y)
    assert y.numpy() == [25] and x.grad.numpy() == [10]


BRANCHING = {
    "cond": lambda w, x: F.cond(x.sum() > 0, lambda a: a * w, lambda a: -a, x),
    "else": lambda w, x: F.cond(x.sum() < 0, lambda a: -a, lambda a: a * w, x),
    "nested": lambda w, x: F.cond(x.sum() > 0, lambda a: BRANCHING["cond"](w, a), F.neg, x),
    "loop": lambda w, x: F.while_loop(lambda a: a.sum() < w.sum(), lambda a: (a * 2,), (x,), 9)[0],
    "scan": lambda w, x: F.scan(lambda a, _: (a * w, None), x, length=2)[0],
}


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
@pytest.mark.parametrize("name", BRANCHING)
def test_branches_read_the_current_tensors_from_outside(wrap, name):
    w, x = mge.Parameter([1.5, 2.5]), mge.Parameter([2.0, 1.0])
    function = functools.partial(BRANCHING[name], w)
    recorded = wrap(lambda x: function(x))
    recorded(x)  # without a tape
    w._reset(mge.Tensor([10.0, 20.0]))
    gm, found = GradManager().attach([w, x]), []
    for call in (recorded, function, recorded):
        w.grad = x.grad = None
        with gm:
            y = call(x)
            gm.backward(y.sum())
        found.append([y, x.grad] + ([] if name == "loop" else [w.grad]))
    for other in (found[1], found[2]):
        for a, b in zip(found[0], other, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy())


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_results_without_gradient_are_constants_of_a_recording(wrap):
    w, x = mge.Parameter([3.0, 5.0]), mge.Parameter([2.0, -1.0])

    def function(x):
        with no_grad():
            scale = F.cond(x.sum() > 0, lambda a: a * w, lambda a: a, x + 1)
            index = F.argmax(x)
        return scale * x + x[index]

    gm, recorded = GradManager().attach([w, x]), wrap(function)
    with no_grad():
        recorded(x)  # the recording itself is differentiated later
    for call in (recorded, function, recorded):
        w.grad = x.grad = None
        with gm:
            gm.backward(call(x).sum())
        assert x.grad.numpy().tolist() == [11, 0]
        assert w.grad is None or not w.grad.numpy().any()


@pytest.mark.parametrize("wrap", [partial_trace, without_host])
def test_a_detached_tensor_gets_no_gradient(wrap):
    w, x = mge.Parameter([3.0, 5.0]), mge.Parameter([2.0, -1.0])

    def function(x):
        y = x.detach() * x + w.detach() * w
        return F.cond(x.sum() > 0, lambda a: a.detach() * x * 2 + y, lambda a: a, x)

    gm, recorded = GradManager().attach([w, x]), wrap(function)
    for call in (recorded, function, recorded):
        w.grad = x.grad = None
        with gm:
            gm.backward(call(x).sum())
        assert x.grad.numpy().tolist() == [6, -3] and w.grad.numpy().tolist() == [3, 5]


def test_own_gradient_rules_are_not_recorded():
    class Double(Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 7

    with pytest.warns(UserWarning, match=r"\[Double\] .* backward is not part of it"):
        partial_trace(lambda x: Double()(x))(X)


def test_own_gradient_rules():
    class Double(Function):
        def forward(self, x):
            return x * 2

        def backward(self, dy):
            return dy * 7

    w = mge.Parameter([1.0])
    gm = GradManager().attach(w)

    @without_host
    def step(x):
        with gm:
            gm.backward(Double()(w) * x)

    for factor in (1.0, 2.0):
        w.grad = None
        step(mge.Tensor([factor]))
        assert w.grad.numpy() == [7 * factor]


@pytest.mark.parametrize(
    "options, name",
    [
        ({"opt_level": 0}, "opt_level"),
        ({"dtr_config": DTRConfig(1)}, "dtr_config"),
        ({"graph_opt_config": GraphOptimizationConfig()}, "graph_opt_config"),
    ],
)
@pytest.mark.parametrize("mode", ["record_only", "without_host"])
def test_options_without_effect_are_reported(mode, options, name):
    with pytest.warns(UserWarning, match=rf"\[trace\] {name} has no effect"):
        trace(plain, **{mode: True}, **options)


def test_options_apply_to_the_graph_without_host():
    def run(level):
        run = trace(without_host=True, capture_as_const=True, opt_level=level)
        itself = run(lambda y: F.log(F.exp(y)))
        large = mge.Tensor([200.0, 1.0])
        itself(large)
        return itself(large).numpy()

    np.testing.assert_allclose(run(0), [np.inf, 1], rtol=1e-6)
    np.testing.assert_array_equal(run(2), [200, 1])


@pytest.mark.parametrize("options", [{}, {"capture_as_const": True}])
@pytest.mark.parametrize("by_keyword", [False, True])
def test_modules_and_optimizers_among_the_arguments_are_trained(options, by_keyword):
    def run(wrap):
        net = Net()
        gm = GradManager().attach(net.parameters())
        optimizer = mge.optimizer.Adam(net.parameters(), lr=0.05)

        @wrap
        def step(net, optimizer, x):
            with gm:
                loss = (net(x) ** 2).mean()
                gm.backward(loss)
            optimizer.step().clear_grad()
            return loss

        losses = []
        for i in range(4):
            if by_keyword:
                losses.append(float(step(net=net, optimizer=optimizer, x=X + i)))
            else:
                losses.append(float(step(net, optimizer, X + i)))
            optimizer.param_groups[0]["lr"] = 0.05 if i == 0 else 0.01
        return losses, [tensor.numpy() for tensor in net.tensors()], net.runs

    found, expected = run(trace(without_host=True, **options)), run(plain)
    assert_same(found[:2], expected[:2])
    assert (found[2], expected[2]) == (2, 4)  # a new rate is a new recording
