# SPDX-License-Identifier: Apache-2.0
"""Functions for networks: linear maps, convolutions, pooling, normalisation, activations."""

from collections.abc import Sequence

import numpy as np

from .. import _mge
from ..core.counted import counted
from ..core.operands import as_list, has_shape
from ..core.tensor.dtype import is_integer
from ..core.tensor.extents import extents, reshaped_with
from ..core.tensor.shape_arguments import as_int, as_places, normal_axis
from ..tensor import Tensor
from .activation import (  # noqa: F401
    gelu,
    hsigmoid,
    hswish,
    leaky_relu,
    logsigmoid,
    logsoftmax,
    logsumexp,
    prelu,
    relu,
    relu6,
    sigmoid,
    silu,
    softmax,
    softplus,
)
from .attention import multi_head_attention  # noqa: F401
from .color import cvt_color  # noqa: F401
from .convolution import (  # noqa: F401
    conv1d,
    conv2d,
    conv_transpose2d,
    sliding_window,
    sliding_window_transpose,
)
from .creation import as_tensor
from .detection import deformable_psroi_pooling, nms, roi_align, roi_pooling  # noqa: F401
from .dropout import dropout
from .loss import (  # noqa: F401
    binary_cross_entropy,
    cross_entropy,
    ctc_loss,
    hinge_loss,
    l1_loss,
    square_loss,
)
from .math import _check_mode
from .metric import topk_accuracy  # noqa: F401
from .normalization import (  # noqa: F401
    batch_norm,
    general_norm,
    group_norm,
    instance_norm,
    layer_norm,
    local_response_norm,
    sync_batch_norm,
)
from .pooling import (  # noqa: F401
    adaptive_avg_pool2d,
    adaptive_max_pool2d,
    avg_pool2d,
    max_pool2d,
)
from .quantized import batch_conv_bias_activation, conv_bias_activation  # noqa: F401
from .vision import flip, interpolate, rot90  # noqa: F401
from .volume_convolution import conv3d, conv_transpose3d
from .warping import remap, warp_affine, warp_perspective  # noqa: F401
from .window_convolution import (
    correlation,  # noqa: F401
    deformable_conv2d,
    local_conv2d,
    region_restricted_conv,
)

__all__ = [
    "adaptive_avg_pool2d",
    "adaptive_max_pool2d",
    "avg_pool2d",
    "batch_norm",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose2d",
    "conv_transpose3d",
    "deformable_conv2d",
    "deformable_psroi_pooling",
    "dropout",
    "embedding",
    "gelu",
    "general_norm",
    "group_norm",
    "hsigmoid",
    "hswish",
    "indexing_one_hot",
    "instance_norm",
    "layer_norm",
    "leaky_relu",
    "linear",
    "local_conv2d",
    "local_response_norm",
    "logsigmoid",
    "logsoftmax",
    "logsumexp",
    "max_pool2d",
    "multi_head_attention",
    "one_hot",
    "pad",
    "pixel_shuffle",
    "prelu",
    "region_restricted_conv",
    "relu",
    "relu6",
    "remap",
    "sigmoid",
    "silu",
    "sliding_window",
    "sliding_window_transpose",
    "softmax",
    "softplus",
    "sync_batch_norm",
    "warp_affine",
    "warp_perspective",
]


def linear(
    inp: Tensor, weight: Tensor, bias: Tensor | None = None, compute_mode: str = "default"
) -> Tensor:
    """inp @ weight.T + bias.

    Args:
        inp: (..., IN).
        weight: (OUT, IN).
        bias: (OUT,), or another shape that broadcasts to the result, or None.
        compute_mode: ``"default"`` or ``"float32"``; float16 is always summed in float32.
    Returns:
        (..., OUT).
    Raises:
        RuntimeError: the shapes do not fit.
    Example:
        >>> F.linear(Tensor([[1.0, 2.0]]), Tensor([[3.0, 4.0]]))
        Tensor([[11.]], device=xpux:0)
    """
    _check_mode(compute_mode, "linear")
    if bias is None or has_shape(bias, lambda: weight._tuple_shape[-2:-1]):
        return _mge.ops.matmul(inp, weight, bias, transpose_b=True)
    return _mge.ops.add(_mge.ops.matmul(inp, weight, transpose_b=True), bias)


def one_hot(inp: Tensor, num_classes: int) -> Tensor:
    """Vectors with a single one.

    Args:
        inp: any shape, integer: where the one is, in [0, num_classes).
        num_classes: length of the vectors.
    Returns:
        Tensor of the shape (*inp.shape, num_classes) and the dtype of ``inp``.
    Raises:
        TypeError: ``inp`` is not of integers.
        IndexError: a place is out of range.
    Example:
        >>> F.one_hot(Tensor([0, 2]), 3)
        Tensor([[1 0 0]
         [0 0 1]], dtype=int32, device=xpux:0)
    """
    return _mge.ops.one_hot(inp, num_classes=as_int(num_classes, "one_hot", "num_classes"))


