# SPDX-License-Identifier: Apache-2.0
"""Branches and loops as ONNX: `If`, `Loop` and `Scan`, run by another engine and read again."""

import pytest
from onnx_cases import (
    OPSETS,
    Case,
    X,
    arrays,
    assert_near,
    assert_reads_again,
    exported,
    extents,
    real,
    run,
)

import megengine as mge
import megengine.functional as F
from megengine import _mge


def counted_loop(x):
    start = (mge.Tensor(0), F.ones_like(x))
    return F.while_loop(lambda i, y: i < 5, lambda i, y: (i + 1, y * x + i), start)


def limited_loop(x):
    return F.while_loop(lambda y: y.min() > -100, lambda y: (y - 1,), (x,), max_iterations=3)


def accumulated(x, weights):
    def step(state, row):
        state = F.tanh(state * weights + row)
        return state, state.sum()

    return F.scan(step, F.zeros_like(weights), x)


def branch(x):
    return F.cond(x.sum() > 0, F.exp, lambda a: -a, x)


def branches_in_steps(x):
    def step(state, row):
        state = F.cond(row.sum() > 0, lambda a, b: a + b, lambda a, b: a - b, state, row)
        return state, row

    return F.scan(step, F.zeros((6,)), x)


def recurrent(x):
    def step(state, row):
        parts = F.reshape(row, (-1, 2, 3)) + F.expand_dims(state, 1)
        return F.tanh(F.sum(parts, 1)), F.concat([state, F.broadcast_to(F.mean(row), state.shape)])

    return F.scan(step, F.zeros_like(x[:, 0, :3]), F.transpose(x, (1, 0, 2)))


CONTROL = {
    "cond_first": Case(branch, abs(X)),
    "cond_second": Case(branch, -abs(X)),
    "while_loop": Case(counted_loop, real(6)),
    "while_loop_limited": Case(limited_loop, real(6)),
    "scan": Case(accumulated, real(4, 6), real(6)),
    "scan_reversed": Case(
        lambda x: F.scan(lambda s, row: (s + row, s * row), F.zeros((6,)), x, reverse=True),
        real(4, 6),
    ),
    "scan_of_a_batch": Case(recurrent, real(4, 5, 6)),
    "cond_in_scan": Case(branches_in_steps, real(4, 6)),
}


@pytest.mark.parametrize("opset", OPSETS)
@pytest.mark.parametrize("name", CONTROL)
def test_control_flow(name, opset, tmp_path):
    case = CONTROL[name]
    path = str(tmp_path / "control.onnx")
    outputs, model = exported(case.function, case.inputs, path, opset)
    assert extents(model.graph.input[0])[0] == "batch"
    assert_near(run(path, case.inputs), outputs)
    again = _mge.load(path)
    for batch in (1, 7):
        inputs = case.arguments(batch)
        expected = arrays(case.function(*[mge.Tensor(x) for x in inputs]))
        assert_near(run(path, inputs), expected)
        assert_near(arrays(again.run(inputs)), expected)


@pytest.mark.parametrize("name", CONTROL)
def test_written_and_read_again(name, tmp_path):
    assert_reads_again(CONTROL[name], str(tmp_path / "again.onnx"))
