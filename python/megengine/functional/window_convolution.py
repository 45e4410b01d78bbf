# SPDX-License-Identifier: Apache-2.0
"""Convolutions whose window or weight differs at every position."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.counted import counted
from ..core.operands import Pair, at_least, of_rank, pair
from ..core.tensor.extents import extent, extents, extents_follow, known, reshaped_with
from ..core.tensor.shape_arguments import as_int
from ..core.tensor.shaping import reshaped
from ..tensor import Tensor
from .convolution import check_modes, sliding_window
from .creation import as_tensors
from .pooling import avg_pool2d


def _result_size(
    size: Sequence[Any],
    kernel: Sequence[Any],
    stride: Sequence[Any],
    padding: Sequence[Any],
    dilation: Sequence[Any],
) -> tuple[int, ...]:
    return tuple(
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, s, p, d in zip(size, kernel, stride, padding, dilation, strict=True)
    )


def _window_places(
    kernel: Sequence[Any],
    stride: Sequence[Any],
    padding: Sequence[Any],
    dilation: Sequence[Any],
    out: Sequence[Any],
) -> Tensor | np.ndarray:
    """(KH * KW * OH, OW, 2): column and row below each window position for each result."""
    if len(known(out)) < 2:
        return _following_places(kernel, stride, padding, dilation, out)
    row = np.arange(kernel[0])[:, None, None, None] * dilation[0]
    row = row + np.arange(out[0])[:, None] * stride[0] - padding[0]
    column = np.arange(kernel[1])[:, None, None] * dilation[1]
    column = column + np.arange(out[1]) * stride[1] - padding[1]
    places = np.stack(np.broadcast_arrays(column, row), axis=-1).astype(np.float32)
    return places.reshape(kernel[0] * kernel[1] * out[0], out[1], 2)


def _following_places(
    kernel: Sequence[Any],
    stride: Sequence[Any],
    padding: Sequence[Any],
    dilation: Sequence[Any],
    out: Sequence[Any],
) -> Tensor:
    rows, columns = (
        _mge.ops.arange(last=n, dtype="float32") * s
        + (np.arange(k, dtype=np.float32) * d - p)[:, None]
        for n, k, s, p, d in zip(out, kernel, stride, padding, dilation, strict=True)
    )  # (KH, OH) and (KW, OW)
    rows, columns = _mge.ops.add_axis(rows, axes=[1, 3]), _mge.ops.add_axis(columns, axes=[0, 2])
    grids = [columns + rows * 0.0, rows + columns * 0.0]  # each (KH, KW, OH, OW)
    places = _mge.ops.concat(*[_mge.ops.add_axis(grid, axes=[4]) for grid in grids], axis=4)
    return reshaped_with(places, [-1, out[1], 2])


def _channel_parts(
    channels: int, taps: int, offset: tuple[int, ...], mask: tuple[int, ...], out: tuple[int, ...]
) -> int:
    """P, from the shapes of ``deformable_conv2d``'s offset and mask, which have to fit."""
    parts = mask[1] // taps
    if (
        parts < 1
        or channels % parts
        or offset[1:] != (2 * parts * taps, *out)
        or mask[1:] != (parts * taps, *out)
    ):
        raise RuntimeError(
            f"[deformable_conv2d] offset must have shape (N, 2 * P * {taps}, {out[0]}, {out[1]})"
            f" and mask (N, P * {taps}, {out[0]}, {out[1]}) where P divides {channels}, got"
            f" {offset} and {mask}"
        )
    return parts


