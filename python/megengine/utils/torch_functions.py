# SPDX-License-Identifier: Apache-2.0
"""Functions and methods of PyTorch, on Tensors: the parameters have PyTorch's names."""

import math
import operator
from collections.abc import Callable

import numpy as np

from .. import functional as F
from ..tensor import Tensor


def _plain(sizes: tuple):
    """Sizes given one by one or as one sequence, which is a Tensor in a traced function."""
    if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)):
        return tuple(sizes[0])
    is_shape = len(sizes) == 1 and isinstance(sizes[0], Tensor) and sizes[0].ndim == 1
    return sizes[0] if is_shape else sizes


def _getattr(x, name: str):
    if name in ("T", "data"):
        return F.transpose(x, (1, 0)) if name == "T" else x.detach()
    return getattr(x, name)


def _reshape(x, *shape):
    return F.reshape(x, _plain(shape))


def _permute(x, *dims):
    axes = [dim % x.ndim for dim in _plain(dims)]
    return F.transpose(x, axes)


def _expand(x, *sizes):
    sizes = _plain(sizes)
    lead = len(sizes) - x.ndim
    sizes = [x.shape[k - lead] if size == -1 else size for k, size in enumerate(sizes)]
    return F.broadcast_to(x, tuple(sizes))


def _squeeze(x, dim=None):
    if dim is None:
        return F.squeeze(x)
    dims = [dim] if isinstance(dim, int) else dim
    ones = [d for d in dims if x.shape[d] == 1]
    return F.squeeze(x, ones) if ones else x


def _cat(tensors, dim=0):
    return F.concat(list(tensors), axis=dim)


def _split(x, split_size_or_sections, dim=0):
    # The places are constants of a traced function.
    if isinstance(split_size_or_sections, (tuple, list)):
        places = np.cumsum([int(size) for size in split_size_or_sections[:-1]]).tolist()
    else:
        size = int(split_size_or_sections)
        places = list(range(size, x._tuple_shape[dim], size))
    return F.split(x, places, axis=dim) if places else [x]


def _flip(x, *dims):
    axes = {dim % x.ndim for dim in _plain(dims)}
    return x[tuple(slice(None, None, -1 if k in axes else 1) for k in range(x.ndim))]


def _reduced(reduce: Callable) -> Callable:
    def call(x, dim=None, keepdim=False):
        axes = list(dim) if isinstance(dim, (tuple, list)) else dim
        return reduce(x, axis=axes, keepdims=keepdim) if dim is not None else reduce(x)

    return call


def _extreme(pick: Callable, find: Callable, both: Callable) -> Callable:
    """``max`` and ``min``: of everything, of each row with its place, or of two tensors."""

    def call(x, dim=None, keepdim=False, *, other=None):
        other = dim if isinstance(dim, Tensor) else other
        if other is not None:
            return both(x, other)
        if dim is None:
            return pick(x)
        return tuple(reduce(x, axis=dim, keepdims=keepdim) for reduce in (pick, find))

    return call


def _norm(x, p=2, dim=None, keepdim=False):
    p = 2 if p in ("fro", None) else p
    return F.norm(x if dim is not None else F.flatten(x), p, dim, keepdim)


def _unbind(x, dim=0):
    return tuple(F.squeeze(part, dim) for part in F.split(x, x._tuple_shape[dim], axis=dim))


def _index(find: Callable) -> Callable:
    def call(x, dim=None, keepdim=False):
        return find(x) if dim is None else find(x, axis=dim, keepdims=keepdim)

    return call


def _round(x):
    """Halves go to the even number."""
    nearest = F.round(x)
    return F.where(F.abs(x - F.floor(x)) == 0.5, 2 * F.round(x / 2), nearest)


def _remainder(x, other):
    """Remainder with the sign of the divisor, as in Python."""
    rest = x % other
    if not isinstance(rest, Tensor):
        return rest
    return F.where(rest * other < 0, rest + other, rest)


