# SPDX-License-Identifier: Apache-2.0
"""GradManager and Function."""

import collections
import contextlib
import gc
import weakref

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
import megengine.optimizer as optim
from megengine import Tensor, _mge
from megengine.autodiff import Function, GradManager, get_backwarding_grad_manager, no_grad


def test_gradients_accumulate_and_missing_dy_is_ones():
    x = Tensor([1.0, 2.0])
    gm = GradManager().attach(x)
    for _ in range(2):
        with gm:
            gm.backward(x * x)
    np.testing.assert_array_equal(x.grad.numpy(), [4, 8])


def test_several_results_and_gradients():
    x, y, alone = Tensor([2.0]), Tensor([3.0]), Tensor([1.0])
    with GradManager().attach([x, y, alone]) as gm:
        gm.backward([x * y, x + y], [Tensor([10.0]), Tensor([1.0])])
    assert (float(x.grad), float(y.grad), alone.grad) == (31, 21, None)
    with GradManager().attach(x) as gm:
        with pytest.raises(RuntimeError, match="gradients of results"):
            gm.backward([x * y], [Tensor([1.0])] * 2)


# MegEngine 1.13 keeps the last gradient of a result that is given several times.
@pytest.mark.parametrize(
    "gradients, wanted", [([1.0, 10.0, 7.0], 21.0), ([[1.0, 2.0], 7.0, [4.0, 5.0]], [12.0, 15.0])]
)
def test_result_given_several_times_has_its_last_gradient(gradients, wanted):
    x = Tensor([1.0, 2.0])
    with GradManager().attach(x) as gm:
        y = x * 3
        gm.backward([y, y, y], [Tensor(gradient) for gradient in gradients])
    np.testing.assert_array_equal(x.grad.numpy(), np.broadcast_to(wanted, 2))
    x.grad = None
    with GradManager().attach(x) as gm:
        y = x * 3
        z = y * 2
        gm.backward([z, y, z])
    np.testing.assert_array_equal(x.grad.numpy(), [9, 9])


# As in MegEngine 1.13, an attached tensor that is a result has a gradient only if it was used.
@pytest.mark.parametrize(
    "results, gradient",
    [
        (lambda x: [x], None),
        (lambda x: [x, x], None),
        (lambda x: [+x], None),
        (lambda x: [F.dropout(x, 0.5, training=False)], None),
        (lambda x: [M.QuantStub()(x)], None),
        (lambda x: [M.DequantStub()(x)], None),
        (lambda x: [x, x.detach() * 2], None),
        (lambda x: [x, (x > 0).astype("float32")], None),
        (lambda x: [x, x.astype("int32")], None),
        (lambda x: [x, x * 2], 3),
        (lambda x: [x * 2, x], 3),
        (lambda x: [x, F.exp(x * 0)], 1),
        (lambda x: [M.Identity()(x)], 1),
        (lambda x: [x[...]], 1),
        (lambda x: [x.reshape(x.shape)], 1),
        (lambda x: [F.copy(x)], 1),
        (lambda x: [x + 0], 1),
        (lambda x: [F.transpose(x, (0, 1))], 1),
    ],
)
def test_gradient_of_a_result_that_is_the_input(results, gradient):
    x = mge.Tensor([[1.0, 2.0], [3.0, 4.0]])
    heard = []
    with GradManager() as gm:
        gm.attach(x, callbacks=lambda _, grad: heard.append(grad) or grad)
        ys = results(x)
        gm.backward(ys, [F.ones((2, 2))] * len(ys))
    if gradient is None:
        assert x.grad is None and not heard
    else:
        np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 2), gradient))
        assert len(heard) == 1


def test_gradient_of_an_intermediate_result_that_is_attached():
    x = mge.Tensor([1.0, 2.0])
    with GradManager().attach(x) as gm:
        middle = x * 2
        gm.attach(middle)
        gm.backward(middle, F.ones(2))
    np.testing.assert_array_equal(x.grad.numpy(), [2, 2])
    assert middle.grad is None


