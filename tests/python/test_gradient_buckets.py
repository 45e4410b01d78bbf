# SPDX-License-Identifier: Apache-2.0
"""Gradients that are exchanged between processes while ``backward`` runs."""

import logging

import numpy as np
import pytest
from process_groups import in_processes

import megengine as mge
import megengine.distributed as dist
import megengine.functional as F
import megengine.module as M
import megengine.optimizer as optim
from megengine import _mge
from megengine.autodiff import GradManager
from megengine.autodiff.grad_manager import BackwardCallback

pytestmark = pytest.mark.usefixtures("no_process_group")


class Net(M.Module):
    def __init__(self, width=16, depth=4):
        super().__init__()
        self.layers = [M.Linear(width, width) for _ in range(depth)]
        self.last = M.Linear(width, 1)

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return self.last(x)


def made_net():
    mge.random.seed(7)
    return Net()


def data(rank, step, count=8):
    random = np.random.default_rng(100 * rank + step)
    return mge.Tensor(random.standard_normal((count, 16)).astype(np.float32))


def trained(callback, is_traced=False, steps=4, net=None):
    """The bytes of all parameters after some steps."""
    net = made_net() if net is None else net
    manager = GradManager().attach(net.parameters(), callbacks=[callback])
    optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9)

    def step(x):
        with manager:
            manager.backward((net(x) ** 2).mean())
        optimizer.step().clear_grad()

    if is_traced:
        step = mge.jit.trace(step, symbolic=is_traced == "symbolic")
    for i in range(steps):
        step(data(dist.get_rank(), i))
    return b"".join(p.numpy().tobytes() for p in net.parameters())


class AfterBackward:
    """Sums the gradients one by one when the backward pass is over, as the definition."""

    def __call__(self, param, grad):
        return dist.functional.all_reduce_sum(grad) / dist.get_world_size()


@pytest.mark.parametrize("count", [2, 3])
def test_neither_buckets_nor_overlap_nor_tracing_change_a_bit(count):
    def work():
        expected = trained(AfterBackward())
        for size in (1, 1000, 25 << 20):
            for is_traced in (False, True, "symbolic"):
                callback = dist.make_allreduce_cb("mean", bucket_bytes=size)
                assert trained(callback, is_traced) == expected, (size, is_traced)
        return expected

    assert len(set(in_processes(count, work))) == 1


def test_callbacks_are_called_in_the_order_of_gradients_while_backward_runs():
    calls = []

    class Callback(BackwardCallback):
        def before_backward(self, manager, ys):
            calls.append(("before", len(ys)))

        def __call__(self, tensor, grad):
            calls.append(tensor.name)
            return grad * 2

        def after_backward(self, manager):
            calls.append("after")
            return lambda: calls.append("finish")

    first, second, unused = (
        mge.Parameter([v], name=n) for v, n in ((2.0, "a"), (3.0, "b"), (1.0, "c"))
    )
    late = mge.Parameter([5.0], name="d")
    manager = GradManager()
    manager.attach([first, second, unused], callbacks=[Callback()])
    manager.attach(late, callbacks=lambda tensor, grad: calls.append("d") or grad)

    def rule(grad):  # called during the pass, between the gradients of b and a
        calls.append("rule")
        return grad

    class Rule(mge.autodiff.Function):
        def forward(self, x):
            return x

        def backward(self, grad):
            return rule(grad)

    with manager:
        y = Rule()(first * late)
        manager.backward((y * second).sum())
    assert calls == [("before", 1), "b", "rule", "a", "d", "after", "finish"]
    assert (first.grad.numpy(), second.grad.numpy(), late.grad.numpy()) == (30, 20, 6)
    assert unused.grad is None


def test_buckets_are_exchanged_while_backward_runs(monkeypatch):
    def work():
        events = []
        begin = _mge.ops.begin_reduction
        monkeypatch.setattr(
            _mge.ops, "begin_reduction", lambda *a, **k: events.append(len(a)) or begin(*a, **k)
        )

        class Rule(mge.autodiff.Function):
            def forward(self, x):
                return x

            def backward(self, grad):
                events.append("first layer")
                return grad

        net = made_net()
        callback = dist.make_allreduce_cb("sum", bucket_bytes=2000)
        manager = GradManager().attach(net.parameters(), callbacks=[callback])
        for _ in range(2):
            with manager:
                y = Rule()(F.relu(net.layers[0](data(0, 0))))
                for layer in net.layers[1:]:
                    y = F.relu(layer(y))
                manager.backward(net.last(y).sum())
        return events

    # A layer has 16 * 16 + 16 elements, so two of them fill a bucket.
    for events in in_processes(2, work):
        assert events == [6, "first layer", 4] * 2