def embedding(
    inp: Tensor,
    weight: Tensor,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float | None = None,
) -> Tensor:
    """Rows of a table.

    Args:
        inp: any shape, int32: row numbers.
        weight: (number of rows, width).
        padding_idx, max_norm, norm_type: must be None.
    Returns:
        (*inp.shape, width).
    Raises:
        ValueError: one of the last three is given.
        IndexError: a row number is out of range.
    Example:
        >>> F.embedding(Tensor([1, 0]), Tensor([[1.0], [2.0]]))
        Tensor([[2.]
         [1.]], device=xpux:0)
    """
    given = {"padding_idx": padding_idx, "max_norm": max_norm, "norm_type": norm_type}
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"[embedding] {name} is not supported, got {value!r}")
    inp = inp if isinstance(inp, _mge.Tensor) else Tensor(inp)
    if is_integer(inp.dtype) and inp.dtype != np.int32:
        inp = inp.astype("int32")
    return _mge.ops.embedding(weight, inp)


def indexing_one_hot(src: Tensor, index: Tensor, axis: int = 1, keepdims: bool = False) -> Tensor:
    """Select one element along an axis at each position of the other axes.

    Args:
        src: any rank from 1.
        index: places, of the shape of ``src`` without that axis; fractions are dropped.
        axis: the axis.
        keepdims: keep the axis with size 1.
    Returns:
        Tensor.
    Raises:
        AssertionError: ``src`` is not a Tensor.
        IndexError: an index is out of range.
    Example:
        >>> F.indexing_one_hot(Tensor([[1, 2], [3, 4]]), Tensor([1, 0]))
        Tensor([2 3], dtype=int32, device=xpux:0)
    """
    assert isinstance(src, _mge.Tensor), "[indexing_one_hot] src must be a Tensor"
    axis = normal_axis(axis, src.ndim, "indexing_one_hot")
    picked = _mge.ops.indexing_one_hot(src, as_places(index), axis=axis)
    return picked if keepdims else _mge.ops.remove_axis(picked, axes=[axis])


_PAD_MODES = {
    "constant": "constant",
    "edge": "replicate",
    "reflect": "reflect",
    "replicate": "replicate",
}


def pad(
    src: Tensor,
    pad_width: Sequence[Sequence[int]],
    mode: str = "constant",
    constant_value: float = 0.0,
) -> Tensor:
    """A tensor with borders.

    Args:
        src: any rank up to 7.
        pad_width: for each axis how many elements to add before and after.
        mode: ``"constant"``, ``"reflect"`` (mirrored without the edge), or ``"replicate"``, also
            called ``"edge"``.
        constant_value: value of a constant border.
    Returns:
        Tensor.
    Raises:
        AssertionError: ``mode`` is another one, or a width is negative.
        RuntimeError: a reflected border is not smaller than its axis.
    Example:
        >>> F.nn.pad(Tensor([1.0, 2.0]), ((1, 1),))
        Tensor([0. 1. 2. 0.], device=xpux:0)
    """
    src = as_tensor(src)
    name = _PAD_MODES.get(str(mode).lower())
    assert name is not None, f"[pad] mode must be in {tuple(_PAD_MODES)}, got {mode!r}"
    widths = [
        tuple(as_int(v, "pad", "a width") for v in as_list(w, "pad", "a pair of widths"))
        for w in as_list(pad_width, "pad", "pad_width")
    ]
    assert len(widths) <= src.ndim, f"[pad] {counted(len(widths), 'width')} for rank {src.ndim}"
    widths += [(0, 0)] * (src.ndim - len(widths))
    assert all(len(w) == 2 and min(w) >= 0 for w in widths), (
        f"[pad] each width is two numbers, none negative, got {widths}"
    )
    before, after = ([w[k] for w in widths] for k in (0, 1))
    try:
        return _mge.ops.pad(src, before=before, after=after, mode=name, value=float(constant_value))
    except ValueError as error:
        raise RuntimeError(str(error)) from None


def pixel_shuffle(inp: Tensor, upscale_factor: int) -> Tensor:
    """Channels turned into pixels (Shi et al., 2016).

    Args:
        inp: (..., C * r * r, H, W).
        upscale_factor: r.
    Returns:
        (..., C, H * r, W * r).
    Raises:
        AssertionError: the rank is below 3, or r below 1.
        RuntimeError: r * r does not divide the channels.
    Example:
        >>> F.pixel_shuffle(F.ones((1, 4, 1, 1)), 2).shape
        (1, 1, 2, 2)
    """
    inp = as_tensor(inp)
    r = as_int(upscale_factor, "pixel_shuffle", "upscale_factor")
    assert r > 0, f"[pixel_shuffle] upscale_factor must be positive, got {r}"
    assert inp.ndim >= 3, f"[pixel_shuffle] the rank must be at least 3, got {inp.ndim}"
    channels, (*batch, traced, height, width) = inp._tuple_shape[-3], extents(inp, 0)
    if channels % (r * r) != 0:
        raise RuntimeError(
            f"[pixel_shuffle] {r * r} does not divide {counted(channels, 'channel')}"
        )
    kept = traced // (r * r)
    n = min(len(batch), 1)
    if len(batch) > 1:
        inp = _mge.ops.flatten(inp, start=0, end=len(batch) - 1)
    shape = [*extents(inp, 0)[:n], kept, r, r, height, width]
    pattern = [*range(n), n, n + 3, n + 1, n + 4, n + 2]
    out = _mge.ops.transpose(reshaped_with(inp, shape), pattern=pattern)
    out = _mge.ops.flatten(out, start=n + 3, end=n + 4)
    out = _mge.ops.flatten(out, start=n + 1, end=n + 2)
    if len(batch) < 2:
        return out
    return reshaped_with(out, [*batch, kept, height * r, width * r])
