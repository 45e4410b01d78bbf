# SPDX-License-Identifier: Apache-2.0
"""LSTM whose hidden state is a product of what its cells make (``proj_size``)."""

import pickle

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import trace

SIZE, HIDDEN, PROJECTED, STEPS, BATCH = 3, 5, 2, 4, 2


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def expected(net, x):
    """(N, T, C) by the formulas of Sak et al., 2014: h = r · (o tanh(c))."""
    flat, at, inputs = net._flatten_weights.numpy().ravel(), 0, x
    made, h_n, c_n = [], [], []
    for k in range(net.num_layers * net.num_directions):
        width = inputs.shape[-1]
        sizes = [(4 * HIDDEN, width), (4 * HIDDEN, PROJECTED), (4 * HIDDEN,), (4 * HIDDEN,)]
        parts = []
        for size in sizes:
            count = int(np.prod(size))
            parts.append(flat[at : at + count].reshape(size))
            at += count
        w, u, b, d = parts
        r = net._projections.numpy()[k]
        is_back = k % net.num_directions == 1
        h, c, outputs = np.zeros((BATCH, PROJECTED)), np.zeros((BATCH, HIDDEN)), []
        for t in range(STEPS)[:: -1 if is_back else 1]:
            i, f, g, o = np.split(inputs[t] @ w.T + b + h @ u.T + d, 4, axis=1)
            c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
            h = (sigmoid(o) * np.tanh(c)) @ r.T
            outputs.append(h)
        made.append(np.stack(outputs[:: -1 if is_back else 1]))
        h_n, c_n = [*h_n, h], [*c_n, c]
        if k % net.num_directions == net.num_directions - 1:
            inputs, made = np.concatenate(made, axis=2), []
    assert at == flat.size
    return inputs, np.stack(h_n), np.stack(c_n)


@pytest.mark.parametrize("layers, both", [(1, False), (2, True)])
def test_matches_the_formulas(layers, both):
    mge.random.seed(7)
    net = M.LSTM(SIZE, HIDDEN, num_layers=layers, bidirectional=both, proj_size=PROJECTED)
    x = np.random.default_rng(5).normal(size=(STEPS, BATCH, SIZE)).astype("float32")
    out, (h, c) = net(Tensor(x))
    for got, wanted in zip((out, h, c), expected(net, x), strict=True):
        np.testing.assert_allclose(got.numpy(), wanted, atol=1e-5)
    again = pickle.loads(pickle.dumps(net))
    np.testing.assert_array_equal(again(Tensor(x))[0].numpy(), out.numpy())
    with GradManager().attach(net.parameters()) as gm:
        gm.backward(F.sum(net(Tensor(x))[0]))
    assert net._projections.grad.numpy().all()


@pytest.mark.parametrize("options", [{}, {"bias": False}, {"batch_first": True}])
def test_given_states_and_traces_agree(options):
    net = M.LSTM(SIZE, HIDDEN, proj_size=PROJECTED, **options)
    x = Tensor(np.random.default_rng(6).normal(size=(STEPS, BATCH, SIZE)).astype("float32"))
    out, (h, c) = net(x)
    batch = STEPS if net.batch_first else BATCH
    assert h.shape == (1, batch, PROJECTED) and c.shape == (1, batch, HIDDEN)
    given = net(x, (F.zeros(h.shape), F.zeros(c.shape)))[0]
    np.testing.assert_array_equal(given.numpy(), out.numpy())
    traced = trace(lambda x: net(x)[0], symbolic=True, capture_as_const=True)
    for _ in range(2):
        np.testing.assert_allclose(traced(x).numpy(), out.numpy(), atol=1e-6)


def test_pickles_without_projections_compute_without_them():
    """MegEngine 1.13 takes the size and does nothing with it."""
    plain = M.LSTM(SIZE, HIDDEN)
    plain.proj_size = PROJECTED
    assert plain(F.ones((STEPS, BATCH, SIZE)))[0].shape == (STEPS, BATCH, HIDDEN)


def test_rnn_has_no_projection():
    with pytest.raises(ValueError, match="proj_size must be 0"):
        M.RNN(SIZE, HIDDEN, proj_size=PROJECTED)