@pytest.mark.parametrize("method", ["sum", "mean"])
@pytest.mark.parametrize("compress,bits", [("f16", 10), ("bf16", 7)])
def test_compressed_gradients_are_near(method, compress, bits):
    def work():
        values = np.random.default_rng(dist.get_rank()).standard_normal(1000).astype(np.float32)
        w = mge.Parameter(np.ones(1000, np.float32))
        callback = dist.make_allreduce_cb(method, compress=compress)
        manager = GradManager().attach(w, callbacks=[callback])
        with manager:
            manager.backward((w * mge.Tensor(values)).sum())
        assert w.grad.dtype == np.float32
        return w.grad.numpy(), values

    (sums, first), (same, second) = in_processes(2, work)
    np.testing.assert_array_equal(sums, same)
    expected = (first + second) / (2 if method == "mean" else 1)
    error = 2.0**-bits * (abs(first) + abs(second))
    assert (abs(sums - expected) <= error).all() and (sums != expected).any()


def test_a_compressed_mean_does_not_overflow():
    def work():
        w = mge.Parameter(np.ones(2, np.float32))
        manager = GradManager().attach(
            w, callbacks=[dist.make_allreduce_cb("mean", compress="f16")]
        )
        with manager:
            manager.backward((w * 60000.0).sum())
        return w.grad.numpy().tolist()

    assert in_processes(3, work) == [[60000.0] * 2] * 3


def test_unknown_compression_is_refused(monkeypatch):
    dist.init_process_group("localhost", 0, 1, 0, 0)
    with pytest.raises(AssertionError, match="None, 'f16' or 'bf16', got 'int8'"):
        dist.make_allreduce_cb("mean", compress="int8")
    with pytest.raises(AssertionError, match="bucket_bytes must be positive, got 0"):
        dist.make_allreduce_cb("mean", bucket_bytes=0)


def test_gradients_of_several_batches_are_exchanged_once():
    def work():
        net = made_net()
        exchanges = []
        begin = _mge.ops.begin_reduction
        _mge.ops.begin_reduction = lambda *a, **k: (
            exchanges.append(k["reduction"]) or begin(*a, **k)
        )
        manager = GradManager().attach(net.parameters(), callbacks=[dist.make_allreduce_cb("mean")])
        found = []
        for before in (False, True):
            for p in net.parameters():
                p.grad = mge.Tensor(np.full(p.shape, 0.5, np.float32)) if before else None
            for i in range(3):
                with manager:
                    loss = (net(data(dist.get_rank(), i)) ** 2).mean()
                    if i < 2:
                        with dist.no_sync():
                            manager.backward(loss)
                    else:
                        manager.backward(loss)
                assert len(exchanges) == found.__len__() + (i == 2)
            found.append([p.grad.numpy() for p in net.parameters()])
        return found

    results = in_processes(2, work)
    net = made_net()
    expected = []
    for rank in range(2):
        manager = GradManager().attach(net.parameters())
        for p in net.parameters():
            p.grad = None
        for i in range(3):
            with manager:
                manager.backward((net(data(rank, i)) ** 2).mean())
        expected.append([p.grad.numpy() for p in net.parameters()])
    for plain, added in results:
        for k, (a, b) in enumerate(zip(*expected, strict=True)):
            np.testing.assert_array_equal(plain[k], (a + b) / 2)
            np.testing.assert_array_equal(added[k], np.float32(0.5) + (a + b) / 2)


def test_an_accumulated_gradient_is_exchanged_though_the_last_batch_has_none():
    def work():
        a, b = mge.Parameter([2.0]), mge.Parameter([3.0])
        manager = GradManager().attach([a, b], callbacks=[dist.make_allreduce_cb("sum")])
        with dist.no_sync(), manager:
            manager.backward((a * (1.0 + dist.get_rank())).sum())
        with manager:
            manager.backward((b * 10).sum())
        return a.grad.numpy().tolist(), b.grad.numpy().tolist()

    assert in_processes(2, work) == [([3.0], [20.0])] * 2


