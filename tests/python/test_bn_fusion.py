# SPDX-License-Identifier: Apache-2.0
"""Normalisation folded into the module before it, and parts of modules by name."""

import numpy as np
import pytest

import megengine as mge
import megengine.module as M
from megengine.utils.bn_fusion import (
    fold_weight_bias,
    fuse_conv_bn_relu_module,
    fuse_linear_bn_relu_module,
)
from megengine.utils.module_utils import (
    get_expand_structure,
    set_expand_structure,
    set_module_mode_safe,
)

random = np.random.RandomState(0)


def filled(norm):
    for name in ("running_mean", "running_var", "weight", "bias"):
        values = getattr(norm, name)
        if values is not None:
            values[...] = mge.Tensor(random.rand(*values.shape).astype(np.float32) + 0.5)
    return norm


def evaluated(module):
    module.eval()
    return module


MODULES = {
    "conv": (lambda **k: M.Conv2d(4, 6, 3, padding=1, stride=2, **k), (2, 4, 8, 8)),
    "groups": (lambda **k: M.Conv2d(4, 6, 3, groups=2, **k), (2, 4, 8, 8)),
    "reflected": (
        lambda **k: M.Conv2d(4, 6, 3, padding=1, padding_mode="reflect", **k),
        (2, 4, 8, 8),
    ),
    "transposed": (lambda **k: M.ConvTranspose2d(4, 6, 3, stride=2, **k), (2, 4, 5, 5)),
    "transposed groups": (lambda **k: M.ConvTranspose2d(4, 6, 3, groups=2, **k), (2, 4, 5, 5)),
    "linear": (lambda **k: M.Linear(4, 6, **k), (5, 4)),
}
TRAINING = {
    "conv": ("ConvBn2d", "ConvBnRelu2d"),
    "transposed": ("ConvTransposeBn2d", "ConvTransposeBnRelu2d"),
    "linear": ("LinearBn1d", "LinearBnRelu1d"),
}
EVALUATION = {
    "conv": ("Conv2d", "ConvRelu2d"),
    "transposed": ("ConvTranspose2d", "ConvTransposeRelu2d"),
    "linear": ("Linear", "LinearRelu"),
}


@pytest.mark.parametrize("name", MODULES)
@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("affine", [True, False])
def test_folding_changes_no_result(name, bias, affine):
    make, shape = MODULES[name]
    is_linear = name == "linear"
    module = evaluated(make(bias=bias))
    kind, fuse = (
        (M.BatchNorm1d, fuse_linear_bn_relu_module)
        if is_linear
        else (M.BatchNorm2d, fuse_conv_bn_relu_module)
    )
    norm = evaluated(filled(kind(6, affine=affine)))
    x = mge.Tensor(random.randn(*shape).astype(np.float32))
    expected = norm(module(x)).numpy()
    for relu in (None, M.ReLU()):
        fused = fuse(module, norm, relu)
        if relu:
            expected = np.maximum(expected, 0)
        np.testing.assert_allclose(fused(x).numpy(), expected, atol=1e-5)
        family = next((k for k in EVALUATION if name.startswith(k)), "conv")
        assert type(fused).__name__ == EVALUATION[family][relu is not None]
        assert not fused.training


@pytest.mark.parametrize("name", TRAINING)
def test_in_training_the_normalisation_stays(name):
    make, shape = MODULES[name]
    module = make()
    kind, fuse = (
        (M.BatchNorm1d, fuse_linear_bn_relu_module)
        if name == "linear"
        else (M.BatchNorm2d, fuse_conv_bn_relu_module)
    )
    norm = filled(kind(6))
    x = mge.Tensor(random.randn(*shape).astype(np.float32))
    for relu in (None, M.ReLU()):
        fused = fuse(module, norm, relu)
        assert type(fused).__name__ == TRAINING[name][relu is not None] and fused.training
        assert fused.bn is not norm
        result = fused(x).numpy()
        expected = fused.bn(module(x)).numpy()
        np.testing.assert_allclose(result, np.maximum(expected, 0) if relu else expected, atol=1e-5)


def test_unfusable_operators():
    conv, norm = M.Conv2d(1, 2, 3), M.BatchNorm2d(2)
    assert type(fuse_conv_bn_relu_module(conv, None, M.ReLU())).__name__ == "ConvRelu2d"
    for arguments in (
        (conv, None, None),
        (conv, norm, M.Sigmoid()),
        (M.Conv3d(1, 2, 3), norm, None),
    ):
        with pytest.raises(KeyError):
            fuse_conv_bn_relu_module(*arguments)
    with pytest.raises(ValueError, match="same mode"):
        fuse_conv_bn_relu_module(evaluated(M.Conv2d(1, 2, 3)), norm, None)


def test_folding_as_a_formula():
    mean, var = mge.Tensor(np.full((1, 2, 1, 1), 0.5)), mge.Tensor(np.full((1, 2, 1, 1), 4.0))
    weight, bias = fold_weight_bias(mge.Tensor(np.ones((2, 1, 1, 1))), None, None, None, mean, var)
    np.testing.assert_allclose(weight.numpy(), 0.5, atol=1e-5)
    np.testing.assert_allclose(bias.numpy(), np.full((1, 2, 1, 1), -0.25), atol=1e-5)


def test_parts_by_name():
    net = M.Sequential(M.Linear(2, 3), M.ReLU())
    net.parts = [M.ReLU(), {"inner": (M.Identity(), M.Sigmoid())}]
    assert isinstance(get_expand_structure(net, "0"), M.Linear)
    assert isinstance(get_expand_structure(net, "parts.1.inner.1"), M.Sigmoid)
    assert get_expand_structure(net, "") is net
    for key in ("1", "parts.0", "parts.1.inner.0"):
        new = M.Identity()
        set_expand_structure(net, key, new)
        assert get_expand_structure(net, key) is new
    for key, error in (("x", AttributeError), ("parts.7", IndexError), ("parts.1.y", KeyError)):
        with pytest.raises(error):
            set_expand_structure(net, key, 1)


def test_mode_is_restored():
    net = M.Sequential(M.Linear(2, 3), M.Dropout(0.5))
    list(net.modules())[1].training = False
    before = [part.training for part in net.modules()]
    with pytest.raises(RuntimeError), set_module_mode_safe(net):
        assert not any(part.training for part in net.modules())
        raise RuntimeError
    assert [part.training for part in net.modules()] == before