def test_disabled_fake_quantiser_stops_no_gradient():
    net = mge.quantization.quantize_qat(M.Sequential(M.QuantStub()))
    mge.quantization.disable_fake_quant(net)
    x = mge.Tensor([1.0, 2.0])
    with GradManager().attach(x) as gm:
        gm.backward(net(x), F.ones(2))
    assert x.grad is None


def test_errors_of_order():
    gm = GradManager().attach(Tensor([1.0]))
    with pytest.raises(RuntimeError, match="^no computation history"):
        gm.backward(Tensor([1.0]))
    with gm:
        with pytest.raises(RuntimeError, match="^already recording"):
            gm.record()
    with pytest.raises(AssertionError, match="floating"):
        gm.attach(Tensor([1]))


def test_attach_while_recording_counts_from_there():
    x = Tensor([3.0])
    with GradManager() as gm:
        y = x * x
        gm.attach(y)
        gm.backward(y * y)
    assert float(y.grad) == 18 and x.grad is None


def test_callbacks_run_in_order_and_may_return_a_future():
    class Future:
        def __init__(self, value):
            self.value = value

        def get(self):
            return self.value

    x = Tensor([1.0])
    seen = []
    gm = GradManager().attach(x, callbacks=lambda t, g: seen.append(t) or g + 1)
    gm.attach(x, callbacks=[lambda t, g: Future(g * 10)])
    with gm:
        gm.backward(x * 2)
    assert seen == [x] or seen[0] is x
    assert float(x.grad) == 30


def test_callback_that_returns_nothing_leaves_no_gradient():
    x = Tensor([1.0])
    with GradManager().attach(x, callbacks=lambda t, g: None) as gm:
        gm.backward(x * 2)
    assert x.grad is None


def test_the_running_manager_is_known_in_callbacks():
    x, seen = Tensor([1.0]), []
    gm = GradManager()
    gm.attach(x, callbacks=lambda t, g: seen.append(get_backwarding_grad_manager()) or g)
    with gm:
        gm.backward(x * 2)
    assert seen == [gm] and get_backwarding_grad_manager() is None


def test_a_module_is_no_tensor_to_attach():
    net = M.Linear(1, 1)
    for use in (GradManager().attach, lambda net: optim.SGD(net, lr=0.1)):
        with pytest.raises(TypeError, match=r"got Linear; pass its parameters\(\)"):
            use(net)


def test_attaching_does_not_keep_alive():
    x = Tensor([1.0])
    gm = GradManager().attach(x)
    died = weakref.ref(x)
    del x
    gc.collect()
    assert died() is None and gm.attached_tensors() == []


def test_managers_detach_from_surviving_tensors():
    x = Tensor([1.0])
    before = weakref.getweakrefcount(x)
    for _ in range(5):
        GradManager().attach(x, callbacks=lambda tensor, grad: grad)
    gc.collect()
    assert weakref.getweakrefcount(x) == before


def test_nothing_is_kept_after_leaving():
    x = Tensor([1.0])
    with GradManager().attach(x):
        y = x * 2
        died = weakref.ref(y)
        del y
    gc.collect()
    assert died() is None


def test_second_derivative():
    x = Tensor([2.0, 3.0])
    outer, inner = GradManager().attach(x), GradManager().attach(x)
    with outer:
        with inner:
            inner.backward(F.sum(x**3 * F.exp(x)))
        first, x.grad = x.grad, None
        outer.backward(first)
    v = np.array([2.0, 3.0])
    np.testing.assert_allclose(first.numpy(), (v**3 + 3 * v**2) * np.exp(v), rtol=1e-5)
    want = (v**3 + 6 * v**2 + 6 * v) * np.exp(v)
    np.testing.assert_allclose(x.grad.numpy(), want, rtol=1e-5)


