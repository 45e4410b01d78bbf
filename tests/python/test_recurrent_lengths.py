# SPDX-License-Identifier: Apache-2.0
"""Recurrent modules in traces and dumped models: sequences and batches of other lengths."""

import io

import numpy as np
import pytest

import megengine as mge
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.jit import trace
from megengine.utils.comp_graph_tools import GraphInference

MODULES = {
    "two layers": lambda: M.LSTM(3, 4, 2),
    "both directions": lambda: M.LSTM(3, 4, bidirectional=True, batch_first=True),
    "projection": lambda: M.LSTM(3, 4, proj_size=2),
    "without biases": lambda: M.LSTM(3, 4, bias=False),
    "tanh": lambda: M.RNN(3, 4),
    "relu": lambda: M.RNN(3, 4, 2, bidirectional=True, nonlinearity="relu"),
}
SHAPES = [(5, 2, 3), (6, 2, 3), (2, 5, 3), (1, 1, 3), (5, 2, 3)]


def sequences(shape):
    return np.random.default_rng(1).normal(size=shape).astype("float32")


def flat(results):
    output, state = results
    return [t.numpy() for t in (output, *(state if isinstance(state, tuple) else [state]))]


def assert_near(actual, expected):
    for a, e in zip(actual, expected, strict=True):
        assert a.shape == e.shape
        np.testing.assert_allclose(a, e, atol=1e-5)


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("symbolic", [True, False])
def test_a_trace_takes_sequences_of_all_lengths(name, symbolic):
    net = MODULES[name]()
    traced = trace(net, symbolic=symbolic)
    for shape in SHAPES:
        x = mge.Tensor(sequences(shape))
        assert_near(flat(traced(x)), flat(net(x)))


@pytest.mark.parametrize("name", MODULES)
def test_a_dumped_model_takes_sequences_of_all_lengths(name):
    net = MODULES[name]().eval()

    @trace(symbolic=True, capture_as_const=True)
    def run(x):
        return net(x)[0]

    run(mge.Tensor(sequences(SHAPES[0])))
    file = io.BytesIO()
    run.dump(file, silent=True)
    for shape in SHAPES:
        file.seek(0)
        x = sequences(shape)
        assert_near(GraphInference(file).run(x).values(), [net(mge.Tensor(x))[0].numpy()])


@pytest.mark.parametrize("name", ["both directions", "relu"])
def test_gradients_in_a_trace(name):
    net = MODULES[name]()
    gm = GradManager().attach(net.parameters())

    def step(x):
        with gm:
            loss = (net(x)[0] ** 2).mean()
            gm.backward(loss)
        return loss

    def gradients(function, x):
        function(x)
        found = [p.grad.numpy() for p in net.parameters() if p.grad is not None]
        for parameter in net.parameters():
            parameter.grad = None
        return found

    traced = trace(step, symbolic=True)
    for shape in ((5, 2, 3), (7, 3, 3)):
        x = mge.Tensor(sequences(shape))
        assert_near(gradients(traced, x), gradients(step, x))


def test_a_state_is_given_to_a_trace():
    net = M.LSTM(3, 4)
    hidden, cell = (mge.Tensor(sequences((1, 2, 4))) for _ in range(2))
    traced = trace(lambda x, h, c: net(x, (h, c)), symbolic=True)
    for shape in ((5, 2, 3), (3, 2, 3)):
        x = mge.Tensor(sequences(shape))
        assert_near(flat(traced(x, hidden, cell)), flat(net(x, (hidden, cell))))
