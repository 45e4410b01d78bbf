# SPDX-License-Identifier: Apache-2.0
"""``distributed`` in several processes of this machine."""

import pickle
import subprocess
import sys

import numpy as np
import pytest
from process_groups import in_processes, mine

import megengine as mge
import megengine.distributed as dist
import megengine.functional as F
import megengine.module as M
import megengine.optimizer as optim
from megengine.autodiff import GradManager
from megengine.distributed import functional as collective

pytestmark = pytest.mark.usefixtures("no_process_group")


def test_processes_are_connected():
    def work():
        world, last = dist.WORLD, dist.get_world_size() - 1
        group = dist.new_group([last, dist.get_rank()]) if dist.get_rank() != last else None
        with pytest.raises(AssertionError, match="call it once"):
            dist.init_process_group("localhost", 1, 3, 0, 0)
        with pytest.raises(AssertionError, match="which is not among"):
            dist.new_group([(dist.get_rank() + 1) % 3])
        dist.group_barrier()
        assert pickle.loads(pickle.dumps(world)).size == 3
        assert pickle.loads(pickle.dumps(world)).proc_ranks == []
        return (
            dist.get_rank(),
            dist.get_world_size(),
            dist.get_local_device_id(),
            (world.rank, world.size, world.key, world.is_single_machine),
            group and (group.rank, group.key),
            dist.get_client().port == dist.get_py_server_addr()[1],
            str(mge.Tensor(1.0).device),
        )

    found = in_processes(3, work)
    for rank, answer in enumerate(found):
        group = None if rank == 2 else (1, f"2,{rank}")
        assert answer == (rank, 3, rank, (rank, 3, "0,1,2", True), group, True, f"cpu{rank}:0")


@pytest.mark.parametrize("count", [2, 3])
def test_collectives(count):
    def work():
        rank, x = dist.get_rank(), mine((count, 2))
        results = {
            name: getattr(collective, name)(x)
            for name in collective.__all__
            if not name.startswith("remote_")
        }
        wide = mine((2, count))
        results["gathered_along_1"] = collective.all_gather(wide, axis=1)
        results["gathered_for_first_along_1"] = collective.gather(wide, axis=1)
        results["scattered_along_1"] = collective.scatter(wide, axis=1)
        results["sum_scattered_along_1"] = collective.reduce_scatter_sum(wide, axis=1)
        results["all_to_all_1_0"] = collective.all_to_all(wide, split_axis=1, concat_axis=0)
        results["all_to_all_0_1"] = collective.all_to_all(x, split_axis=0, concat_axis=1)
        results["numbers"] = collective.all_gather(mge.Tensor(float(rank)))
        results["flags"] = collective.broadcast(mge.Tensor([rank == 0, False]))
        results["nothing"] = collective.all_reduce_sum(mge.Tensor(np.zeros((0, 3), np.float32)))
        return {name: None if y is None else y.numpy() for name, y in results.items()}

    found = in_processes(count, work)
    xs = [np.arange(2 * count, dtype=np.float32).reshape(count, 2) + 10 * r for r in range(count)]
    wide = [x.reshape(2, count) for x in xs]

    def pieces(arrays, rank, axis):
        return [np.split(a, count, axis)[rank] for a in arrays]

    for rank, got in enumerate(found):
        expected = {
            "reduce_sum": sum(xs) if rank == 0 else None,
            "broadcast": xs[0],
            "all_gather": np.concatenate(xs),
            "reduce_scatter_sum": sum(xs)[rank : rank + 1],
            "all_reduce_sum": sum(xs),
            "all_reduce_max": xs[-1],
            "all_reduce_min": xs[0],
            "gather": np.concatenate(xs) if rank == 0 else None,
            "scatter": xs[0][rank : rank + 1],
            "all_to_all": np.concatenate(pieces(xs, rank, 0)),
            "gathered_along_1": np.concatenate(wide, 1),
            "gathered_for_first_along_1": np.concatenate(wide, 1) if rank == 0 else None,
            "scattered_along_1": wide[0][:, rank : rank + 1],
            "sum_scattered_along_1": sum(wide)[:, rank : rank + 1],
            "all_to_all_1_0": np.concatenate(pieces(wide, rank, 1), 0),
            "all_to_all_0_1": np.concatenate(pieces(xs, rank, 0), 1),
            "numbers": np.arange(count, dtype=np.float32),
            "flags": np.array([True, False]),
            "nothing": np.zeros((0, 3), np.float32),
        }
        assert got.keys() == expected.keys()
        for name, value in expected.items():
            if value is None:
                assert got[name] is None, name
            else:
                np.testing.assert_array_equal(got[name], value, err_msg=name)


