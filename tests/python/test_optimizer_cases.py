# SPDX-License-Identifier: Apache-2.0
"""Replays the recorded optimizers, schedulers, start values, clipping and random statistics."""

import re

import numpy as np
import pytest
from known_differences import (
    OPTIMIZER_TOLERANCE,
    OPTIMIZERS_BROKEN_IN_RECORDING,
    RANDOM_NOT_RECORDED,
)
from oracle import Reader, difference, error_difference

import megengine as mge
import megengine.module.init as init
import megengine.optimizer as O

READER = Reader("modules")


def rows(kind):
    found = [row for row in READER.rows if row["id"].startswith(kind + "/")]
    return [pytest.param(row, id=row["id"]) for row in found]


def check_state(got, want):
    """None, or what differs between a state dictionary and its description."""
    if isinstance(want, dict) and "n" in want:
        return difference(got, READER.array(want["n"]))
    if isinstance(want, dict):
        if sorted(map(str, got)) != sorted(want):
            return f"keys {sorted(map(str, got))} instead of {sorted(want)}"
        texts = [check_state(v, want[str(k)]) for k, v in got.items()]
        return next((t for t in texts if t), None)
    if isinstance(want, list):
        texts = [check_state(g, w) for g, w in zip(got, want, strict=True)]
        return next((t for t in texts if t), None)
    return None if got == want else f"{got!r} instead of {want!r}"


@pytest.mark.parametrize("row", rows("optimizer"))
def test_optimizer_steps_as_recorded(row):
    name = row["optimizer"].split("(")[0]
    parameters = [mge.Parameter(READER.tensor(ref)) for ref in row["start"]]
    scope = {"O": O, "p0": parameters[0], "p1": parameters[1]}
    if name in OPTIMIZERS_BROKEN_IN_RECORDING:
        assert "error" in row and eval(f"O.{row['optimizer']}", scope).step()
        return
    try:
        optimizer = eval(f"O.{row['optimizer']}", scope)
    except Exception as error:
        assert error_difference(error, row) is None
        return
    assert "error" not in row
    for grads, wanted in zip(row["grads"], row["steps"], strict=True):
        for parameter, ref in zip(parameters, grads, strict=True):
            parameter.grad = None if ref is None else READER.tensor(ref)
        assert optimizer.step() is optimizer
        for parameter, ref in zip(parameters, wanted, strict=True):
            factor = OPTIMIZER_TOLERANCE.get(row["id"], 1)
            assert difference(parameter.numpy(), READER.array(ref), factor=factor) is None
        assert READER.misplaced(parameters) is None
    assert optimizer.clear_grad() is None
    assert parameters[0].grad is None
    assert check_state(optimizer.state_dict(), row["state_dict"]) is None


@pytest.mark.parametrize("row", rows("scheduler"))
def test_scheduler_steps_as_recorded(row):
    optimizer = O.SGD([mge.Parameter([1.0])], lr=0.5)
    try:
        scheduler = eval(f"O.{row['scheduler']}", {"O": O, "opt": optimizer})
    except Exception as error:
        assert error_difference(error, row) is None
        return
    assert "error" not in row
    rates = [optimizer.param_groups[0]["lr"]]
    for _ in range(6):
        scheduler.step()
        rates.append(optimizer.param_groups[0]["lr"])
    assert rates == pytest.approx(row["lr"])
    assert scheduler.get_lr() == pytest.approx(row["get_lr"])
    scheduler.step(1)
    assert optimizer.param_groups[0]["lr"] == row["lr_after_step_1"]
    assert scheduler.state_dict() == row["state_dict"]
    assert optimizer.param_groups[0]["initial_lr"] == row["initial_lr"]


def run_init(call):
    kind, argument = re.fullmatch(r"(fan|correct_fan|gain)(?:/|(?=\())(.*)", call).groups()
    if kind == "gain":
        name, slope = argument.split("/")
        return init.calculate_gain(name, eval(slope))
    shape, _, mode = argument.partition("/")
    tensor = mge.Tensor(np.zeros(eval(shape), np.float32))
    if kind == "fan":
        return list(init.calculate_fan_in_and_fan_out(tensor))
    return init.calculate_correct_fan(tensor, mode)


def check_statistics(got, want):
    """Shape and dtype exactly, moments within what chance allows."""
    assert list(got.shape) == want["shape"]
    assert got.dtype.name == want["dtype"]
    if "std" not in want or got.size < 1000:
        return
    spread = want["std"]
    chance = 8 * spread / np.sqrt(got.size) + 1e-7
    assert abs(got.mean() - want["mean"]) <= chance
    assert abs(got.std() - spread) <= 0.03 * spread + 1e-7


@pytest.mark.parametrize("row", rows("init"))
def test_start_values_as_recorded(row):
    call = row["id"].removeprefix("init/")
    if not re.match(r"fan|correct_fan|gain", call):
        mge.random.seed(3)
        tensor = mge.Parameter(np.zeros((64, 32, 3, 3), np.float32))
        assert eval(f"init.{call}", {"init": init, "t": tensor}) is None
        check_statistics(tensor.numpy(), row["value"])
        return
    try:
        value = run_init(call)
    except Exception as error:
        assert error_difference(error, row) is None
        return
    assert "error" not in row
    assert value == pytest.approx(row["value"])


