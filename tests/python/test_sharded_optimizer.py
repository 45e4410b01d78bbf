# SPDX-License-Identifier: Apache-2.0
"""Optimizers whose state is divided among processes."""

import numpy as np
import pytest
from process_groups import in_processes

import megengine as mge
import megengine.distributed as dist
import megengine.optimizer as optim

pytestmark = pytest.mark.usefixtures("no_process_group")

SHAPES = [(7, 11), (300,), (), (1, 64, 3), (1000, 20), (5,), (63, 63), (2, 2)]
CASES = {
    "sgd": (optim.SGD, {"lr": 0.1}),
    "momentum": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-2}),
    "nesterov": (optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    "adam": (optim.Adam, {"lr": 0.01, "weight_decay": 1e-2}),
    "adamw": (optim.AdamW, {"lr": 0.01, "weight_decay": 1e-2}),
    "adagrad": (optim.Adagrad, {"lr": 0.01, "lr_decay": 1e-2}),
    "adadelta": (optim.Adadelta, {"lr": 0.5}),
    "lamb": (optim.LAMB, {"lr": 0.01, "weight_decay": 1e-2}),
    "lamb_fp16": (optim.LAMBFp16, {"lr": 0.01, "weight_decay": 1e-2}),
}


def made_params(name, shapes=SHAPES):
    random = np.random.default_rng(5)
    dtype = "float16" if name == "lamb_fp16" else "float32"
    return [mge.Parameter(random.standard_normal(s).astype(dtype)) for s in shapes]


def run_steps(params, optimizer, steps=range(4), unused=(3,)):
    for step in steps:
        random = np.random.default_rng(step)
        for k, p in enumerate(params):
            value = random.standard_normal(p.shape).astype(p.dtype)
            p.grad = None if k in unused and step % 2 else mge.Tensor(value)
        optimizer.step().clear_grad()
    return [p.numpy() for p in params]


def groups_of(params):
    """Two groups, one with another learning rate."""
    return [{"params": params[:5]}, {"params": params[5:], "lr": 0.02}]


def assert_same_state(found, expected):
    assert found["param_groups"] == expected["param_groups"]
    assert found["state"].keys() == expected["state"].keys()
    for number, states in expected["state"].items():
        assert found["state"][number].keys() == states.keys()
        for name, value in states.items():
            np.testing.assert_array_equal(found["state"][number][name], value, err_msg=name)
            assert found["state"][number][name].shape == value.shape


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [1, 2, 3])
def test_each_sharded_optimizer_matches_bitwise(name, count):
    optimizer_class, options = CASES[name]

    def work():
        params = made_params(name)
        optimizer = dist.ShardedOptimizer(
            optimizer_class, groups_of(params), bucket_bytes=5000, **options
        )
        first = run_steps(params, optimizer, range(3))
        optimizer.param_groups[0]["lr"] = 0.05
        return first, run_steps(params, optimizer, range(3, 5)), optimizer.state_dict()

    params = made_params(name)
    optimizer = optimizer_class(groups_of(params), **options)
    expected = run_steps(params, optimizer, range(3))
    optimizer.param_groups[0]["lr"] = 0.05
    later = run_steps(params, optimizer, range(3, 5))
    for first, second, state in in_processes(count, work):
        for k in range(len(SHAPES)):
            np.testing.assert_array_equal(first[k], expected[k], err_msg=str(SHAPES[k]))
            np.testing.assert_array_equal(second[k], later[k], err_msg=str(SHAPES[k]))
        assert_same_state(state, optimizer.state_dict())


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("count", [2, 3, 4])
def test_each_process_has_its_share_of_the_state(name, count):
    optimizer_class, options = CASES[name]
    # The second has half of the elements: a whole one would be more than a share.
    shapes = [(100, 100), (500, 200), (300, 200), (33, 1000), (77,), (), (3, 3)]

    def work():
        optimizer = dist.ShardedOptimizer(optimizer_class, made_params(name, shapes), **options)
        return sum(part.value.numpy().nbytes for part in optimizer.state_parts())

    whole = optimizer_class(made_params(name, shapes), **options).state_dict()["state"]
    total = sum(value.nbytes for states in whole.values() for value in states.values())
    for found in in_processes(count, work):
        assert found <= 1.1 * total / count


