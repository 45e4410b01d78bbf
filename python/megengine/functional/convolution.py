# SPDX-License-Identifier: Apache-2.0
"""Convolutions, and sliding windows over images.

Weights are (OC, IC, KH, KW), with groups (G, OC/G, IC/G, KH, KW); images are NCHW.
"""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from .. import _mge
from ..core.counted import counted
from ..core.operands import Pair, at_least, has_shape, of_rank, pair
from ..core.tensor.dtype import is_dtype_equal, is_integer
from ..core.tensor.extents import extents, extents_follow, reshaped_with
from ..tensor import Tensor
from .creation import as_tensor, as_tensors


def check_modes(conv_mode: str, compute_mode: str, who: str) -> None:
    """Refuse modes that no convolution supports.

    Raises:
        AttributeError: the mode is not ``"cross_correlation"``.
        RuntimeError: the compute mode is not ``"default"`` or ``"float32"``.
    """
    if conv_mode == "cross_correlation" and compute_mode == "default":
        return
    if str(conv_mode).lower() != "cross_correlation":
        raise AttributeError(f"[{who}] conv_mode must be 'cross_correlation', got {conv_mode!r}")
    if str(compute_mode).lower() not in ("default", "float32"):
        raise RuntimeError(
            f"[{who}] compute_mode must be 'default' or 'float32', got {compute_mode!r}"
        )


def _check_groups(weight: Tensor, rank: int, groups: int, who: str) -> None:
    """Check a weight that is looked at, or changed, before the operator sees it."""
    at_least(who, 1, groups=groups)
    wanted, given = rank + (groups != 1), weight.ndim
    if given not in (wanted, rank + 1):
        raise RuntimeError(
            f"[{who}] weight must have rank {wanted} for {counted(groups, 'group')}, got {given}"
        )


def conv2d(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    conv_mode: str = "cross_correlation",
    compute_mode: str = "default",
) -> Tensor:
    """Convolution (cross-correlation) of images.

    Args:
        inp: (N, IC, H, W).
        weight: (OC, IC, KH, KW); (G, OC/G, IC/G, KH, KW) with groups.
        bias: (1, OC, 1, 1), or another shape that broadcasts to the result, or None.
        stride: step of the window, in pixels.
        padding: zeros added on each side, in pixels.
        dilation: distance between two weights, in pixels.
        groups: number of groups of channels.
        conv_mode: only ``"cross_correlation"``.
        compute_mode: ``"default"`` or ``"float32"``; float16 is always summed in float32.
    Returns:
        (N, OC, OH, OW), OH = (H + 2 * padding - dilation * (KH - 1) - 1) // stride + 1.
    Raises:
        AttributeError: ``conv_mode`` is unknown.
        ValueError: ``groups`` is below 1.
        RuntimeError: the shapes do not fit, or ``weight`` has the wrong rank for ``groups``.
    Example:
        >>> F.conv2d(F.ones((1, 1, 3, 3)), F.ones((1, 1, 2, 2)))
        Tensor([[[[4. 4.]
           [4. 4.]]]], device=xpux:0)
    """
    check_modes(conv_mode, compute_mode, "conv2d")
    at_least("conv2d", 1, groups=groups)
    return _conv2d_and_bias(
        inp,
        weight,
        bias,
        pair(stride, "conv2d", "stride"),
        pair(padding, "conv2d", "padding"),
        pair(dilation, "conv2d", "dilation"),
        groups,
    )


def _conv2d_and_bias(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: tuple[int, int],
    padding: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
) -> Tensor:
    is_taken = bias is None or has_shape(bias, lambda: (1, _output_channels(weight), 1, 1))
    out = _mge.ops.conv2d(
        inp,
        weight,
        bias if is_taken else None,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )
    return out if bias is None or is_taken else _mge.ops.add(out, bias)


def _output_channels(weight: Tensor) -> int:
    return math.prod(weight._tuple_shape[:-3])