@pytest.mark.parametrize("is_traced", [False, True])
def test_parameters_with_gradients_in_some_processes_only_are_named(is_traced):
    def work():
        net = made_net()
        callback = dist.make_allreduce_cb("mean", named_parameters=net.named_parameters())
        manager = GradManager().attach(net.parameters(), callbacks=[callback])

        def step(x):
            with manager:
                for layer in net.layers[: 3 + dist.get_rank()]:
                    x = F.relu(layer(x))
                manager.backward(net.last(x).sum())

        if is_traced:
            step = mge.jit.trace(step, symbolic=True)
        with pytest.raises(RuntimeError) as raised:
            step(data(0, 0))
        # The processes are still connected.
        return str(raised.value), float(dist.functional.all_reduce_sum(mge.Tensor(1.0)))

    for message, total in in_processes(2, work):
        assert "layers.3.weight in process 1, not in 0" in message and "layers.3.bias" in message
        assert "layers.2" not in message and total == 2


def test_a_process_without_any_gradient_is_named():
    def work():
        w = [mge.Parameter(np.ones(1000, np.float32)) for _ in range(3)]
        manager = GradManager().attach(
            w, callbacks=[dist.make_allreduce_cb("mean", bucket_bytes=1000)]
        )
        with pytest.raises(
            RuntimeError, match="no gradient at all in process 1, but gradients in others"
        ):
            with manager:
                if dist.get_rank() == 0:
                    manager.backward(sum((p * p).sum() for p in w))
                else:
                    manager.backward()
        with manager:  # none has gradients: nothing to exchange
            manager.backward()
        with manager:
            manager.backward(sum((p * p).sum() for p in w))
        return float(w[2].grad.numpy()[0])

    assert in_processes(2, work) == [2.0, 2.0]


def test_parameters_that_no_process_uses_are_named_once(caplog):
    def work():
        records = []
        handler = logging.Handler()
        handler.emit = lambda record: records.append(record.getMessage())
        mge.logger.get_logger().addHandler(handler)
        used, unused = mge.Parameter([1.0]), mge.Parameter([[2.0]], name="spare")
        manager = GradManager().attach([used, unused], callbacks=[dist.make_allreduce_cb("sum")])
        for _ in range(2):
            with manager:
                manager.backward((used * used).sum())
        assert unused.grad is None and used.grad.numpy().tolist() == [8.0]
        return [text for text in records if "gradient" in text]

    text = "no process has a gradient for 1 attached parameter: parameter 1 (spare, 1x1)"
    assert in_processes(2, work) == [[text]] * 2


def test_processes_with_different_parameters_raise():
    def work():
        w = [mge.Parameter(np.ones(3 + (i == 1 and dist.get_rank()), np.float32)) for i in range(2)]
        manager = GradManager().attach(w, callbacks=[dist.make_allreduce_cb("mean")])
        with pytest.raises(RuntimeError) as raised, manager:
            manager.backward(sum((p * p).sum() for p in w))
        return str(raised.value)

    for message in in_processes(2, work):
        assert "process 0 has 'parameter 1 (3) float32'" in message
        assert "process 1 has 'parameter 1 (4) float32'" in message


def test_the_order_of_the_first_process_counts():
    def work():
        w = [mge.Parameter(np.full(500, v, np.float32)) for v in (2.0, 3.0, 5.0)]
        manager = GradManager().attach(
            w, callbacks=[dist.make_allreduce_cb("sum", bucket_bytes=2000)]
        )
        for _ in range(2):
            with manager:
                a, b, c = w if dist.get_rank() == 0 else reversed(w)
                manager.backward(((a * b) * c).sum())
        return [float(p.grad.numpy()[0]) for p in w]

    assert in_processes(2, work) == [[60.0, 40.0, 24.0]] * 2


