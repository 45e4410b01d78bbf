# SPDX-License-Identifier: Apache-2.0
"""Convolutions of quantised Tensors, for inference.

Sums of products are exact integers; later steps are computed in float32 and rounded to the steps of
the result, halves away from zero.
"""

from typing import Any

import numpy as np

from .. import _mge
from ..core.operands import Pair, pair
from ..core.quantised import meta_of, product_dtype, scale_tensor, shown, zero_point, zero_tensor
from ..core.tensor.dtype import get_scale, is_quantize, quantised_meta
from ..tensor import Tensor
from .convolution import check_modes

_ACTIVATIONS = {"identity": "none", "relu": "relu", "h_swish": "hswish"}
_KINDS = ("qint8", "quint8", "qint4", "quint4")


def conv_bias_activation(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor,
    dtype: Any = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    nonlinear_mode: str = "identity",
    conv_mode: str = "cross_correlation",
    compute_mode: str = "default",
) -> Tensor:
    """Convolution of quantised images with a bias and an activation.

    Args:
        inp: (N, IC, H, W), of a quantised dtype of 8 or 4 bits.
        weight: (OC, IC, KH, KW), (G, OC/G, IC/G, KH, KW) with groups; of the type of ``inp``.
        bias: (1, OC, 1, 1), qint32 whose scale is the product of the other two scales.
        dtype: quantised dtype of the result; None: qint32 with that scale.
        stride, padding, dilation, groups, conv_mode, compute_mode: as in ``conv2d``; the border
            represents zeros.
        nonlinear_mode: ``"identity"``, ``"relu"`` or ``"h_swish"``.
    Returns:
        (N, OC, OH, OW) of ``dtype``.
    Raises:
        RuntimeError: the dtypes do not match, or there is no such activation.
    Example:
        >>> from megengine.core.tensor.dtype import qint8, qint32
        >>> x = Tensor([[[[1.0, 2.0]]]]).astype(qint8(0.5))
        >>> bias = Tensor([[[[0.25]]]]).astype(qint32(0.25))
        >>> F.quantized.conv_bias_activation(x, x, bias, qint8(0.125))
        Tensor([[[[42]]]], dtype=int8, device=xpux:0)
    """
    check_modes(conv_mode, compute_mode, "conv_bias_activation")
    who = "conv_bias_activation"
    window = {
        "stride": pair(stride, who, "stride"),
        "padding": pair(padding, who, "padding"),
        "dilation": pair(dilation, who, "dilation"),
        "groups": groups,
    }
    return _convolved(who, inp, weight, bias, dtype, nonlinear_mode, window)


def convolved_by_channels(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    scales: Tensor,
    dtype: Any,
    nonlinear_mode: str,
    **window: Any,
) -> Tensor:
    """``conv_bias_activation`` with a per-channel quantised weight.

    Args:
        inp: (N, IC, H, W), of a quantised dtype.
        weight: as in ``conv_bias_activation``, with scale 1.
        bias: (1, OC, 1, 1), qint32 with the scale of ``inp`` before ``scales``; or None.
        scales: float32, OC numbers: the scales of the output channels of ``weight``.
        dtype: quantised dtype of the result.
        nonlinear_mode: ``"identity"``, ``"relu"`` or ``"h_swish"``.
        window: ``stride``, ``padding``, ``dilation`` as pairs, and ``groups``.
    Returns:
        (N, OC, OH, OW) of ``dtype``.
    Raises:
        RuntimeError: as in ``conv_bias_activation``.
    Example:
        >>> from megengine.core.tensor.dtype import qint8
        >>> from megengine.functional.quantized import convolved_by_channels
        >>> x = Tensor([[[[1.0]]]]).astype(qint8(0.5))
        >>> weight = Tensor([[[[2.0]]], [[[2.0]]]]).astype(qint8(1.0))
        >>> scales = Tensor([0.25, 0.5])
        >>> convolved_by_channels(x, weight, None, scales, qint8(0.5), "identity").flatten()
        Tensor([1 2], dtype=int8, device=xpux:0)
    """
    who = "convolved_by_channels"
    return _convolved(who, inp, weight, bias, dtype, nonlinear_mode, window, scales)


