# SPDX-License-Identifier: Apache-2.0
"""Dumped models read back, and run on inputs of other shapes."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import _mge
from megengine.jit import trace

FUNCTIONS = {
    "reshape by shapes": lambda x: F.reshape(x, (x.shape[0], x.shape[1], 2, -1)),
    "whole shape": lambda x: F.broadcast_to(x[:, :1], x.shape),
    "slice up to a size": lambda x: x[:, : x.shape[1] // 2],
    "all axes": lambda x: F.sum(x) + F.mean(x),
    "split and stack": lambda x: F.flatten(F.stack(F.split(x, 2, axis=2), axis=2), 1, 2),
    "index arrays": lambda x: x[:, [0, -1]],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_comes_back_and_takes_other_shapes(name, tmp_path):
    function = FUNCTIONS[name]
    traced = trace(symbolic=True, capture_as_const=True)(function)
    traced(F.ones((2, 4, 6)))
    path = str(tmp_path / "model.mge")
    traced.dump(path, arg_names=["x"])
    model = _mge.load(path)
    for shape in ((2, 4, 6), (3, 8, 6)):
        x = mge.Tensor(np.random.RandomState(0).standard_normal(shape).astype(np.float32))
        (got,) = model.run([x])
        np.testing.assert_allclose(got.numpy(), function(x).numpy(), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "net, shape, other",
    [
        (lambda: M.Sequential(M.ConvBnRelu2d(3, 4, 3), M.AdaptiveAvgPool2d(2)), (1, 3, 8, 8), 2),
        (lambda: M.Sequential(M.Linear(5, 4), M.LayerNorm(4), M.GELU()), (2, 5), 7),
        (lambda: M.Sequential(M.ConvTranspose2d(3, 2, 2, stride=2), M.PReLU(2)), (1, 3, 4, 4), 3),
        (lambda: M.Sequential(M.Embedding(9, 4), M.Softmax(axis=-1)), None, None),
    ],
    ids=["convolution", "linear", "transposed", "embedding"],
)
def test_modules_come_back(net, shape, other, tmp_path):
    mge.random.seed(0)
    net = net()
    net.eval()
    if shape is None:
        inputs = [mge.Tensor([[1, 2], [3, 8]])]
    else:
        inputs = [mge.random.normal(size=s) for s in (shape, (other, *shape[1:]))]
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: net(x))
    traced(inputs[0])
    path = str(tmp_path / "model.mge")
    traced.dump(path, arg_names=["x"])
    model = _mge.load(path)
    for x in inputs:
        np.testing.assert_allclose(model.run([x])[0].numpy(), net(x).numpy(), rtol=1e-4, atol=1e-5)