def test_other_exchanges_may_be_among_those_of_gradients():
    """The gradient of all_reduce_sum is an exchange while buckets are exchanged."""

    def work():
        w = [mge.Parameter(np.full((200, 200), 1.0, np.float32)) for _ in range(6)]
        manager = GradManager().attach(w, callbacks=[dist.make_allreduce_cb("sum", bucket_bytes=1)])
        for _ in range(5):
            for p in w:
                p.grad = None
            with manager:
                x = mge.Tensor(np.ones((200,), np.float32))
                for p in w:
                    x = dist.functional.all_reduce_sum(x * p.mean(0))
                manager.backward(x.sum())
        return float(w[0].grad.sum())

    first, second = in_processes(2, work)
    assert first == second == pytest.approx(2 * 2**6 * 200)


def test_gradients_of_gradients_are_exchanged_too():
    def work():
        w = mge.Parameter([3.0])
        outer = GradManager().attach(w)
        inner = GradManager().attach(w, callbacks=[dist.make_allreduce_cb("sum")])
        with outer:
            with inner:
                inner.backward((w * w * w * (1.0 + dist.get_rank())).sum())
            first, w.grad = w.grad, None
            outer.backward(first.sum())
        return float(first), float(w.grad)

    # 3 w² (1 + 2); the sum over processes of its gradient, of each result.
    assert in_processes(2, work) == [(81.0, 6 * 3 * 2.0), (81.0, 6 * 3 * 2 * 2.0)]


def test_an_exception_in_backward_does_not_stay():
    def work():
        net = made_net()
        manager = GradManager().attach(
            net.parameters(), callbacks=[dist.make_allreduce_cb("sum", bucket_bytes=1)]
        )
        fails = [True]

        class Rule(mge.autodiff.Function):
            def forward(self, x):
                return x

            def backward(self, grad):
                if fails[0]:
                    raise ValueError("out of luck")
                return grad

        def step():
            with manager:
                y = Rule()(F.relu(net.layers[0](data(0, 0))))
                manager.backward(net.last(y).sum())

        with pytest.raises(ValueError, match="out of luck"):
            step()
        fails[0] = False
        step()
        return net.last.bias.grad.numpy().tolist()

    assert in_processes(2, work) == [[16.0], [16.0]]


def test_the_gradients_of_a_group_are_those_of_its_processes():
    def work():
        rank = dist.get_rank()
        group = dist.new_group([0, 2]) if rank != 1 else dist.new_group([1])
        w = mge.Parameter([1.0])
        manager = GradManager().attach(w, callbacks=[dist.make_allreduce_cb("sum", group)])
        with manager:
            manager.backward(w * (1.0 + rank))
        return w.grad.numpy().tolist()

    assert in_processes(3, work) == [[4.0], [2.0], [4.0]]


def test_a_backward_pass_that_fails_in_one_process_fails_in_all():
    def work():
        net = made_net()
        fails = [dist.get_rank() == 1]

        def fail(param, grad):
            if fails[0] and param is net.layers[1].weight:
                raise ValueError("out of luck")
            return grad

        callbacks = [fail, dist.make_allreduce_cb("sum", bucket_bytes=1)]
        manager = GradManager().attach(net.parameters(), callbacks=callbacks)

        def step():
            with manager:
                manager.backward(net(data(0, 0)).sum())

        error, text = (
            (ValueError, "out of luck")
            if fails[0]
            else (RuntimeError, "the backward pass has failed in process 1")
        )
        with pytest.raises(error, match=text):
            step()
        fails[0] = False
        net.last.bias.grad = None
        step()
        return net.last.bias.grad.numpy().tolist()

    assert in_processes(2, work) == [[16.0], [16.0]]


def test_the_last_bucket_is_small():
    """The link is idle until the first bucket is complete, and the processor during the last."""

    def work():
        sizes = []
        begin = _mge.ops.begin_reduction

        def noted(*grads, **options):
            sizes.append(sum(grad.numpy().nbytes for grad in grads) >> 10)
            return begin(*grads, **options)

        _mge.ops.begin_reduction = noted
        w = [mge.Parameter(np.ones(64 << 10, np.float32)) for _ in range(10)]  # 256 KB
        callback = dist.make_allreduce_cb("sum", bucket_bytes=1 << 20)
        manager = GradManager().attach(w, callbacks=[callback])
        with manager:
            x = mge.Tensor(np.ones(64 << 10, np.float32))
            for p in w:
                x = x * p
            manager.backward(x.sum())
        return sizes

    assert in_processes(2, work) == [[1024, 1024, 256, 256]] * 2