def deformable_conv2d(
    inp: Tensor,
    weight: Tensor,
    offset: Tensor,
    mask: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    conv_mode: str = "cross_correlation",
    compute_mode: str = "default",
) -> Tensor:
    """Convolution that moves and scales every pixel of its window (Deformable ConvNets v2).

    Args:
        inp: (N, IC, H, W).
        weight: (OC, IC, KH, KW); (G, OC/G, IC/G, KH, KW) with groups.
        offset: (N, 2 * P * KH * KW, OH, OW): row and column to add, for P parts of the channels.
        mask: (N, P * KH * KW, OH, OW): factors.
        bias: (1, OC, 1, 1) or None.
        stride, padding, dilation, groups, conv_mode, compute_mode: as in ``conv2d``.
    Returns:
        (N, OC, OH, OW).
    Raises:
        AttributeError: ``conv_mode`` is another one.
        ValueError: ``groups``, ``stride`` or ``dilation`` is below 1.
        RuntimeError: the shapes do not fit.
    Example:
        >>> zeros = F.zeros((1, 8, 2, 2))
        >>> x, w = F.ones((1, 1, 3, 3)), F.ones((1, 1, 2, 2))
        >>> F.deformable_conv2d(x, w, zeros, F.ones((1, 4, 2, 2))).sum().item()
        16.0
    """
    inp, weight, offset, mask = as_tensors(inp, weight, offset, mask)
    who = "deformable_conv2d"
    check_modes(conv_mode, compute_mode, who)
    stride, padding = pair(stride, who, "stride"), pair(padding, who, "padding")
    dilation, kernel = pair(dilation, who, "dilation"), weight._tuple_shape[-2:]
    at_least(who, 1, groups=groups, stride=stride, dilation=dilation, kernel_size=kernel)
    of_rank(who, 4, inp=inp, offset=offset, mask=mask)
    taps, channels = kernel[0] * kernel[1], inp._tuple_shape[1]
    traced = _result_size(inp._tuple_shape[2:], kernel, stride, padding, dilation)
    parts = _channel_parts(channels, taps, offset._tuple_shape, mask._tuple_shape, traced)
    size = extents(inp, 2)
    height, width = _result_size(size, kernel, stride, padding, dilation)
    moves = reshaped_with(offset, [-1, taps, 2, height, width])
    moves = _mge.ops.transpose(_mge.ops.flip(moves, axes=[2]), pattern=[0, 1, 3, 4, 2])
    moves = reshaped_with(moves, [-1, height * taps, width, 2])
    places = moves + _window_places(kernel, stride, padding, dilation, (height, width))
    images = reshaped_with(inp, [-1, channels // parts, *size])
    under = _mge.ops.remap(images, places, border="constant", value=0.0)
    under = under * reshaped_with(mask, [-1, 1, height * taps, width])
    columns = reshaped_with(under, [-1, groups, channels // groups * taps, height * width])
    outputs = weight._tuple_shape[0] * (weight._tuple_shape[1] if weight.ndim == 5 else 1)
    rows = _mge.ops.reshape(weight, shape=[1, groups, outputs // groups, -1])
    out = reshaped_with(_mge.ops.matmul(rows, columns), [-1, outputs, height, width])
    return out if bias is None else _mge.ops.add(out, bias)


def local_conv2d(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    conv_mode: str = "cross_correlation",
) -> Tensor:
    """Convolution with a separate weight for every position.

    Args:
        inp: (N, IC, H, W).
        weight: (G, OH, OW, IC/G, KH, KW, OC/G).
        bias: (1, OC, OH, OW), or a shape that broadcasts to it, or None.
        stride, padding, dilation, conv_mode: as in ``conv2d``.
    Returns:
        (N, OC, OH, OW).
    Raises:
        AttributeError: ``conv_mode`` is unknown.
        RuntimeError: the shapes do not fit.
    Example:
        >>> F.local_conv2d(F.ones((1, 1, 2, 2)), F.ones((1, 1, 2, 1, 2, 1, 3))).shape
        (1, 3, 1, 2)
    """
    who = "local_conv2d"
    check_modes(conv_mode, "default", who)
    inp, weight = as_tensors(inp, weight)
    of_rank(who, 4, inp=inp)
    of_rank(who, 7, weight=weight)
    groups, height, width, channels, *kernel, outputs = weight._tuple_shape
    windows = sliding_window(inp, (kernel[0], kernel[1]), padding, stride, dilation)
    if windows._tuple_shape[1:4] != (groups * channels, height, width):
        raise RuntimeError(
            f"[{who}] the weight {weight._tuple_shape} does not fit the input {inp._tuple_shape}"
        )
    places, depth = height * width, channels * kernel[0] * kernel[1]
    # The actual batch size: a dumped net refuses images of another size.
    batch = extent(inp, 0) if extents_follow(inp) else -1
    windows = reshaped(windows, [batch, groups, channels, places, kernel[0] * kernel[1]])
    windows = _mge.ops.transpose(windows, pattern=[1, 3, 0, 2, 4])
    windows = _mge.ops.flatten(windows, start=3, end=4)  # (G, places, N, depth)
    out = _mge.ops.matmul(windows, _mge.ops.reshape(weight, shape=[groups, places, depth, outputs]))
    out = _mge.ops.transpose(out, pattern=[2, 0, 3, 1])
    out = _mge.ops.reshape(out, shape=[-1, groups * outputs, height, width])
    return out if bias is None else _mge.ops.add(out, bias)


def region_restricted_conv(
    inp: Tensor,
    weight: Tensor,
    rin: Tensor,
    rout: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    conv_mode: str = "cross_correlation",
    compute_mode: str = "default",
) -> Tensor:
    """Depthwise convolution that only sees the pixels of the result's own region.

    Args:
        inp: (N, C, H, W).
        weight: (C, 1, 1, KH, KW).
        rin: (N, H, W), region of each pixel, an integer.
        rout: (N, OH, OW), region of each result.
        bias: (1, C, 1, 1) or None.
        groups: C.
        stride, padding, dilation, conv_mode, compute_mode: as in ``conv2d``.
    Returns:
        (N, C, OH, OW).
    Raises:
        AttributeError: ``conv_mode`` is another one.
        RuntimeError: the shapes do not fit, or the convolution is not depthwise.
    Example:
        >>> same = F.ones((1, 2, 2)).astype("int32")
        >>> x, w = F.ones((1, 1, 2, 2)), F.ones((1, 1, 1, 2, 2))
        >>> F.nn.region_restricted_conv(x, w, same, same[:, :1, :1], groups=1).item()
        4.0
    """
    who = "region_restricted_conv"
    check_modes(conv_mode, compute_mode, who)
    inp, weight = as_tensors(inp, weight)
    channels = inp._tuple_shape[1]
    if groups != channels or weight._tuple_shape[:3] != (channels, 1, 1):
        raise RuntimeError(
            f"[{who}] the weight must be ({channels}, 1, 1, KH, KW) with"
            f" {counted(channels, 'group')},"
            f" got {weight._tuple_shape} with {groups}"
        )
    kernel = (weight._tuple_shape[-2], weight._tuple_shape[-1])
    window = {"padding": padding, "stride": stride, "dilation": dilation}
    under = sliding_window(inp, kernel, **window)
    regions = sliding_window(_mge.ops.add_axis(rin, axes=[1]), kernel, **window)
    is_same = _mge.ops.equal(regions, _mge.ops.add_axis(rout, axes=[1, 4, 5]))
    factors = _mge.ops.reshape(weight, shape=[1, channels, 1, 1, *kernel])
    out = _mge.ops.sum(under * factors * is_same.astype(inp.dtype), axes=[4, 5])
    return out if bias is None else _mge.ops.add(out, bias)


def correlation(
    data1: Tensor,
    data2: Tensor,
    kernel_size: int = 1,
    max_displacement: int = 1,
    stride1: int = 1,
    stride2: int = 1,
    pad_size: int = 0,
    is_multiply: bool = True,
) -> Tensor:
    """Correlation of patches of two images, for every displacement (FlowNet).

    Args:
        data1: (N, C, H, W).
        data2: of that shape.
        kernel_size: size of the patches; an even one counts as the odd one below it, as in
            MegEngine, because patches reach equally far to each side.
        max_displacement: largest displacement along each axis, in pixels.
        stride1: step of the patches in ``data1``.
        stride2: step of the displacements.
        pad_size: zeros added on each side of both.
        is_multiply: mean product, or mean absolute difference.
    Returns:
        (N, displacements, OH, OW), the displacements row by row.
    Raises:
        ValueError: a size or step is too small.
        RuntimeError: the images are too small, or their rank is not 4.
    Example:
        >>> F.vision.correlation(F.ones((1, 1, 3, 3)), F.ones((1, 1, 3, 3))).shape
        (1, 9, 1, 1)
    """
    data1, data2 = as_tensors(data1, data2)
    kernel_size = as_int(kernel_size, "correlation", "kernel_size")
    max_displacement = as_int(max_displacement, "correlation", "max_displacement")
    stride2 = as_int(stride2, "correlation", "stride2")
    at_least("correlation", 1, kernel_size=kernel_size, stride1=stride1, stride2=stride2)
    at_least("correlation", 0, max_displacement=max_displacement, pad_size=pad_size)
    of_rank("correlation", 4, data1=data1, data2=data2)
    kernel_size -= 1 - kernel_size % 2
    margins = [0, 0, pad_size, pad_size]
    first = _mge.ops.pad(data1, before=margins, after=margins)
    second = _mge.ops.pad(data2, before=margins, after=margins)
    height, width = (n - 2 * max_displacement for n in first._tuple_shape[2:])
    if min(height, width) < kernel_size:
        raise RuntimeError(
            f"[correlation] images {data1._tuple_shape[2:]} with {counted(pad_size, 'pixel')}"
            f" around are too small for displacements up to {max_displacement} and patches of"
            f" {kernel_size}"
        )
    reach = max_displacement // stride2 * stride2
    here = _moved(first, max_displacement, 0, 0)
    results = []
    for row in range(-reach, reach + 1, stride2):
        for column in range(-reach, reach + 1, stride2):
            there = _moved(second, max_displacement, row, column)
            alike = here * there if is_multiply else _mge.ops.abs(here - there)
            alike = _mge.ops.mean(alike, axes=[1], keepdims=True)
            results.append(avg_pool2d(alike, kernel_size, stride1))
    out = _mge.ops.concat(*results, axis=1)
    return out.astype("float16") if data1.dtype == data2.dtype == np.float16 else out


def _moved(images: Tensor, margin: int, row: int, column: int) -> Tensor:
    """Images without a margin that is moved; counted from both ends, for images of any size."""
    rows, columns = (slice(margin + n, n - margin or None) for n in (row, column))
    return images[:, :, rows, columns]