def _stochastic_depth(x, p, mode, training=True):
    """Drop single rows, or everything, as torchvision.ops does."""
    return drop_whole(x, p, int(mode == "row")) if training else x


def drop_whole(x: Tensor, p: float, axes: int) -> Tensor:
    """Drop all that shares its place on the first axes with a chance of p, and scale the rest."""
    if not p:
        return x
    kept = tuple(x.shape[k] for k in range(axes))
    return x * F.dropout(F.ones(kept + (1,) * (x.ndim - axes)), p)


def _activation(function: Callable) -> Callable:
    return lambda x, inplace=False: function(x)


def _softplus(x, beta=1.0, threshold=20.0):
    return F.where(x * beta > threshold, x, F.softplus(x * beta) / beta)


def _layer_norm(x, normalized_shape, weight=None, bias=None, eps=1e-5):
    return F.layer_norm(x, normalized_shape, weight is not None, weight, bias, eps)


def _max_pool2d(x, kernel_size, stride=None, padding=0):
    return F.max_pool2d(x, kernel_size, stride, padding)


def _avg_pool2d(x, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True):
    if ceil_mode:
        raise NotImplementedError("[avg_pool2d] ceil_mode has no counterpart here")
    return F.avg_pool2d(x, kernel_size, stride, padding, average_mode(count_include_pad))


def average_mode(count_include_pad: bool) -> str:
    """The mode of average pooling."""
    return "average" if count_include_pad else "average_count_exclude_padding"