def _convolved(
    who: str,
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    dtype: Any,
    nonlinear_mode: str,
    window: dict[str, Any],
    channel_scales: Tensor | None = None,
) -> Tensor:
    activation = _ACTIVATIONS.get(str(nonlinear_mode).lower())
    if activation is None:
        raise RuntimeError(f"[{who}] nonlinear_mode must be in {list(_ACTIVATIONS)}")
    product = _product_dtype(who, inp, weight)
    _check_bias(who, bias, product)
    dtype = product if dtype is None else dtype
    if not is_quantize(dtype):
        raise RuntimeError(f"[{who}] the result must be of a quantised dtype, got {dtype}")
    device, meta = inp.device, meta_of(dtype)
    zeros = [zero_tensor(x._quantised, device) for x in (inp, weight)]
    is_plain = channel_scales is None and activation == "none"
    sums_are_steps = is_plain and meta.name == "qint32" and _is_scale(dtype, get_scale(product))
    scale: Any = None
    y_scale = y_zero = None
    if not sums_are_steps:
        scale, y_scale = scale_tensor(product, device), scale_tensor(dtype, device)
        y_zero = zero_tensor(dtype, device)
    if channel_scales is not None:
        scale = channel_scales * scale
    steps = _mge.ops.quantized_conv2d(
        inp._plain(),
        weight._plain(),
        scale,
        None if bias is None else bias._plain(),
        None,
        zeros[0],
        zeros[1],
        y_scale,
        y_zero,
        activation=activation,
        dtype=meta.np_dtype_str,
        lower=meta.qmin,
        upper=meta.qmax,
        **window,
    )
    return steps._meant_as(dtype)


def _is_scale(dtype: Any, scale: float) -> bool:
    return bool(abs(np.float32(get_scale(dtype)) - np.float32(scale)) < 1e-6)


def _product_dtype(who: str, inp: Tensor, weight: Tensor) -> Any:
    kinds = [quantised_meta(x.dtype) for x in (inp, weight)]
    if kinds[0] is None or kinds[0] is not kinds[1] or kinds[0].name not in _KINDS:
        raise RuntimeError(
            f"[{who}] inp and weight must be of one of {_KINDS}, got {shown(inp.dtype)} and"
            f" {shown(weight.dtype)}"
        )
    return product_dtype(inp._quantised, weight._quantised)


def _check_bias(who: str, bias: Tensor | None, product: Any) -> None:
    if bias is None:
        return
    meta = quantised_meta(bias.dtype)
    if meta is None or meta.name != "qint32" or not _is_scale(bias.dtype, get_scale(product)):
        raise RuntimeError(f"[{who}] bias must be of {shown(product)}, got {shown(bias.dtype)}")


def batch_conv_bias_activation(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor,
    dtype: Any = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    nonlinear_mode: str = "identity",
    conv_mode: str = "cross_correlation",
    compute_mode: str = "default",
) -> Tensor:
    """``conv_bias_activation`` with a separate weight for each image.

    Args:
        inp: (N, IC, H, W).
        weight: (N, OC, IC, KH, KW).
        bias: (1, OC, 1, 1).
        groups: only 1.
        dtype, stride, padding, dilation, nonlinear_mode, conv_mode, compute_mode: as in
            ``conv_bias_activation``.
    Returns:
        (N, OC, OH, OW) of ``dtype``.
    Raises:
        RuntimeError: as there; or there are groups, or not as many weights as images.
    Example:
        >>> from megengine.core.tensor.dtype import qint8, qint32
        >>> x = Tensor([[[[1.0]]], [[[2.0]]]]).astype(qint8(0.5))
        >>> bias = Tensor([[[[0.25]]]]).astype(qint32(0.25))
        >>> weight = x.reshape(2, 1, 1, 1, 1)
        >>> F.quantized.batch_conv_bias_activation(x, weight, bias, qint8(0.25)).flatten()
        Tensor([ 5 17], dtype=int8, device=xpux:0)
    """
    who = "batch_conv_bias_activation"
    check_modes(conv_mode, compute_mode, who)
    if groups != 1 or weight.ndim != 5 or weight.shape[0] != inp.shape[0]:
        raise RuntimeError(
            f"[{who}] takes no groups, and a weight (N, OC, IC, KH, KW) for N images"
        )
    count, channels = inp._tuple_shape[:2]  # numbers in traces, too
    # Images and their weights are the groups of one convolution.
    image = inp.reshape(1, count * channels, *inp.shape[2:])
    window = {
        "stride": pair(stride, who, "stride"),
        "padding": pair(padding, who, "padding"),
        "dilation": pair(dilation, who, "dilation"),
        "groups": count,
    }
    repeated = None
    if bias is not None:
        steps = _mge.ops.concat(*[bias._plain()] * count, axis=1)
        repeated = steps._meant_as(bias._quantised)
    out = _convolved(who, image, weight, repeated, dtype, nonlinear_mode, window)
    return out.reshape(count, weight.shape[1], *out.shape[2:])


