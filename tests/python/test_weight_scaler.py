# SPDX-License-Identifier: Apache-2.0
"""Weights scaled in training."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.experimental.weight_scaler import get_norm_mod_value, get_scaled_model


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.body = M.Sequential(M.Conv2d(3, 4, 3), M.ReLU(), M.Conv2d(4, 4, 3))
        self.norm = M.BatchNorm2d(4)
        self.head = M.Linear(4, 2)

    def forward(self, x):
        return self.head(self.norm(self.body(x)).mean((2, 3)))


IMAGE = mge.Tensor(np.random.default_rng(5).normal(size=(2, 3, 8, 8)).astype(np.float32))


def scaled(**how):
    mge.random.seed(7)
    net = Net()
    for parameter in net.parameters():
        parameter[...] = mge.random.normal(size=parameter.shape)
    return get_scaled_model(net, how, IMAGE.shape)


@pytest.mark.parametrize("norm", [1.0, 0.3, 100.0])
def test_scales_are_powers_of_two_below(norm):
    weight = mge.random.normal(size=(3, 5))
    scale = get_norm_mod_value(weight, norm).item()
    assert np.log2(scale) % 1 == 0
    assert norm / 2 < scale * np.linalg.norm(weight.numpy()) <= norm


def test_only_training_is_scaled():
    plain, net = scaled(), scaled(body=("NORM", 1.0), head=("CONST", 0.5))
    for each in (plain, net):
        each.eval()
    np.testing.assert_array_equal(net(IMAGE).numpy(), plain(IMAGE).numpy())
    first, last = net.body[0], net.body[2]
    assert first.bias_scale == first.weight_scale
    assert last.bias_scale == first.weight_scale * last.weight_scale
    net.train()
    x = F.conv2d(IMAGE, first.weight * first.weight_scale, first.bias * first.bias_scale)
    np.testing.assert_array_equal(first(IMAGE).numpy(), x.numpy())
    y = F.linear(mge.Tensor(np.ones((1, 4), np.float32)), net.head.weight / 2, net.head.bias / 2)
    np.testing.assert_array_equal(net.head(mge.Tensor(np.ones((1, 4), np.float32))).numpy(), y)


def test_normalisation_removes_scales():
    plain, net = scaled(), scaled(body=("CONST", 0.5))
    np.testing.assert_allclose(net(IMAGE).numpy(), plain(IMAGE).numpy(), rtol=1e-3, atol=1e-4)


def test_missing_names_are_reported():
    with pytest.raises(ValueError, match="input_shape"):
        get_scaled_model(Net(), {})
    with pytest.raises(ValueError, match="no modules tail"):
        get_scaled_model(Net(), {"tail": ("CONST", 1.0)}, (1, 3, 8, 8))