# The result of each process for its x, and the sum of these numbers over the processes: its
# gradients are computed by finite differences in one process.
def weights(rank, shape):
    return np.random.default_rng(rank).standard_normal(shape).astype(np.float32)


GRADIENTS = {
    "reduce_sum": lambda xs, w: (sum(xs) ** 2 * w[0][:2]).sum(),
    "broadcast": lambda xs, w: sum((xs[0] ** 2 * v[:2]).sum() for v in w),
    "all_gather": lambda xs, w: sum((np.concatenate(xs) ** 2 * v).sum() for v in w),
    "reduce_scatter_sum": lambda xs, w: sum(
        (sum(xs)[r] ** 2 * v[0]).sum() for r, v in enumerate(w)
    ),
    "all_reduce_sum": lambda xs, w: sum((sum(xs) ** 2 * v[:2]).sum() for v in w),
    "all_reduce_max": lambda xs, w: sum((np.max(xs, 0) ** 2 * v[:2]).sum() for v in w),
    "all_reduce_min": lambda xs, w: sum((np.min(xs, 0) ** 2 * v[:2]).sum() for v in w),
    "gather": lambda xs, w: (np.concatenate(xs) ** 2 * w[0]).sum(),
    "scatter": lambda xs, w: sum((xs[0][r] ** 2 * v[0]).sum() for r, v in enumerate(w)),
    "all_to_all": lambda xs, w: sum(
        (np.stack([x[r] for x in xs]) ** 2 * v[:2]).sum() for r, v in enumerate(w)
    ),
}


@pytest.mark.parametrize("is_traced", [False, True])
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_go_to_where_the_values_came_from(name, is_traced):
    def work():
        rank = dist.get_rank()
        x = mge.Parameter(weights(10 + rank, (2, 3)))
        manager = GradManager().attach(x)

        def step():
            with manager:
                y = getattr(collective, name)(x)
                loss = None
                if y is not None:
                    w = mge.Tensor(weights(rank, (4, 3))[: y.shape[0]])
                    loss = (y * y * w).sum()
                manager.backward(loss)
            return x.grad

        if is_traced:
            step = mge.jit.trace(step)
        for _ in range(3 if is_traced else 1):
            x.grad = None
            step()
        return None if x.grad is None else x.grad.numpy()

    xs = [weights(10 + r, (2, 3)).astype(np.float64) for r in range(2)]
    ws = [weights(r, (4, 3)).astype(np.float64) for r in range(2)]
    for rank, got in enumerate(in_processes(2, work)):
        got = np.zeros((2, 3)) if got is None else got
        for place in np.ndindex(2, 3):
            near = []
            for step in (1e-5, -1e-5):
                changed = [x.copy() for x in xs]
                changed[rank][place] += step
                near.append(GRADIENTS[name](changed, ws))
            slope = (near[0] - near[1]) / 2e-5
            np.testing.assert_allclose(got[place], slope, rtol=1e-4, atol=1e-4)


def test_values_and_gradients_travel_through_a_pipeline():
    def work():
        if dist.get_rank() == 0:
            x = mge.Parameter([1.0, 2.0])
            manager = GradManager().attach(x)
            with manager:
                collective.remote_send(x * 3, 1)
                manager.backward()
            collective.remote_send(mge.Tensor(np.array([7], np.int32)), 1)
            return x.grad.numpy().tolist()
        w = mge.Parameter(5.0)
        manager = GradManager().attach(w)
        with manager:
            y = collective.remote_recv(0)
            manager.backward((y * y * w).sum())
        number = collective.remote_recv(0)
        return y.numpy().tolist(), float(w.grad.numpy()), number.numpy().tolist(), str(number.dtype)

    first, second = in_processes(2, work)
    assert first == [2 * 3 * 5 * 3 * x for x in (1, 2)]
    assert second == ([3, 6], 45, [7], "int32")