@pytest.mark.parametrize("name", ["adam", "lamb", "lamb_fp16"])
@pytest.mark.parametrize("before,after", [(1, 2), (2, 3), (3, 1)])
def test_state_loads_into_another_number_of_processes(name, before, after):
    optimizer_class, options = CASES[name]

    def begin():
        params = made_params(name)
        optimizer = dist.ShardedOptimizer(optimizer_class, params, bucket_bytes=3000, **options)
        return run_steps(params, optimizer, range(2)), optimizer.state_dict()

    values, state = in_processes(before, begin)[0]

    def go_on():
        params = made_params(name)
        optimizer = dist.ShardedOptimizer(optimizer_class, params, **options)
        for p, value in zip(params, values, strict=True):
            p._reset(mge.Tensor(value))
        optimizer.load_state_dict(state)
        return run_steps(params, optimizer, range(2, 4))

    params = made_params(name)
    expected = run_steps(params, optimizer_class(params, **options))
    for found in in_processes(after, go_on):
        for k, value in enumerate(expected):
            np.testing.assert_array_equal(found[k], value)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize("name", ["adam", "lamb"])
def test_traced_steps_are_divided_too(name, symbolic):
    optimizer_class, options = CASES[name]

    def work():
        params = made_params(name)
        optimizer = dist.ShardedOptimizer(optimizer_class, params, **options)

        @mge.jit.trace(symbolic=symbolic)
        def step(*grads):
            for p, grad in zip(params, grads, strict=True):
                p.grad = grad
            optimizer.step().clear_grad()

        for i in range(4):
            random = np.random.default_rng(i)
            step(*[mge.Tensor(random.standard_normal(s).astype("float32")) for s in SHAPES])
        return [p.numpy() for p in params]

    params = made_params(name)
    expected = run_steps(params, optimizer_class(params, **options), unused=())
    for found in in_processes(2, work):
        for k, value in enumerate(expected):
            np.testing.assert_array_equal(found[k], value)


def test_optimizers_of_users_keep_whole_parameters():
    class Longest(optim.Adam):
        """Its step depends on the whole parameter."""

        def _updates(self, param_group):
            for param, states, lr in self._trained(param_group):
                states["exp_avg"]._reset(states["exp_avg"] + abs(param.grad).max())
                param._reset(param - lr * states["exp_avg"])

    def work():
        params = made_params("adam")
        return run_steps(params, dist.ShardedOptimizer(Longest, params, lr=0.1))

    params = made_params("adam")
    expected = run_steps(params, Longest(params, lr=0.1))
    for found in in_processes(2, work):
        for k, value in enumerate(expected):
            np.testing.assert_array_equal(found[k], value)


def test_schedulers_and_errors():
    dist.init_process_group("localhost", 0, 1, 0, 0)
    w = mge.Parameter([1.0])
    optimizer = dist.ShardedOptimizer(optim.SGD, [w], lr=1.0)
    scheduler = optim.MultiStepLR(optimizer, [1], gamma=0.1)
    scheduler.step()
    w.grad = mge.Tensor([1.0])
    optimizer.step()
    assert w.numpy() == np.float32(1) - np.float32(0.1)
    with pytest.raises(TypeError, match="must be a subclass of Optimizer, got 3"):
        dist.ShardedOptimizer(3, [w], lr=1.0)
    with pytest.raises(ValueError, match="Invalid learning rate"):
        dist.ShardedOptimizer(optim.Adam, [w], lr=-1.0)
    with pytest.raises(AssertionError, match="more than one parameter group"):
        optimizer.add_param_group({"params": [w]})
    optimizer.add_param_group({"params": [mge.Parameter([2.0])], "lr": 3.0})
    assert [g["lr"] for g in optimizer.param_groups] == [0.1, 3.0]