def _adaptive(pool: Callable, reduce: Callable) -> Callable:
    """Pooling to a size. Windows overlap where they do not divide the image, unlike MegEngine's."""

    def call(x, output_size):
        have = x._tuple_shape[-2:]
        given = (output_size, output_size) if isinstance(output_size, int) else output_size
        wanted = [h if size is None else size for h, size in zip(have, given, strict=True)]
        if have[0] % wanted[0] == 0 and have[1] % wanted[1] == 0:
            return pool(x, wanted)
        for axis, (size, count) in enumerate(zip(have, wanted, strict=True), start=x.ndim - 2):
            edges = [(k * size // count, -(-(k + 1) * size // count)) for k in range(count)]
            before = (slice(None),) * axis
            parts = [reduce(x[(*before, slice(*e))], axis=axis, keepdims=True) for e in edges]
            x = F.concat(parts, axis=axis)
        return x

    return call


def _interpolate(x, size=None, scale_factor=None, mode="nearest", align_corners=None):
    if isinstance(size, int):
        size = (size,) * (x.ndim - 2)
    if scale_factor is not None:
        is_one = isinstance(scale_factor, (int, float))
        factors = (scale_factor,) * (x.ndim - 2) if is_one else scale_factor
        if any(h * f % 1 for h, f in zip(x._tuple_shape[2:], factors, strict=True)):
            raise NotImplementedError(
                f"[interpolate] scale_factor {scale_factor} makes no whole number of pixels of"
                f" {x._tuple_shape[2:]}, which has no counterpart here; give size"
            )
    if mode not in ("nearest", "bicubic"):
        align_corners = bool(align_corners)
    return F.vision.interpolate(x, size, scale_factor, mode, align_corners)


def _pad(x, pad, mode="constant", value=None):
    pairs = [tuple(pad[k : k + 2]) for k in range(0, len(pad), 2)]  # pairs of the axes, last axis
    # first
    widths = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    return F.pad(x, widths, mode, value or 0)


def _normalize(x, p=2.0, dim=1, eps=1e-12):
    return x / F.maximum(F.norm(x, ord=p, axis=dim, keepdims=True), eps)


def _where(condition, x, y):
    x, y = (v if isinstance(v, Tensor) else Tensor(v, dtype=np.float32) for v in (x, y))
    return F.where(condition, x, y)


def _masked_fill(x, mask, value):
    shape = np.broadcast_shapes(tuple(x._tuple_shape), tuple(mask._tuple_shape))
    return F.where(F.broadcast_to(mask, shape), F.full_like(x, value), x)


def _attend(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
    scale = 1 / math.sqrt(query._tuple_shape[-1]) if scale is None else scale
    scores = F.matmul(query * scale, key, transpose_b=True)
    if is_causal:
        attn_mask = Tensor(np.tri(scores.shape[-2], scores.shape[-1], dtype=bool))
    if attn_mask is not None:
        scores = with_mask(scores, attn_mask, False)
    weights = weights_of(scores)
    return F.matmul(F.dropout(weights, dropout_p) if dropout_p else weights, value)


def weights_of(scores: Tensor) -> Tensor:
    """Softmax along the last axis; zeros where a mask hides every key, as in PyTorch."""
    is_fully_masked = F.max(scores, -1, keepdims=True) == -np.inf
    weights = F.softmax(F.where(is_fully_masked, F.zeros_like(scores), scores), axis=-1)
    return F.where(is_fully_masked, F.zeros_like(weights), weights)


def with_mask(scores: Tensor, mask: Tensor, blocked: bool) -> Tensor:
    """Scores of attention with a mask: floats are added, bools equal to ``blocked`` hide."""
    if mask.dtype != np.bool_:
        return scores + mask
    mask = mask if blocked else F.logical_not(mask)
    return scores + F.where(
        mask, F.full(mask.shape, -np.inf, dtype="float32"), F.zeros(mask.shape, dtype="float32")
    )


def _to(x, *others, dtype=None, **_):
    """Change only the dtype: devices are those of the input Tensors."""
    for other in (*others, dtype):
        if isinstance(other, (Tensor, np.dtype, type)) or other in DTYPES.values():
            x = x.astype(other)
    return x


def _arange(start, end=None, step=1, dtype=None, device=None):
    start, end = (0, start) if end is None else (start, end)
    is_whole = all(not isinstance(number, float) for number in (start, end, step))
    return F.arange(start, end, step, dtype=dtype or ("int32" if is_whole else "float32"))


def _filled(value: float) -> Callable:
    def call(*size, dtype=None, device=None):
        return F.full(_plain(size), value, dtype=dtype or "float32")

    return call


def _detached(value):
    """The result of a step, without gradients for the Tensors in it."""
    if isinstance(value, (tuple, list)):
        return type(value)(map(_detached, value))
    return value.detach() if isinstance(value, Tensor) else value


def _cast(dtype: str) -> Callable:
    return lambda x: x.astype(dtype)


# Dtypes of Tensors by those of PyTorch.
DTYPES = {
    **{name: name for name in "float16 float32 bfloat16 int8 int16 int32 uint8 bool".split()},
    "float64": "float32",
    "int64": "int32",
}
_ACTIVATIONS = {
    "gelu": F.gelu,
    "hardsigmoid": F.hsigmoid,
    "hardswish": F.hswish,
    "logsigmoid": F.logsigmoid,
    "relu": F.relu,
    "relu6": F.relu6,
    "sigmoid": F.sigmoid,
    "silu": F.silu,
    "tanh": F.tanh,
}
_OPERATORS = (
    "add floordiv ge getitem gt le lt mul neg pow sub truediv eq ne and_ or_ invert abs"
).split()
# By the name of the function or method in PyTorch or in ``operator``.
FUNCTIONS: dict[str, Callable] = {
    **{name: getattr(operator, name) for name in _OPERATORS},
    **{name: _activation(function) for name, function in _ACTIVATIONS.items()},
    **{name: getattr(F, name) for name in "ceil cos erf exp floor log log1p sin sqrt".split()},
    "adaptive_avg_pool2d": _adaptive(F.adaptive_avg_pool2d, F.mean),
    "adaptive_max_pool2d": _adaptive(F.adaptive_max_pool2d, F.max),
    "amax": _reduced(F.max),
    "amin": _reduced(F.min),
    "arange": _arange,
    "argmax": _index(F.argmax),
    "argmin": _index(F.argmin),
    "avg_pool2d": _avg_pool2d,
    "bmm": F.matmul,
    "cat": _cat,
    "chunk": lambda x, chunks, dim=0: _split(x, -(-x._tuple_shape[dim] // chunks), dim),
    "clamp": lambda x, min=None, max=None: F.clip(x, min, max),
    "clone": F.copy,
    "concat": _cat,
    "contiguous": lambda x, *_, **__: x,
    "cumsum": lambda x, dim: F.cumsum(x, dim),
    "detach": lambda x: x.detach(),
    "detached": _detached,  # not PyTorch's
    "dim": lambda x: x.ndim,
    "div": operator.truediv,
    "dropout": lambda x, p=0.5, training=True, inplace=False: F.dropout(x, p, training=training),
    "einsum": lambda equation, *operands: F.einsum(equation, *_plain(operands)),
    "elu": lambda x, alpha=1.0, inplace=False: F.where(x > 0, x, alpha * F.expm1(F.minimum(x, 0))),
    "expand": _expand,
    "expand_as": lambda x, other: F.broadcast_to(x, other.shape),
    "flatten": lambda x, start_dim=0, end_dim=-1: F.flatten(x, start_dim, end_dim),
    "flip": _flip,
    "float": _cast("float32"),
    "fmod": operator.mod,
    "getattr": _getattr,
    "hardtanh": lambda x, min_val=-1.0, max_val=1.0, inplace=False: F.clip(x, min_val, max_val),
    "int": lambda x: x.astype("int32") if isinstance(x, Tensor) else int(x),
    "interpolate": _interpolate,
    "layer_norm": _layer_norm,
    "leaky_relu": lambda x, negative_slope=0.01, inplace=False: F.leaky_relu(x, negative_slope),
    "linear": lambda x, weight, bias=None: F.linear(x, weight, bias),
    "log_softmax": lambda x, dim: F.logsoftmax(x, axis=dim),
    "masked_fill": _masked_fill,
    "matmul": F.matmul,
    "max": _extreme(F.max, F.argmax, F.maximum),
    "max_pool2d": _max_pool2d,
    "maximum": F.maximum,
    "mean": _reduced(F.mean),
    "min": _extreme(F.min, F.argmin, F.minimum),
    "minimum": F.minimum,
    "mish": lambda x, inplace=False: x * F.tanh(F.softplus(x)),
    "mm": F.matmul,
    "mod": _remainder,
    "norm": _norm,
    "normalize": _normalize,
    "ones": _filled(1),
    "pad": _pad,
    "permute": _permute,
    "pixel_shuffle": F.pixel_shuffle,
    "prod": _reduced(F.prod),
    "remainder": _remainder,
    "repeat": lambda x, *sizes: F.tile(x, _plain(sizes)),
    "reshape": _reshape,
    "round": _round,
    "rsqrt": lambda x: 1 / F.sqrt(x),
    "scaled_dot_product_attention": _attend,
    "size": lambda x, dim=None: x.shape if dim is None else x.shape[dim],
    "softmax": lambda x, dim: F.softmax(x, axis=dim),
    "softplus": _softplus,
    "split": _split,
    "square": F.square,
    "squeeze": _squeeze,
    "stack": lambda tensors, dim=0: F.stack(list(tensors), axis=dim),
    "stochastic_depth": _stochastic_depth,
    "sum": _reduced(F.sum),
    "t": lambda x: F.transpose(x, (1, 0)),
    "to": _to,
    "transpose": lambda x, dim0, dim1: F.swapaxes(x, dim0, dim1),
    "tuple": lambda *values: values,
    "type_as": lambda x, other: x.astype(other),
    "unbind": _unbind,
    "unsqueeze": lambda x, dim: F.expand_dims(x, dim if dim >= 0 else dim + x.ndim + 1),
    "view": _reshape,
    "where": _where,
    "zeros": _filled(0),
}