def test_gradients_of_the_low_level_interface_travel_too():
    from megengine.core.autodiff.grad import Grad

    def work():
        found = {}
        with Grad() as grad:
            if dist.get_rank() == 0:
                x = mge.Tensor([1.0, 2.0])
                grad.wrt(x, callback=lambda dx: found.update(dx=dx.numpy().tolist()))
                collective.remote_send(x, 1)
                y = collective.remote_recv(1)
                grad([y * y], [mge.Tensor([1.0, 1.0])])
            else:
                collective.remote_send(collective.remote_recv(0), 0)
                grad([], [])
        return found

    assert in_processes(2, work) == [{"dx": [2.0, 4.0]}, {}]


def test_samplers_share_the_samples_of_a_data_set():
    from megengine.data import DataLoader, RandomSampler, SequentialSampler
    from megengine.data.dataset import ArrayDataset

    def work():
        data = ArrayDataset(np.arange(9, dtype=np.int32))
        samplers = (SequentialSampler(data, 2), RandomSampler(data, 2))
        return [
            [int(x) for (batch,) in DataLoader(data, sampler=s, num_workers=1) for x in batch]
            for s in samplers
        ]

    (in_order_0, random_0), (in_order_1, random_1) = in_processes(2, work)
    assert in_order_0 == [0, 2, 4, 6, 8] and in_order_1 == [1, 3, 5, 7, 0]
    assert set(random_0) | set(random_1) == set(range(9)) and random_0 != in_order_0


class Net(M.Module):
    """Two layers, with a batch normalisation over the processes between them."""

    def __init__(self, norm):
        super().__init__()
        self.conv = M.Conv2d(1, 4, 3)
        self.norm = norm(4)
        self.out = M.Linear(4, 3)

    def forward(self, x):
        return self.out(F.relu(self.norm(self.conv(x))).mean((2, 3)))


def train(net, images, labels, callbacks, is_traced):
    """Twenty steps; the losses and all values of the net."""
    manager = GradManager().attach(net.parameters(), callbacks=callbacks)
    optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

    def step(x, y):
        with manager:
            loss = F.nn.cross_entropy(net(x), y)
            manager.backward(loss)
        optimizer.step().clear_grad()
        return loss

    if is_traced:
        step = mge.jit.trace(step, symbolic=True)
    losses = [float(step(mge.Tensor(images), mge.Tensor(labels)).numpy()) for _ in range(20)]
    return losses, {name: value.copy() for name, value in net.state_dict().items()}


@pytest.mark.parametrize("is_traced", [False, True])
def test_two_processes_train_as_one_does(is_traced):
    random = np.random.default_rng(1)
    images = random.standard_normal((8, 1, 6, 6)).astype(np.float32)
    labels = random.integers(0, 3, 8).astype(np.int32)
    mge.random.seed(3)
    state = Net(M.SyncBatchNorm).state_dict()

    def work():
        net = Net(M.SyncBatchNorm)  # with different values in each process
        if dist.get_rank() == 0:
            net.load_state_dict(state)
        dist.bcast_list_(net.tensors())
        part = slice(4 * dist.get_rank(), 4 * dist.get_rank() + 4)
        callbacks = [dist.make_allreduce_cb("mean")]
        return train(net, images[part], labels[part], callbacks, is_traced)

    (losses_0, values_0), (losses_1, values_1) = in_processes(2, work)
    net = Net(M.BatchNorm2d)
    net.load_state_dict(state)
    losses, values = train(net, images, labels, None, False)
    np.testing.assert_allclose((np.array(losses_0) + losses_1) / 2, losses, rtol=1e-5)
    for name, value in values.items():
        np.testing.assert_array_equal(values_0[name], values_1[name], err_msg=name)
        np.testing.assert_allclose(values_0[name], value, rtol=1e-4, atol=1e-5, err_msg=name)


def test_large_gradients_go_in_several_packs():
    def work():
        parameters = [mge.Parameter(np.full(n, 1.0, np.float32)) for n in (3 << 20, 5, 7, 1 << 20)]
        callback = dist.make_allreduce_cb("sum")
        manager = GradManager().attach(parameters, callbacks=[callback])
        with manager:
            scale = 1.0 + dist.get_rank()
            manager.backward(sum((p * scale).sum() for p in parameters))
        return [(float(p.grad.min()), float(p.grad.max())) for p in parameters]

    assert in_processes(2, work) == [[(3.0, 3.0)] * 4] * 2