def conv1d(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: int = 1,
    padding: int = 0,
    dilation: int = 1,
    groups: int = 1,
    conv_mode: str = "cross_correlation",
    compute_mode: str = "default",
) -> Tensor:
    """Convolution (cross-correlation) of sequences; see ``conv2d``.

    Args:
        inp: (N, IC, L).
        weight: (OC, IC, K); (G, OC/G, IC/G, K) with groups.
        bias: (1, OC, 1), or another shape of rank 3 that broadcasts to the result, or None.
        stride, padding, dilation, groups, conv_mode, compute_mode: as in ``conv2d``.
    Returns:
        (N, OC, OL).
    Raises:
        AssertionError: the rank of ``inp`` or ``bias`` is not 3.
        RuntimeError: the shapes do not fit.
    Example:
        >>> F.conv1d(F.ones((1, 1, 3)), F.ones((1, 1, 2)))
        Tensor([[[2. 2.]]], device=xpux:0)
    """
    inp, weight = as_tensors(inp, weight)
    assert inp.ndim == 3, f"[conv1d] the input must have rank 3, got {inp.ndim}"
    check_modes(conv_mode, compute_mode, "conv1d")
    _check_groups(weight, 3, groups, "conv1d")
    assert bias is None or bias.ndim == 3, f"[conv1d] the bias must have rank 3, got {bias.ndim}"
    out = _conv2d_and_bias(
        _mge.ops.add_axis(inp, axes=[3]),
        _mge.ops.add_axis(weight, axes=[weight.ndim]),
        None if bias is None else _mge.ops.add_axis(bias, axes=[3]),
        (_one(stride), 1),
        (_one(padding), 0),
        (_one(dilation), 1),
        groups,
    )
    return _mge.ops.remove_axis(out, axes=[3])


def _one(value: Any) -> int:
    return int(value[0]) if isinstance(value, (tuple, list)) else int(value)


def conv_transpose2d(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Pair = 1,
    padding: Pair = 0,
    output_padding: Pair = 0,
    dilation: Pair = 1,
    groups: int = 1,
    conv_mode: str = "cross_correlation",
    compute_mode: str = "default",
) -> Tensor:
    """Transposed convolution: the gradient of ``conv2d`` with respect to its input.

    Args:
        inp: (N, IC, H, W).
        weight: (IC, OC, KH, KW); (G, IC/G, OC/G, KH, KW) with groups.
        bias: (1, OC, 1, 1) or None.
        stride, padding: of the convolution that is transposed, in pixels.
        output_padding: rows and columns added at the end, less than the stride.
        dilation: of the convolution that is transposed.
        groups: number of groups of channels.
        conv_mode: only ``"cross_correlation"``.
        compute_mode: ``"default"`` or ``"float32"``.
    Returns:
        (N, OC, OH, OW), OH = (H - 1) * stride - 2 * padding + dilation * (KH - 1) + 1
        + output_padding.
    Raises:
        AssertionError: ``output_padding`` reaches the stride.
        RuntimeError: the shapes do not fit.
    Example:
        >>> F.conv_transpose2d(F.ones((1, 1, 1, 1)), F.ones((1, 1, 2, 2)))
        Tensor([[[[1. 1.]
           [1. 1.]]]], device=xpux:0)
    """
    inp, weight = as_tensors(inp, weight)
    who = "conv_transpose2d"
    check_modes(conv_mode, compute_mode, who)
    _check_groups(weight, 4, groups, who)
    stride, padding = pair(stride, who, "stride"), pair(padding, who, "padding")
    extra, dilation = pair(output_padding, who, "output_padding"), pair(dilation, who, "dilation")
    for e, s in zip(extra, stride, strict=True):
        assert e < s or e == 0, f"[{who}] output_padding {e} must be less than the stride {s}"
    assert inp.ndim == 4, f"[{who}] the input must have rank 4, got {inp.ndim}"
    channels = weight._tuple_shape[-4] * (groups if weight.ndim == 5 else 1)
    if inp._tuple_shape[1] != channels:
        raise RuntimeError(
            f"[{who}] the input {inp._tuple_shape} has {counted(inp._tuple_shape[1], 'channel')},"
            f" the weight {weight._tuple_shape} takes {channels}"
        )
    is_same = is_dtype_equal(inp.dtype, weight.dtype)
    has_integers = is_same and is_integer(inp.dtype)
    if has_integers or not is_same:  # the operator takes floats of one dtype
        inp, weight = inp.astype("float32"), weight.astype("float32")
    out = _enlarged(inp, weight, stride, padding, extra, dilation, groups)
    if has_integers:
        out = out.astype("int32")
    return out if bias is None else _mge.ops.add(out, bias)