def test_groups_record_together():
    x, y = Tensor([2.0]), Tensor([3.0])
    a, b = GradManager().attach(x), GradManager().attach(y)
    with a | b:
        z = x * y
        a.backward(z)
        b.backward(z)
    assert (float(x.grad), float(y.grad)) == (3, 2)


def test_no_manager_of_a_group_records_the_backward_pass_of_another():
    x = Tensor([2.0])
    a, b, outer = (GradManager().attach(x) for _ in range(3))
    with outer:
        with a | b:
            a.backward(x**3)
            first, x.grad = x.grad, None
            b.backward(first)
            assert x.grad is None
        outer.backward(first)  # one around the group does
    assert (float(first), float(x.grad)) == (12, 12)
    x.grad = None
    with b:
        with a:
            a.backward(x**2)
        first, x.grad = x.grad, None
        b.backward(first)
    assert (float(first), float(x.grad)) == (4, 2)


def test_in_place_change_of_an_attached_tensor():
    w = Tensor([2.0])
    with GradManager().attach(w) as gm:
        y = w * w
        w += 1
        gm.backward(y)
    assert float(w) == 3 and float(w.grad) == 4


class Scaled(Function):
    """Forward times 3, backward times a number that is no derivative."""

    def __init__(self, factor):
        self.factor = factor

    def forward(self, x):
        x += 0
        return x * 3

    def backward(self, dy):
        return dy * self.factor


def test_function_has_its_own_gradient():
    x = Tensor([1.0, 2.0])
    with GradManager().attach(x) as gm:
        y = Scaled(7)(x * 2)
        gm.backward(y)
    np.testing.assert_array_equal(y.numpy(), [6, 12])
    np.testing.assert_array_equal(x.grad.numpy(), [14, 14])


def test_function_with_unused_results_and_inputs_without_gradient():
    seen = []

    class Two(Function):
        def forward(self, a, b):
            return a * 2, b * 3

        def backward(self, da, db):
            seen.append((da is None, db is None))
            return da * 2, None

    a, b = Tensor([1.0]), Tensor([1.0])
    with GradManager().attach([a, b]) as gm:
        first, _ = Two()(a, b)
        gm.backward(first)
    assert seen == [(False, True)] and float(a.grad) == 2 and b.grad is None


@pytest.mark.parametrize("kind", [tuple, list])
@pytest.mark.parametrize("is_recorded", [False, True])
def test_function_returns_the_result_of_forward(kind, is_recorded):
    """The container is forward's, and what is no Tensor passes through without a gradient."""
    seen = []

    class Mixed(Function):
        def forward(self, x):
            return kind(["name", x * 2, 5, x * 3])

        def backward(self, *grads):
            seen.append([grad if grad is None else float(grad) for grad in grads])
            return grads[1] * 2

    x = Tensor([1.0])
    gm = GradManager()
    with gm.attach(x) if is_recorded else gm:
        out = Mixed()(x)
        assert type(out) is kind and (out[0], out[2]) == ("name", 5)
        assert [out[1].numpy(), out[3].numpy()] == [2, 3]
        gm.backward(out[1])
    assert seen == ([[None, 1.0, None, None]] if is_recorded else [])
    assert x.grad is None or float(x.grad) == 2


@pytest.mark.parametrize("kind", [tuple, list, collections.namedtuple("Pair", "a b")._make])
@pytest.mark.parametrize("place", [0, 1])
def test_function_may_return_a_tensor_twice(kind, place):
    class Twice(Function):
        def forward(self, x):
            y = x * 2
            return kind([y, y])

        def backward(self, first, second):
            assert (first is None, second is None) == (place == 1, place == 0)
            return (first if second is None else second) * 2

    x = Tensor([1.0])
    with GradManager().attach(x) as gm:
        out = Twice()(x)
        assert type(out) is type(kind([1, 2]))
        gm.backward(out[place])
    assert float(x.grad) == 2


