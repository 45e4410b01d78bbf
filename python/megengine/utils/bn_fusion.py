# SPDX-License-Identifier: Apache-2.0
"""Batch normalisation joined with the convolution or linear map before it."""

import copy

import numpy as np

from ..module import (
    BatchNorm1d,
    BatchNorm2d,
    Conv2d,
    ConvBn2d,
    ConvBnRelu2d,
    ConvRelu2d,
    ConvTranspose2d,
    ConvTransposeBn2d,
    ConvTransposeBnRelu2d,
    ConvTransposeRelu2d,
    Linear,
    LinearBn1d,
    LinearBnRelu1d,
    LinearRelu,
    Module,
    ReLU,
)
from ..module.folding import fold_factor, fold_weight_bias  # noqa: F401
from ..tensor import Parameter

# With and without ReLU: the module alone, and with a normalisation inside.
_JOINED = {
    Conv2d: ((Conv2d, ConvRelu2d), (ConvBn2d, ConvBnRelu2d)),
    ConvTranspose2d: (
        (ConvTranspose2d, ConvTransposeRelu2d),
        (ConvTransposeBn2d, ConvTransposeBnRelu2d),
    ),
    Linear: ((Linear, LinearRelu), (LinearBn1d, LinearBnRelu1d)),
}
# Attribute of the inner layer in such a module.
_PART = {Conv2d: "conv", ConvTranspose2d: "conv_transpose2d", Linear: "linear"}
_CONVOLUTION = (
    "in_channels",
    "out_channels",
    "kernel_size",
    "stride",
    "padding",
    "dilation",
    "groups",
    "conv_mode",
    "compute_mode",
)
_LINEAR = ("in_features", "out_features", "compute_mode")
_NORM = ("eps", "momentum", "affine", "track_running_stats")


def _arguments(module: Module, norm: Module | None = None) -> dict:
    names = list(_LINEAR if isinstance(module, Linear) else _CONVOLUTION)
    if isinstance(module, Conv2d):
        names.append("padding_mode")
    if isinstance(module, ConvTranspose2d):
        names.append("output_padding")
    arguments = {name: getattr(module, name) for name in names}
    arguments["bias"] = module.bias is not None or norm is None
    if norm is not None:
        arguments.update((name, getattr(norm, name)) for name in _NORM)
    return arguments


def _kind_of(module: Module) -> type:
    for kind in _JOINED:
        if type(module) is kind:
            return kind
    raise KeyError(f"there is no fused form of a {type(module).__name__}")


def _fuse(module: Module, bn: Module | None, relu: Module | None) -> Module:
    kind = _kind_of(module)
    if bn is None and relu is None:
        raise KeyError(f"there is nothing to fuse {type(module).__name__} with")
    if relu is not None and not isinstance(relu, ReLU):
        raise KeyError(f"{type(module).__name__} is fused with ReLU, not with {relu!r}")
    alone, with_norm = (pair[relu is not None] for pair in _JOINED[kind])
    if bn is not None and bn.training != module.training:
        raise ValueError("the module and its batch normalisation are not in the same mode")
    if bn is None or not module.training:
        fused = _folded(alone, module, bn)
    else:
        fused = with_norm(**_arguments(module, bn), name=module.name)
        setattr(fused, _PART[kind], copy.deepcopy(module))
        fused.bn = copy.deepcopy(bn)
    fused.train(module.training)
    return fused


def _folded(kind: type, module: Module, bn: Module | None) -> Module:
    weight, bias = module.weight, module.bias
    if bn is not None:
        weight, bias = fold_weight_bias(
            weight,
            bias,
            bn.weight,
            bn.bias,
            bn.running_mean,
            bn.running_var,
            bn.eps,
            transpose=isinstance(module, ConvTranspose2d),
        )
    arguments = _arguments(module)
    arguments["bias"] = bias is not None
    fused = kind(**arguments, name=module.name)
    fused.weight = Parameter(weight.numpy(), device=module.weight.device)
    if bias is not None:
        shape = fused.bias.shape
        fused.bias = Parameter(np.reshape(bias.numpy(), shape), device=module.weight.device)
    return fused


def fuse_conv_bn_relu_module(
    conv: Conv2d | ConvTranspose2d, bn: BatchNorm2d | None, relu: ReLU | None
) -> Module:
    """Fuse a convolution with the layers after it into one module.

    Args:
        conv: ``Conv2d`` or ``ConvTranspose2d``.
        bn: the normalisation, in the same mode; None: no normalisation.
        relu: a ``ReLU``; None: no activation.
    Returns:
        In training mode ``ConvBn2d``, ``ConvBnRelu2d`` and the like, with copies of the two. In
        evaluation mode, and without a normalisation, ``Conv2d``, ``ConvRelu2d`` and the like, with
        the normalisation folded into weight and bias.
    Raises:
        KeyError: there is no such module, or there are no layers to fuse.
        ValueError: only one of the two is in training mode.
    Example:
        >>> from megengine.utils.bn_fusion import fuse_conv_bn_relu_module
        >>> fused = fuse_conv_bn_relu_module(M.Conv2d(1, 2, 3), M.BatchNorm2d(2), M.ReLU())
        >>> type(fused).__name__
        'ConvBnRelu2d'
    """
    return _fuse(conv, bn, relu)


def fuse_linear_bn_relu_module(linear: Linear, bn: BatchNorm1d | None, relu: ReLU | None) -> Module:
    """Fuse a linear map with the layers after it into one module.

    Args:
        linear: the map.
        bn: the normalisation, in the same mode; None: no normalisation.
        relu: a ``ReLU``; None: no activation.
    Returns:
        In training mode ``LinearBn1d`` or ``LinearBnRelu1d``, with copies of the two. In evaluation
        mode, and without a normalisation, ``Linear`` or ``LinearRelu``, with the normalisation
        folded into weight and bias.
    Raises:
        KeyError: there is no such module, or there are no layers to fuse.
        ValueError: only one of the two is in training mode.
    Example:
        >>> fuse_linear_bn_relu_module(M.Linear(2, 3), None, M.ReLU())
        LinearRelu(in_features=2, out_features=3, bias=True)
    """
    return _fuse(linear, bn, relu)