def test_observers_look_at_all_processes():
    from megengine.quantization import SyncExponentialMovingAverageObserver, SyncMinMaxObserver

    def work():
        found = []
        for observer in (SyncMinMaxObserver(), SyncExponentialMovingAverageObserver()):
            observer(mine((3,)))
            found.append((float(observer.min_val), float(observer.max_val)))
        return found

    assert in_processes(2, work) == [[(0.0, 12.0)] * 2] * 2


def test_processes_in_different_functions_raise():
    def work():
        function = collective.all_reduce_sum if dist.get_rank() else collective.all_reduce_max
        with pytest.raises(RuntimeError, match="is at another exchange: 'all_reduce_"):
            function(mine())
        with pytest.raises(RuntimeError, match="has failed before"):
            collective.all_reduce_sum(mine())
        return True

    assert in_processes(2, work) == [True, True]


def test_waiting_for_an_ended_process_raises():
    def work():
        if dist.get_rank() == 0:
            with pytest.raises(RuntimeError, match="process 1 is gone"):
                collective.all_reduce_sum(mine())
            return True

    assert in_processes(2, work) == [True, None]


def test_invalid_axes_are_refused_by_all():
    def work():
        x = mine((3, 2))
        for axis in (2, -3):
            for name in ("all_gather", "gather", "scatter", "reduce_scatter_sum"):
                with pytest.raises(AssertionError, match=f"there is no axis {axis} of"):
                    getattr(collective, name)(x, axis=axis)
            with pytest.raises(AssertionError, match=f"there is no axis {axis} of"):
                collective.all_to_all(x, split_axis=axis)
        for name in ("scatter", "reduce_scatter_sum", "all_to_all"):
            with pytest.raises(AssertionError, match="axis 0 has 3 elements"):
                getattr(collective, name)(x)
        return collective.scatter(x, axis=-1).numpy().tolist()

    assert in_processes(2, work) == [[[0], [2], [4]], [[1], [3], [5]]]


def test_half_precision_travels():
    from megengine.core.tensor.dtype import bfloat16, is_bfloat16

    def work():
        found = collective.broadcast(mine((2,)).astype(bfloat16))
        parts = collective.scatter(mine((2,)).astype("float16"))
        return is_bfloat16(found.dtype), found.astype("float32").numpy().tolist(), str(parts.dtype)

    assert in_processes(2, work) == [(True, [0, 1], "float16")] * 2


def test_server_is_reusable_by_later_groups():
    code = """
import sys
import time
import megengine as mge
import megengine.distributed as dist
from megengine import _mge
rank, port = int(sys.argv[1]), int(sys.argv[2])
if rank == 0:  # the other one asks before this one has said where it is
    open_engine = _mge.open_engine
    _mge.open_engine = lambda *place: time.sleep(1) or open_engine(*place)
dist.init_process_group("localhost", port, 2, rank, 0, device_type="cpu")
print(float(dist.functional.all_reduce_sum(mge.Tensor(1.0))))
print(float(dist.functional.broadcast(mge.Tensor(3.0))), flush=True)
if sys.argv[3] == "waits":
    dist.get_client().user_get("go")
if sys.argv[3] == "frees":  # the others leave while this meeting's process 1 waits for process 0
    if rank == 0:
        dist.get_client().user_set("go", 1)
        dist.get_client().user_get("gone")
    print(float(dist.functional.broadcast(mge.Tensor(4.0))))
if rank == 0 and sys.argv[3] == "leaves":  # what it gives is not for those of the next meeting
    dist.functional._tell(dist.WORLD, lambda: {"shape": [7], "dtype": "int32", "recordings": []})
"""
    server = dist.Server()
    port = server.py_server_port

    def start(end):
        command = [sys.executable, "-c", code]
        return [
            subprocess.Popen([*command, str(rank), str(port), end], stdout=-1) for rank in (1, 0)
        ]

    for end in ("leaves", "ends"):
        texts = [process.communicate(timeout=120)[0] for process in start(end)]
        assert texts == [b"2.0\n3.0\n"] * 2
    earlier = start("waits")
    assert [process.stdout.read(8) for process in earlier] == [b"2.0\n3.0\n"] * 2
    later = start("frees")
    for process in earlier:
        process.communicate(timeout=120)
    dist.Client("localhost", port).user_set("gone", 1)
    texts = [process.communicate(timeout=120)[0] for process in later]
    assert texts == [b"2.0\n3.0\n4.0\n"] * 2