@pytest.mark.parametrize("row", rows("clip"))
def test_clipping_as_recorded(row):
    value = row["value"]
    parameters = [mge.Parameter(np.zeros_like(READER.array(ref))) for ref in value["before"]]
    for parameter, ref in zip(parameters, value["before"], strict=True):
        parameter.grad = mge.Tensor(READER.array(ref))
    call = row["id"].removeprefix("clip/")
    result = eval(f"O.{call}", {"O": O, "ps": parameters})
    for parameter, ref in zip(parameters, value["after"], strict=True):
        assert difference(parameter.grad.numpy(), READER.array(ref)) is None
    if value["returns"] == "None":
        assert result is None
    else:
        assert float(result) == pytest.approx(value["returns"])


@pytest.mark.parametrize("row", rows("random"))
def test_random_numbers_as_recorded(row):
    call = row["id"].removeprefix("random/")
    if call in ("seed", "dropout 0.3"):
        return  # tested in test_random.py
    mge.random.seed(11)
    if call.split("(")[0] in RANDOM_NOT_RECORDED:
        assert "error" in row and eval(f"mge.random.{call}", {"mge": mge}).size
        return
    try:
        got = eval(f"mge.random.{call}", {"mge": mge}).numpy()
    except Exception as error:
        assert error_difference(error, row) is None
        return
    assert "error" not in row
    check_statistics(got, row["value"])


@pytest.mark.parametrize(
    "make",
    [
        lambda groups: O.SGD(groups, 0.1, momentum=0.9),
        lambda groups: O.Adam(groups, 0.1),
        lambda groups: O.Adagrad(groups, 0.1),
        lambda groups: O.Adadelta(groups, 0.1),
        lambda groups: O.LAMBFp16(groups, 0.1),
    ],
)
def test_group_added_later_is_trained(make):
    def trained(is_late):
        first, second = mge.Parameter([1.0, 2.0]), mge.Parameter([3.0])
        groups = [{"params": [first]}, {"params": [second], "lr": 0.5}]
        optimizer = make(groups[:1] if is_late else groups)
        if is_late:
            optimizer.add_param_group(groups[1])
        for _ in range(3):
            for parameter in (first, second):
                parameter.grad = parameter * 2
            optimizer.step()
        return np.concatenate([first.numpy(), second.numpy()]), optimizer.state_dict()["state"]

    (values, state), (late_values, late_state) = trained(False), trained(True)
    np.testing.assert_array_equal(late_values, values)
    assert late_state.keys() == state.keys() == {0, 1}


def test_milestones_may_be_fractions_of_the_epochs():
    optimizer = O.SGD([mge.Parameter([1.0])], 1.0)
    schedule, rates = O.MultiStepLR(optimizer, [0.3 * 5, 0.8 * 5], gamma=0.5), []
    for _ in range(5):
        rates.append(optimizer.param_groups[0]["lr"])
        schedule.step()
    assert rates == [1, 1, 0.5, 0.5, 0.25]


def test_schedule_ignores_groups_added_later():
    optimizer = O.SGD([mge.Parameter([1.0])], 1.0)
    schedule = O.MultiStepLR(optimizer, [1], gamma=0.1)
    optimizer.add_param_group({"params": [mge.Parameter([1.0])], "lr": 0.5})
    schedule.step()
    assert [group["lr"] for group in optimizer.param_groups] == [0.1, 0.5]


@pytest.mark.parametrize(
    "lr", [1, True, np.int64(1), np.float64(1), mge.Tensor(1), mge.Tensor([1])]
)
@pytest.mark.parametrize("make", [O.SGD, O.Adam, O.Adagrad, O.LAMB])
def test_a_learning_rate_may_be_any_number(make, lr):
    def trained(rate):
        parameter = mge.Parameter([1.0, 2.0])
        parameter.grad = mge.Tensor([0.5, -1.0])
        make([parameter], lr=rate).step()
        return parameter.numpy()

    np.testing.assert_array_equal(trained(lr), trained(1.0))


def test_a_state_of_fewer_parameters_is_refused():
    def adam():
        return O.Adam([mge.Parameter([1.0]), mge.Parameter([2.0])], lr=0.1)

    state = adam().state_dict()
    del state["state"][1]
    with pytest.raises(KeyError, match=r"no state of the parameters \[1\]"):
        adam().load_state_dict(state)
    # SGD without momentum has no state that could be missing.
    sgd = O.SGD([mge.Parameter([1.0])], lr=0.1)
    sgd.load_state_dict(sgd.state_dict())


@pytest.mark.parametrize("damage", ["state", "options", "parameter"])
def test_a_state_that_does_not_fit_changes_nothing(damage):
    def adam():
        params = [mge.Parameter([float(k)]) for k in range(2)]
        return O.Adam([{"params": param} for param in params], lr=0.1)

    state = adam().state_dict()
    state["param_groups"][0]["lr"] = 0.5
    if damage == "state":
        del state["state"][1]
    elif damage == "options":
        del state["param_groups"][1]["eps"]
    else:
        state["state"][2] = state["state"][1]
    optimizer = adam()
    before = optimizer.state_dict()
    with pytest.raises((KeyError, ValueError)):
        optimizer.load_state_dict(state)
    assert optimizer.state_dict() == before