def test_function_may_return_anything_without_a_tape():
    class Named(Function):
        def forward(self, x):
            return {"twice": x * 2}

        def backward(self, grad):
            return grad * 2

    x = Tensor([1.0])
    assert float(Named()(x)["twice"]) == 2
    with GradManager().attach(x), pytest.raises(TypeError, match="forward gave a dict, which has"):
        Named()(x)


def test_function_requires_tensors():
    with pytest.raises(TypeError, match="expect type Tensor as inputs"):
        Scaled(1)(np.ones(2))


def test_function_at_second_order():
    class Cube(Function):
        def forward(self, x):
            self.x = x
            return x**3

        def backward(self, dy):
            return dy * 3 * self.x * self.x

    x = Tensor([2.0])
    outer, inner = GradManager().attach(x), GradManager().attach(x)
    with outer:
        with inner:
            inner.backward(Cube()(x))
        first, x.grad = x.grad, None
        outer.backward(first)
    assert float(first) == 12 and float(x.grad) == 12


def _penalty(x, w, layers):
    """Squared gradient of a small network with respect to its input."""
    gm = GradManager().attach(x)
    with gm:
        gm.backward(F.sum(layers(x, w) ** 2))
    grad, x.grad = x.grad, None
    return F.sum(grad * grad)


def _penalty_and_gradient(x, w, layers):
    with GradManager().attach(w) as outer:
        value = _penalty(x, w, layers)
        outer.backward(value)
    grad, w.grad = w.grad.numpy(), None
    return float(value), grad


NORMS = {
    "batch_norm": lambda x: F.batch_norm(x, training=True, eps=0.1),
    "layer_norm": lambda x: F.layer_norm(x, (8, 8), False, eps=0.1),
    "group_norm": lambda x: F.nn.group_norm(x, 2, False, eps=0.1),
}
POOLS = {
    "max": lambda x: F.max_pool2d(x, 3, 2, 1),
    "average": lambda x: F.avg_pool2d(x, 2),
    "adaptive_max": lambda x: F.adaptive_max_pool2d(x, 3),
    "adaptive_average": lambda x: F.adaptive_avg_pool2d(x, 3),
}


@pytest.mark.parametrize("pool", POOLS)
@pytest.mark.parametrize("norm", NORMS)
def test_gradient_penalty_through_norm_and_pool(norm, pool):
    random = np.random.default_rng(3)
    x = Tensor(random.normal(size=(2, 1, 8, 8)).astype("float32"))
    start = random.normal(size=(4, 1, 3, 3)).astype("float32") * 0.5

    def layers(x, w):
        return POOLS[pool](NORMS[norm](F.conv2d(x, w, padding=1)))

    value, grad = _penalty_and_gradient(x, Tensor(start), layers)
    assert np.isfinite(value) and value > 0
    step = 1e-3
    direction = random.normal(size=start.shape).astype("float32")
    ahead, behind = (
        float(_penalty(x, Tensor(start + s * direction), layers)) for s in (step, -step)
    )
    numeric = (ahead - behind) / (2 * step)
    assert abs(np.sum(grad * direction) - numeric) < 0.02 * max(abs(numeric), np.abs(grad).max())


class Linear(Function):
    """The linear layer as users of other frameworks write it."""

    def forward(self, x, weight, bias=None):
        self.kept = x, weight
        self.seen = []
        y = F.matmul(x, weight, transpose_b=True)
        return y if bias is None else y + bias

    def backward(self, dy):
        x, weight = self.kept
        self.seen.append(self.needs_input_grad)
        dx = dw = db = None
        if self.needs_input_grad[0]:
            dx = F.matmul(dy, weight)
        if self.needs_input_grad[1]:
            dw = F.matmul(dy, x, transpose_a=True)
        if len(self.needs_input_grad) > 2 and self.needs_input_grad[2]:
            db = dy.sum(axis=0)
        return dx, dw, db