@pytest.mark.parametrize("name", ["broadcast", "scatter", "remote_recv"])
def test_waiting_for_values_of_an_ended_process_raises(name):
    def work():
        if dist.get_rank() == 0:
            return True
        with pytest.raises(RuntimeError, match="process 0 is gone"):
            collective.remote_recv(0) if name == "remote_recv" else getattr(collective, name)(
                mine()
            )
        return True

    assert in_processes(2, work) == [True, True]


def test_failed_backward_exchanges_no_gradients():
    def work():
        parameters = [mge.Parameter([1.0]), mge.Parameter([2.0, 3.0])]
        calls = []

        def fail_once(param, grad):
            calls.append(param)
            if len(calls) == 1 + dist.get_rank():  # later in the second process
                raise ValueError("of a callback")
            return grad

        callbacks = [dist.make_allreduce_cb("sum"), fail_once]
        manager = GradManager().attach(parameters, callbacks=callbacks)

        def step():
            with manager:
                manager.backward(sum((p * 2).sum() for p in parameters))

        with pytest.raises(ValueError, match="of a callback"):
            step()
        step()
        return [p.grad.numpy().tolist() for p in parameters]

    assert in_processes(2, work) == [[[4], [4, 4]]] * 2


def test_steps_of_quantised_tensors_travel():
    from megengine.core.tensor.dtype import get_scale, get_zero_point, qint8, quint8

    def steps(x):
        return None if x is None else x.numpy().astype(np.int32).tolist()

    def work():
        rank = dist.get_rank()
        x = mge.Tensor(np.array([1, 2 + 10 * rank], np.uint8), dtype=quint8(0.5, 100 + rank))
        received = collective.broadcast(x)
        assert (get_scale(received.dtype), get_zero_point(received.dtype)) == (0.5, 100)
        y = mge.Tensor(np.array([rank, -3], np.int8), dtype=qint8(0.25))
        names = ("all_gather", "all_reduce_max", "all_to_all", "gather", "scatter")
        found = {name: getattr(collective, name)(y) for name in names}
        assert all(z is None or get_scale(z.dtype) == 0.25 for z in found.values())
        if rank == 0:
            collective.remote_send(y, 1)
        else:
            assert get_scale(collective.remote_recv(0).dtype) == 0.25
        parameter = mge.Tensor(np.array([rank], np.int8), dtype=qint8(1.0 + rank))
        dist.bcast_list_([parameter])
        assert get_scale(parameter.dtype) == 1 and steps(parameter) == [0]
        for name in ("all_reduce_sum", "reduce_sum", "reduce_scatter_sum"):
            with pytest.raises(RuntimeError, match=f"{name}. has no meaning for Tensors of Quant"):
                getattr(collective, name)(y)
        return steps(received), {name: steps(z) for name, z in found.items()}

    both = {"all_gather": [0, -3, 1, -3], "all_reduce_max": [1, -3]}
    assert in_processes(2, work) == [
        ([1, 2], {**both, "all_to_all": [0, 1], "gather": [0, -3, 1, -3], "scatter": [0]}),
        ([1, 2], {**both, "all_to_all": [-3, -3], "gather": None, "scatter": [-3]}),
    ]


def test_exchanges_by_the_names_of_the_operator():
    from megengine.core.ops.builtin import CollectiveComm

    def work():
        x, found = mine((2, 3)), {}
        for mode in CollectiveComm.Mode:
            if mode != "ALL_REDUCE_PROD":
                result = collective.collective_comm(x, mode).numpy()
                expected = getattr(collective, mode.lower())(x)
                expected = np.zeros(0) if expected is None else expected.numpy()
                found[mode.name] = np.array_equal(result, expected)
        with pytest.raises(RuntimeError, match="all_reduce_prod"):
            collective.collective_comm(x, "ALL_REDUCE_PROD", dist.WORLD)
        return found

    first, second = in_processes(2, work)
    assert first == second and all(first.values()) and len(first) == 10
