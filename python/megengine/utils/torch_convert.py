# SPDX-License-Identifier: Apache-2.0
"""Conversion from PyTorch: modules that run there, layers that both have, and state dicts."""

from collections import OrderedDict
from collections.abc import Mapping

import numpy as np

from .. import module as M
from ..module import Module
from .torch_functions import average_mode
from .torch_graph import ADVICE, graph_module, tie
from .torch_layers import (
    Attention,
    CeilMaxPool,
    ChannelDropout,
    Encoder,
    EncoderLayer,
    Flatten,
    Function,
    OneAxis,
    PaddedEmbedding,
    recurrent,
)
from .torch_module import TorchModule

__all__ = ["TorchModule", "convert_module", "convert_state_dict"]


class _Refusal(Exception):
    pass


def _refuse_unless(condition: bool, what: str) -> None:
    if not condition:
        raise _Refusal(what)


def _symmetric_padding(layer) -> tuple[int, ...]:
    """The padding in numbers, where it was perhaps given as a word."""
    if not isinstance(layer.padding, str):
        return layer.padding
    is_same = layer.padding == "same"
    pairs = zip(layer.kernel_size, layer.dilation, strict=True)
    both = [is_same * dilation * (kernel - 1) for kernel, dilation in pairs]
    is_even = all(width % 2 == 0 for width in both)
    _refuse_unless(is_even, f"padding {layer.padding!r} that is wider on one side")
    return tuple(width // 2 for width in both)


def _conv(cls):
    def convert(layer):
        _refuse_unless(layer.padding_mode == "zeros", f"padding_mode {layer.padding_mode!r}")
        sizes = (layer.kernel_size, layer.stride, _symmetric_padding(layer), layer.dilation)
        sizes = [size[0] if cls is M.Conv1d else size for size in sizes]
        kernel, stride, padding, dilation = sizes
        channels = layer.in_channels, layer.out_channels
        has_bias = layer.bias is not None
        return cls(*channels, kernel, stride, padding, dilation, layer.groups, has_bias)

    return convert


def _conv_transpose(layer):
    channels = layer.in_channels, layer.out_channels
    window = layer.kernel_size, layer.stride, layer.padding, layer.output_padding, layer.dilation
    return M.ConvTranspose2d(*channels, *window, layer.groups, layer.bias is not None)


def _batch_norm(cls):
    def convert(layer):
        _refuse_unless(layer.momentum is not None, "a cumulative average (momentum None)")
        return cls(
            layer.num_features,
            eps=layer.eps,
            momentum=1 - layer.momentum,  # PyTorch's momentum is the weight of the new value
            affine=layer.affine,
            track_running_stats=layer.track_running_stats,
        )

    return convert


def _max_pool(layer):
    is_plain = layer.dilation in (1, (1, 1)) and not layer.return_indices
    _refuse_unless(is_plain, "dilation or return_indices")
    sizes = layer.kernel_size, layer.stride, layer.padding
    if not layer.ceil_mode:
        return M.MaxPool2d(*sizes)
    return CeilMaxPool(*((size, size) if isinstance(size, int) else size for size in sizes))


def _one(size) -> int:
    return size if isinstance(size, int) else size[0]


def _max_pool1d(layer):
    is_plain = _one(layer.dilation) == 1 and not layer.return_indices and not layer.ceil_mode
    _refuse_unless(is_plain, "ceil_mode, dilation or return_indices")
    kernel, stride, padding = map(_one, (layer.kernel_size, layer.stride, layer.padding))
    return OneAxis(M.MaxPool2d((1, kernel), (1, stride), (0, padding)))


def _avg_pool1d(layer):
    _refuse_unless(not layer.ceil_mode, "ceil_mode")
    kernel, stride, padding = map(_one, (layer.kernel_size, layer.stride, layer.padding))
    mode = average_mode(layer.count_include_pad)
    return OneAxis(M.AvgPool2d((1, kernel), (1, stride), (0, padding), mode=mode))


def _avg_pool(layer):
    _refuse_unless(not layer.ceil_mode and not layer.divisor_override, "ceil_mode or divisor")
    mode = average_mode(layer.count_include_pad)
    return M.AvgPool2d(layer.kernel_size, layer.stride, layer.padding, mode=mode)


def _embedding(layer):
    is_plain = layer.max_norm is None and not layer.sparse and not layer.scale_grad_by_freq
    _refuse_unless(is_plain, "max_norm, sparse gradients or scale_grad_by_freq")
    sizes = layer.num_embeddings, layer.embedding_dim
    if layer.padding_idx is None:
        return M.Embedding(*sizes)
    return PaddedEmbedding(layer.padding_idx, *sizes)


def _norm(cls, sizes):
    def convert(layer):
        arguments = [getattr(layer, size) for size in sizes]
        is_affine = layer.elementwise_affine if cls is M.LayerNorm else layer.affine
        _refuse_unless(not is_affine or layer.bias is not None, "bias=False")
        return cls(*arguments, eps=layer.eps, affine=is_affine)

    return convert


def _instance_norm(layer):
    _refuse_unless(not layer.track_running_stats, "track_running_stats")
    return M.InstanceNorm(layer.num_features, eps=layer.eps, affine=layer.affine)


def _padding(mode: str):
    return lambda layer: Function("pad", layer.padding, mode)


def _gelu(layer):
    _refuse_unless(layer.approximate == "none", f"approximate {layer.approximate!r}")
    return M.GELU()


def _along_dim(make):
    def convert(layer):
        _refuse_unless(layer.dim is not None, "no dim")
        return make(layer.dim)

    return convert


def _adaptive(cls, function: str):
    def convert(layer):
        _refuse_unless(not getattr(layer, "return_indices", False), "return_indices")
        is_one = layer.output_size in (1, (1, 1))
        return cls(1) if is_one else Function(function, layer.output_size)

    return convert


def _attention(layer):
    is_plain = layer._qkv_same_embed_dim and layer.bias_k is None and not layer.add_zero_attn
    _refuse_unless(is_plain, "kdim, vdim, add_bias_kv or add_zero_attn")
    has_bias = layer.in_proj_bias is not None
    sizes = layer.embed_dim, layer.num_heads
    return Attention(*sizes, layer.dropout, has_bias, layer.batch_first)


def _interpolation(layer):
    scale = layer.scale_factor
    return Function("interpolate", layer.size, scale, layer.mode, layer.align_corners)


# The layers that both have, by their class in torch.nn.
_LAYERS = {
    "AdaptiveAvgPool1d": lambda layer: OneAxis(
        Function("adaptive_avg_pool2d", (1, _one(layer.output_size)))
    ),
    "AdaptiveAvgPool2d": _adaptive(M.AdaptiveAvgPool2d, "adaptive_avg_pool2d"),
    "AdaptiveMaxPool2d": _adaptive(M.AdaptiveMaxPool2d, "adaptive_max_pool2d"),
    "AvgPool1d": _avg_pool1d,
    "AvgPool2d": _avg_pool,
    "BatchNorm1d": _batch_norm(M.BatchNorm1d),
    "BatchNorm2d": _batch_norm(M.BatchNorm2d),
    "Conv1d": _conv(M.Conv1d),
    "Conv2d": _conv(M.Conv2d),
    "Conv3d": _conv(M.Conv3d),
    "ConvTranspose2d": _conv_transpose,
    "Dropout": lambda layer: M.Dropout(layer.p),
    "Dropout1d": lambda layer: ChannelDropout(layer.p),
    "Dropout2d": lambda layer: ChannelDropout(layer.p),
    "Embedding": _embedding,
    "ELU": lambda layer: Function("elu", layer.alpha),
    "Flatten": lambda layer: Flatten(layer.start_dim, layer.end_dim),
    "GELU": _gelu,
    "GroupNorm": _norm(M.GroupNorm, ("num_groups", "num_channels")),
    "Hardsigmoid": lambda layer: Function("hardsigmoid"),
    "Hardswish": lambda layer: Function("hardswish"),
    "Hardtanh": lambda layer: Function("hardtanh", layer.min_val, layer.max_val),
    "Identity": lambda layer: M.Identity(),
    "InstanceNorm2d": _instance_norm,
    "LayerNorm": _norm(M.LayerNorm, ("normalized_shape",)),
    "LeakyReLU": lambda layer: M.LeakyReLU(layer.negative_slope),
    "Linear": lambda layer: M.Linear(
        layer.in_features, layer.out_features, bias=layer.bias is not None
    ),
    "LogSigmoid": lambda layer: Function("logsigmoid"),
    "LogSoftmax": _along_dim(lambda dim: Function("log_softmax", dim)),
    "MaxPool1d": _max_pool1d,
    "MaxPool2d": _max_pool,
    "Mish": lambda layer: Function("mish"),
    "MultiheadAttention": _attention,
    "PReLU": lambda layer: M.PReLU(layer.num_parameters),
    "PixelShuffle": lambda layer: M.PixelShuffle(layer.upscale_factor),
    "ReflectionPad2d": _padding("reflect"),
    "ReplicationPad2d": _padding("replicate"),
    "ReLU": lambda layer: M.ReLU(),
    "ReLU6": lambda layer: Function("relu6"),
    "SiLU": lambda layer: M.SiLU(),
    "Sigmoid": lambda layer: M.Sigmoid(),
    "Softmax": _along_dim(M.Softmax),
    "Softplus": lambda layer: Function("softplus", layer.beta, layer.threshold),
    "Tanh": lambda layer: Function("tanh"),
    "Upsample": _interpolation,
    "ZeroPad2d": _padding("constant"),
}


def _sequential(layer, path: str) -> Module:
    made: dict = {}  # a layer may be there twice
    for name, part in layer._modules.items():
        if part not in made:
            made[part] = _converted(part, f"{path}.{name}")
    return M.Sequential(OrderedDict((k, made[part]) for k, part in layer._modules.items()))


def _encoder_layer(layer, path: str) -> Module:
    activation = getattr(layer.activation, "__name__", type(layer.activation).__name__.lower())
    _refuse_unless(activation in ("relu", "gelu"), f"the activation {activation}")
    parts = {k: _converted(v, f"{path}.{k}") for k, v in layer.named_children()}
    parts.pop("activation", None)
    return EncoderLayer(parts, activation, layer.norm_first)


def _encoder(layer, path: str) -> Module:
    layers = [_converted(part, f"{path}.layers.{k}") for k, part in enumerate(layer.layers)]
    return Encoder(layers, layer.norm and _converted(layer.norm, f"{path}.norm"))


# The layers that are made with their parts and weights.
_COMPOSED = {
    "LSTM": lambda layer, path: recurrent(M.LSTM, layer, _arrays(layer)),
    "RNN": lambda layer, path: recurrent(
        M.RNN, layer, _arrays(layer), nonlinearity=layer.nonlinearity
    ),
    "Sequential": _sequential,
    "TransformerEncoder": _encoder,
    "TransformerEncoderLayer": _encoder_layer,
}


def _converted(layer, path: str) -> Module:
    name = type(layer).__name__
    if layer._forward_hooks or layer._forward_pre_hooks:
        raise NotImplementedError(
            f"[convert_module] {path} is a {name} with hooks of its forward, which would not run:"
            f" remove them (of weight_norm and spectral_norm, too); else {ADVICE}"
        )
    if not type(layer).__module__.startswith("torch.nn.modules."):
        return graph_module(layer, path, _converted, _array)
    try:
        if name in _COMPOSED:
            made = _COMPOSED[name](layer, path)
            made.train(layer.training, recursive=False)
            return made
        if name not in _LAYERS:
            raise NotImplementedError(
                f"[convert_module] {path} is a {name}, which has no counterpart here; {ADVICE}"
            )
        made = _LAYERS[name](layer)
    except _Refusal as refusal:
        raise NotImplementedError(
            f"[convert_module] {path} is a {name} with {refusal}, which has no counterpart here;"
            f" {ADVICE}"
        ) from None
    made.load_state_dict(convert_state_dict(layer.state_dict(), made))
    made.train(layer.training)
    return made


def convert_module(module) -> Module:
    """A Module of ours for a PyTorch module.

    A layer of ``torch.nn`` becomes the equivalent layer. The forward of a user's class is recorded
    by ``torch.fx``, in training and in evaluation mode, and the Module runs the same steps: layers,
    functions and methods of tensors. Its arguments are those without a default.

    Args:
        module: a ``torch.nn.Module``.
    Returns:
        Module with copies of its parameters and buffers under their names, in its mode; it can be
        trained, traced and dumped.
    Raises:
        TypeError: ``module`` has another type.
        NotImplementedError: a layer or a call has no counterpart, or the control flow depends on
            values. The message contains the path and a workaround.
    Example:
        >>> import torch  # doctest: +SKIP
        >>> convert_module(torch.nn.Linear(2, 3))  # doctest: +SKIP
        Linear(in_features=2, out_features=3, bias=True)
    """
    from torch import jit, nn  # an optional package

    if not isinstance(module, nn.Module):
        raise TypeError(f"[convert_module] module is a torch.nn.Module, got {module!r}")
    for name, part in module.named_modules():
        if isinstance(part, jit.ScriptModule):
            raise NotImplementedError(
                f"[convert_module] {'.'.join(filter(None, ('module', name)))} is a ScriptModule,"
                f" whose forward torch.fx cannot record; {ADVICE}"
            )
    made = _converted(module, "module")
    tie(made, module)
    return made


def _arrays(layer) -> dict[str, np.ndarray]:
    return {name: _array(value) for name, value in layer.state_dict().items()}


def _array(value) -> np.ndarray:
    if hasattr(value, "detach"):
        value = value.detach().cpu()
        value = (value.float() if str(value.dtype) == "torch.bfloat16" else value).numpy()
    return np.array(value)


def convert_state_dict(state_dict: Mapping, module: Module) -> OrderedDict:
    """A state dict of PyTorch as one for a Module with the same names.

    Shapes are those of the Module: weights of grouped convolutions have an axis for the groups,
    biases and statistics of images have the axes of an image. Counts of batches are omitted.

    Args:
        state_dict: tensors or arrays by name.
        module: the target Module.
    Returns:
        Arrays by name, for ``module.load_state_dict``.
    Raises:
        KeyError: names are missing, or the Module does not have them.
        ValueError: the number of elements differs.
    Example:
        >>> net = M.Conv2d(2, 4, 1, groups=2)
        >>> state = {"weight": np.ones((4, 1, 1, 1), "float32"), "bias": np.zeros(4, "float32")}
        >>> convert_state_dict(state, net)["weight"].shape
        (2, 2, 1, 1, 1)
    """
    given = {k: v for k, v in state_dict.items() if not k.endswith("num_batches_tracked")}
    wanted = module.state_dict(keep_var=True)
    if given.keys() != wanted.keys():
        missing, unknown = sorted(wanted.keys() - given), sorted(given.keys() - wanted)
        raise KeyError(f"[convert_state_dict] missing: {missing}; not in the Module: {unknown}")
    found = OrderedDict()
    for name, tensor in wanted.items():
        array = _array(given[name])
        if array.size != tensor.size:
            raise ValueError(
                f"[convert_state_dict] {name} has shape {array.shape}, the Module's"
                f" {tensor._tuple_shape}"
            )
        found[name] = array.reshape(tensor._tuple_shape).astype(tensor.dtype, copy=False)
    return found
