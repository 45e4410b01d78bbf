# SPDX-License-Identifier: Apache-2.0
"""Dumped models read back, and run on inputs of other shapes."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import _mge
from megengine.jit import trace
from megengine.utils.network import Network

FUNCTIONS = {
    "reshape by shapes": lambda x: F.reshape(x, (x.shape[0], x.shape[1], 2, -1)),
    "whole shape": lambda x: F.broadcast_to(x[:, :1], x.shape),
    "slice up to a size": lambda x: x[:, : x.shape[1] // 2],
    "all axes": lambda x: F.sum(x) + F.mean(x),
    "split and stack": lambda x: F.flatten(F.stack(F.split(x, 2, axis=2), axis=2), 1, 2),
    "index arrays": lambda x: x[:, [0, -1]],
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_round_trips_and_accepts_other_shapes(name, tmp_path):
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
def test_modules_round_trip(net, shape, other, tmp_path):
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


def normalised():
    """Convolutions with batch norms in evaluation mode whose statistics are not trivial."""
    random = np.random.RandomState(1)
    net = M.Sequential(M.Conv2d(2, 3, 3), M.BatchNorm2d(3), M.ReLU(), M.BatchNorm2d(3))
    for name, tensor in net.named_tensors():
        values = random.random_sample(tensor.shape).astype(np.float32)
        tensor[...] = mge.Tensor(values + 0.5 if "running_var" in name else values - 0.5)
    net.eval()
    return net


@pytest.mark.parametrize(
    "options, count",
    [
        ({}, 1),
        ({"enable_fuse_conv_bias_nonlinearity": True}, 1),
        ({"optimize_for_inference": False}, 2),
        ({"no_change_graph": True}, 2),
        ({"training": True}, 2),
    ],
)
def test_batch_norms_go_into_weights(options, count, tmp_path):
    net, x = normalised(), mge.Tensor(np.random.RandomState(0).randn(2, 2, 6, 6).astype("float32"))
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: net(x))
    expected = traced(x).numpy()
    path = str(tmp_path / "model.mge")
    traced.dump(path, arg_names=["x"], input_data=["#rand(0,1,1,2,6,6)"], **options)
    model = _mge.load(path)
    assert model.operators.count("batch_norm") == count
    np.testing.assert_allclose(model.run([x])[0].numpy(), expected, rtol=1e-4, atol=1e-5)


def test_a_network_puts_batch_norms_into_weights_when_it_is_dumped(tmp_path):
    net, x = normalised(), mge.Tensor(np.random.RandomState(0).randn(2, 2, 6, 6).astype("float32"))
    traced = trace(symbolic=True, capture_as_const=True)(lambda x: net(x))
    expected = traced(x).numpy()
    paths = [str(tmp_path / name) for name in ("first.mge", "second.mge")]
    traced.dump(paths[0], no_change_graph=True)
    for optimise, count in ((False, 2), (True, 1)):
        Network.load(paths[0]).dump(paths[1], optimize_for_inference=optimise)
        model = _mge.load(paths[1])
        assert model.operators.count("batch_norm") == count
        np.testing.assert_allclose(model.run([x])[0].numpy(), expected, rtol=1e-4, atol=1e-5)
