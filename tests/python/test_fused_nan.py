# SPDX-License-Identifier: Apache-2.0
"""NaN and infinities before an activation: a traced or dumped net gives what it gives eagerly."""

import io

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.utils.comp_graph_tools import GraphInference

SPECIAL = [np.nan, np.inf, -np.inf]
ACTIVATIONS = {
    "relu": F.relu,
    "relu6": F.relu6,
    "hswish": F.hswish,
    "hsigmoid": F.hsigmoid,
    "hsigmoid by hand": lambda x: F.relu6(x + 3) / 6,
    "hswish by hand": lambda x: x * F.relu6(x + 3) / 6,
    "silu": F.silu,
    "gelu": F.gelu,
    "sigmoid": F.sigmoid,
    "tanh": F.tanh,
    "clip": lambda x: F.clip(x, 0, 6),
    "maximum": lambda x: F.maximum(x, 0),
    "minimum of maximum": lambda x: F.minimum(F.maximum(x, 0), 6),
    "softplus": F.softplus,
    "leaky relu": F.leaky_relu,
}
LAYERS = {
    "conv": (lambda: M.Conv2d(8, 16, 3, padding=1), (1, 8, 9, 9)),
    "conv 1x1": (lambda: M.Conv2d(8, 16, 1), (1, 8, 5, 5)),
    "depthwise": (lambda: M.Conv2d(16, 16, 3, padding=1, groups=16), (1, 16, 9, 9)),
    "small": (lambda: M.Conv2d(1, 6, 5, padding=2), (1, 1, 28, 28)),
    "linear": (lambda: M.Linear(8, 16), (5, 8)),
    "row": (lambda: M.Linear(8, 16), (1, 8)),
}


def results(function, x, level):
    """Returns the results of a function eagerly, traced twice, and of its dump."""
    traced = mge.jit.trace(symbolic=True, capture_as_const=True, opt_level=level)(function)
    recorded = traced(x), traced(x)
    file = io.BytesIO()
    traced.dump(file, arg_names=["x"])
    file.seek(0)
    (dumped,) = GraphInference(file).run(inp_dict={"x": x}).values()
    return function(x).numpy(), *(y.numpy() for y in recorded), dumped


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("level", [0, 2])
def test_traced_as_eager(layer, level):
    make, shape = LAYERS[layer]
    net = make()
    net.eval()
    # All that is special stays in its channel, whatever the algorithm.
    net.bias[...] = mge.Tensor(np.resize([*SPECIAL, 1, -1], net.bias.shape).astype(np.float32))
    x = mge.Tensor(np.random.default_rng(0).normal(size=shape).astype(np.float32))
    assert np.isnan(net(x).numpy()).any()
    for name, activation in ACTIVATIONS.items():
        expected, *others = results(lambda x, f=activation: f(net(x)), x, level)
        for y in others:
            np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.parametrize("place", [np.nan, np.inf, -np.inf])
def test_after_a_residual(place):
    first, second = M.Conv2d(4, 16, 1), M.Conv2d(4, 16, 3, padding=1)
    x = np.random.default_rng(0).normal(size=(1, 4, 6, 6)).astype(np.float32)
    x[0, 1, 2, 3] = place

    def block(x):
        return F.relu(first(x) + second(F.where(F.isinf(x) | F.isnan(x), F.zeros_like(x), x)))

    expected, *others = results(block, mge.Tensor(x), 2)
    for y in others:
        np.testing.assert_allclose(y, expected, rtol=1e-4, atol=1e-5)