def _enlarged(
    inp: Tensor,
    weight: Tensor,
    stride: tuple[int, int],
    padding: tuple[int, int],
    extra: tuple[int, int],
    dilation: tuple[int, int],
    groups: int,
) -> Tensor:
    """The transposed convolution, with ``extra`` rows and columns behind the smallest result."""
    how: dict[str, Any] = {"stride": stride, "dilation": dilation, "groups": groups}
    # 0 is the smallest size for any image: a dumped net accepts images of other sizes.
    height = width = 0
    if any(extra) and not extents_follow(inp):
        height, width = (
            (i - 1) * s - 2 * p + d * (k - 1) + 1 + e
            for i, s, p, d, k, e in zip(
                inp._tuple_shape[2:],
                stride,
                padding,
                dilation,
                weight._tuple_shape[-2:],
                extra,
                strict=True,
            )
        )
    elif any(extra):
        # The elements behind come from the padding as far as it reaches; the rest are zeros.
        kept = [max(p - e, 0) for p, e in zip(padding, extra, strict=True)]
        top, left = (p - k for p, k in zip(padding, kept, strict=True))
        out = _mge.ops.conv2d_backward_data(weight, inp, padding=kept, height=0, width=0, **how)
        out = _mge.ops.pad(out, before=[0] * 4, after=[0, 0, extra[0] - top, extra[1] - left])
        return out[:, :, top:, left:]
    return _mge.ops.conv2d_backward_data(
        weight, inp, padding=padding, height=height, width=width, **how
    )


def _window_slices(
    kernel: tuple[int, int], stride: tuple[int, int], dilation: tuple[int, int]
) -> Iterator[tuple[tuple[int, int], tuple[Any, ...]]]:
    """For each position in the window, its index and the matching slices of the image.

    They end at a distance from the image's end, so that a dumped net takes images of other sizes.
    """
    for y in range(kernel[0]):
        for x in range(kernel[1]):
            yield (
                (y, x),
                tuple(
                    slice(at * d, d * (at + 1 - k) or None, s)
                    for at, d, s, k in zip((y, x), dilation, stride, kernel, strict=True)
                ),
            )


def _window_sizes(
    size: Sequence[int],
    kernel: tuple[int, int],
    padding: tuple[int, int],
    stride: tuple[int, int],
    dilation: tuple[int, int],
) -> list[int]:
    return [
        (n + 2 * p - d * (k - 1) - 1) // s + 1
        for n, k, p, s, d in zip(size, kernel, padding, stride, dilation, strict=True)
    ]