def conv_transpose2d(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    dtype: Any = None,
    stride: Pair = 1,
    padding: Pair = 0,
    output_padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    conv_mode: str = "cross_correlation",
    compute_mode: str = "default",
) -> Tensor:
    """Transposed convolution of quantised images.

    Args:
        inp: (N, IC, H, W), qint8 or quint8.
        weight: (IC, OC, KH, KW), (G, IC/G, OC/G, KH, KW) with groups; of the type of ``inp``.
        bias: (1, OC, 1, 1), qint32 whose scale is the product of the other two, or None.
        dtype: quantised dtype of the result; None: qint32 with that scale.
        stride, padding, output_padding, dilation, groups, conv_mode, compute_mode: as in
            ``conv_transpose2d``.
    Returns:
        (N, OC, OH, OW) of ``dtype``.
    Raises:
        RuntimeError: the dtypes do not match, or the padding is larger than the window.
    Example:
        >>> from megengine.core.tensor.dtype import qint8
        >>> x = Tensor([[[[1.0, 2.0]]]]).astype(qint8(0.5))
        >>> F.quantized.conv_transpose2d(x, x, dtype=qint8(0.25)).flatten()
        Tensor([ 4 16 16], dtype=int8, device=xpux:0)
    """
    who = "conv_transpose2d"
    check_modes(conv_mode, compute_mode, who)
    stride, padding = pair(stride, who, "stride"), pair(padding, who, "padding")
    extra, dilation = pair(output_padding, who, "output_padding"), pair(dilation, who, "dilation")
    _product_dtype(who, inp, weight)
    margins = [
        d * (k - 1) - p for d, k, p in zip(dilation, weight.shape[-2:], padding, strict=True)
    ]
    if min(margins) < 0:
        raise RuntimeError(f"[{who}] the padding {padding} is larger than the window")
    # A convolution of the image with zeros between its pixels, by the weight turned around.
    image = _spread(inp, stride, margins, extra)
    window = {"dilation": dilation, "groups": groups}
    return _convolved(who, image, _turned(weight), bias, dtype, "identity", window)


def _spread(
    inp: Tensor, stride: tuple[int, int], margins: list[int], extra: tuple[int, int]
) -> Tensor:
    """The image with ``stride - 1`` zeros behind each pixel but the last, and margins around it."""
    zero = zero_point(inp.dtype)
    steps, (height, width) = inp._plain(), inp.shape[2:]
    wide = _mge.ops.pad(
        _mge.ops.add_axis(steps, axes=[3, 5]),
        before=[0] * 6,
        after=[0, 0, 0, stride[0] - 1, 0, stride[1] - 1],
        value=float(zero),
    )
    wide = wide.reshape(*inp.shape[:2], height * stride[0], width * stride[1])
    wide = wide[:, :, : (height - 1) * stride[0] + 1, : (width - 1) * stride[1] + 1]
    wide = _mge.ops.pad(
        wide,
        before=[0, 0, *margins],
        after=[0, 0, margins[0] + extra[0], margins[1] + extra[1]],
        value=float(zero),
    )
    return wide._meant_as(inp._quantised)


def _turned(weight: Tensor) -> Tensor:
    rank = weight.ndim
    turned = _mge.ops.flip(weight._plain(), axes=[rank - 2, rank - 1])
    pattern = [*range(rank - 4), rank - 3, rank - 4, rank - 2, rank - 1]
    return _mge.ops.transpose(turned, pattern=pattern)._meant_as(weight._quantised)