@pytest.mark.parametrize("with_bias", [True, False])
def test_extra_gradients_may_be_none(with_bias):
    x = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3))
    w = Tensor(np.ones((4, 3), np.float32))
    inputs = [x, w] + ([Tensor(np.ones(4, np.float32))] if with_bias else [])
    grads = []
    for function in (Linear(), lambda x, w, b=None: F.linear(x, w, b)):
        for t in inputs:
            t.grad = None
        with GradManager().attach(inputs) as gm:
            gm.backward(F.square(function(*inputs)))
        grads.append([t.grad.numpy() for t in inputs])
    for own, wanted in zip(*grads, strict=True):
        np.testing.assert_allclose(own, wanted, rtol=1e-6)


def test_needs_input_grad_names_wanted_gradients():
    x, w, b = (Tensor(np.ones(shape, np.float32)) for shape in ((2, 3), (4, 3), (4,)))
    for attached, wanted in ((w, (False, True, False)), (b, (False, False, True))):
        linear = Linear()
        with GradManager().attach(attached) as gm:
            gm.backward(linear(x, w, b))
        assert linear.seen == [wanted]
        assert linear.needs_input_grad == (), "only during backward"


def test_wrong_numbers_of_gradients_are_named():
    class Wrong(Function):
        def __init__(self, grads):
            self.grads = grads

        def forward(self, x, y):
            return x + y

        def backward(self, dy):
            return [dy if g else None for g in self.grads]

    for grads, count in (
        ((1,), "1 gradient"),
        ((1, 1, 1), "3 gradients"),
        ((0, 0, 0, 1), "4 gradients"),
    ):
        x, y = Tensor([1.0]), Tensor([2.0])
        message = rf"\[Wrong\] backward gave {count} for 2 inputs"
        with pytest.raises(RuntimeError, match=message), GradManager().attach([x, y]) as gm:
            gm.backward(Wrong(grads)(x, y))
    x, y = Tensor([1.0]), Tensor([2.0])
    with GradManager().attach([x, y]) as gm:
        gm.backward(Wrong((1, 0, 0, 0))(x, y))
    assert x.grad.numpy() == 1 and y.grad is None


def test_no_grad_keeps_nothing_and_returns_constants():
    x = Tensor([3.0])
    with GradManager().attach(x) as gm:
        with no_grad():
            constant = x * x
            assert not _mge.is_recorded(constant) and not _mge.is_recorded(x)
            with no_grad():
                pass
            assert not _mge.is_recorded(x)
        assert _mge.is_recorded(x)
        with pytest.raises(ZeroDivisionError), no_grad():
            raise ZeroDivisionError
        assert _mge.is_recorded(x)
        gm.backward(x * constant)
    assert x.grad.numpy() == 9
    with no_grad(), GradManager().attach(x) as gm:  # operators recorded inside
        gm.backward(x * x)
    assert x.grad.numpy() == 9 + 6


def test_no_grad_holds_no_activations():
    def peak(depth, block):
        x = Tensor(np.ones(1 << 20, np.float32))
        mge.device.reset_max_memory_stats()
        before = mge.device.get_allocated_memory()
        with GradManager().attach(x), block():
            y = x
            for _ in range(depth):
                y = F.exp(y * 0.1)
        return mge.device.get_max_allocated_memory() - before

    assert peak(12, no_grad) <= 3.1 * 4 * (1 << 20)
    assert peak(12, no_grad) <= peak(4, no_grad) + (1 << 20)
    assert peak(12, contextlib.nullcontext) > 2 * peak(12, no_grad)


@pytest.mark.parametrize("y", [None, np.ones(2, np.float32), "y", 1.0])
def test_results_that_are_no_tensors(y):
    x = Tensor([1.0, 2.0])
    gm = GradManager().attach(x)
    with gm, pytest.raises(TypeError, match=r"\[backward\] expected a Tensor, got \w+"):
        gm.backward([x * 3, y])
    with gm:
        gm.backward(x * 3)
    assert x.grad.tolist() == [3.0, 3.0]