def sliding_window(
    inp: Tensor, kernel_size: Pair, padding: Pair = 0, stride: Pair = 1, dilation: Pair = 1
) -> Tensor:
    """Every window of an image (im2col).

    Args:
        inp: (N, C, H, W).
        kernel_size: size of the window, in pixels.
        padding: zeros added on each side.
        stride: step of the window.
        dilation: distance between two pixels of a window.
    Returns:
        (N, C, OH, OW, KH, KW).
    Raises:
        ValueError: the window, its step or ``dilation`` is below 1.
        RuntimeError: the window is larger than the image, or the rank of ``inp`` is not 4.
    Example:
        >>> F.sliding_window(F.ones((1, 1, 3, 3)), 2).shape
        (1, 1, 2, 2, 2, 2)
    """
    inp = as_tensor(inp)
    who = "sliding_window"
    kernel, stride = pair(kernel_size, who, "kernel_size"), pair(stride, who, "stride")
    padding, dilation = pair(padding, who, "padding"), pair(dilation, who, "dilation")
    at_least(who, 1, kernel_size=kernel, stride=stride, dilation=dilation)
    of_rank(who, 4, inp=inp)
    sizes = _window_sizes(inp._tuple_shape[2:], kernel, padding, stride, dilation)
    if min(sizes) < 1:
        raise RuntimeError(f"[{who}] the window {kernel} is larger than {inp._tuple_shape[2:]}")
    wide = _padded(inp, padding)
    parts = [
        _mge.ops.add_axis(wide[(slice(None), slice(None), *where)], axes=[4])
        for _, where in _window_slices(kernel, stride, dilation)
    ]
    out = _mge.ops.concat(*parts, axis=4) if len(parts) > 1 else parts[0]
    return reshaped_with(out, [*extents(out, 0)[:4], *kernel])


def _padded(inp: Tensor, padding: tuple[int, int]) -> Tensor:
    edges = [0, 0, *padding]
    return _mge.ops.pad(inp, before=edges, after=edges, mode="constant", value=0.0)


def sliding_window_transpose(
    inp: Tensor,
    output_size: Pair,
    kernel_size: Pair,
    padding: Pair = 0,
    stride: Pair = 1,
    dilation: Pair = 1,
) -> Tensor:
    """Windows added up into an image: the gradient of ``sliding_window`` (col2im).

    Args:
        inp: (N, C, IH, IW, KH, KW).
        output_size: height and width of the image.
        kernel_size, padding, stride, dilation: as in ``sliding_window``.
    Returns:
        (N, C, *output_size).
    Raises:
        ValueError: the window, its step or ``dilation`` is below 1.
        RuntimeError: the number of windows does not fit the image, or the rank of ``inp`` is not 6.
    Example:
        >>> F.sliding_window_transpose(F.ones((1, 1, 2, 2, 2, 2)), 3, 2)
        Tensor([[[[1. 2. 1.]
           [2. 4. 2.]
           [1. 2. 1.]]]], device=xpux:0)
    """
    inp = as_tensor(inp)
    who = "sliding_window_transpose"
    size, kernel = pair(output_size, who, "output_size"), pair(kernel_size, who, "kernel_size")
    padding, stride = pair(padding, who, "padding"), pair(stride, who, "stride")
    dilation = pair(dilation, who, "dilation")
    at_least(who, 1, kernel_size=kernel, stride=stride, dilation=dilation)
    of_rank(who, 6, inp=inp)
    sizes = list(inp._tuple_shape[2:4])
    if _window_sizes(size, kernel, padding, stride, dilation) != sizes:
        raise RuntimeError(f"[{who}] {sizes} windows do not fit an image of {size}")
    wide = [n + 2 * p for n, p in zip(size, padding, strict=True)]
    out = _mge.ops.full_like(inp[:, :, :1, :1, 0, 0], value=0.0)
    out = _mge.ops.pad(out, before=[0] * 4, after=[0, 0, wide[0] - 1, wide[1] - 1])
    # A pixel is the sum of its windows in their order, the first of which has it at its last place.
    for (y, x), (rows, columns) in reversed(list(_window_slices(kernel, stride, dilation))):
        items = [2, rows.start, wide[0] + (rows.stop or 0), rows.step, 0]
        items += [3, columns.start, wide[1] + (columns.stop or 0), columns.step, 0]
        out = _mge.ops.add_slice(out, inp[:, :, :, :, y, x], items=items)
    (top, left), (height, width) = padding, size
    return out[:, :, top : top + height, left : left + width]
