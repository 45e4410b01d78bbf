# SPDX-License-Identifier: Apache-2.0
"""Convolutions of volumes (N, C, D, H, W), built from 2D convolutions: the slices below the depth
of a weight become channels of one image.
"""

from .. import _mge
from ..core.counted import counted
from ..core.operands import Triple, at_least, triple
from ..core.tensor.extents import extent, extents, reshaped_with
from ..core.tensor.indexing import ABSENT_BOUND
from ..tensor import Tensor
from .convolution import check_modes, conv2d, conv_transpose2d
from .creation import as_tensors


def _check_ranks(inp: Tensor, weight: Tensor, groups: int, who: str) -> None:
    at_least(who, 1, groups=groups)
    wanted = 5 + (groups != 1)
    if inp.ndim != 5:
        raise RuntimeError(f"[{who}] the input must have rank 5, got {inp.ndim}")
    if weight.ndim not in (5, 6) or weight.ndim < wanted:
        raise RuntimeError(
            f"[{who}] weight must have rank {wanted} for {counted(groups, 'group')}, got"
            f" {weight.ndim}"
        )


def _triples(who: str, **sizes: Triple) -> list[tuple[int, int, int]]:
    """Three integers for each size. A stride or dilation is at least 1, a padding at least 0."""
    triples = []
    for name, size in sizes.items():
        least = 1 if name in ("stride", "dilation") else 0
        triples.append(triple(size, who, name))
        if min(triples[-1]) < least:
            raise RuntimeError(f"[{who}] {name} must be at least {least}, got {triples[-1]}")
    return triples


def _depth_into_channels(weight: Tensor) -> Tensor:
    """(..., C, KD, KH, KW) as (..., C * KD, KH, KW)."""
    return _mge.ops.flatten(weight, start=-4, end=-3)


def conv3d(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Triple = 1,
    padding: Triple = 0,
    dilation: Triple = 1,
    groups: int = 1,
    conv_mode: str = "cross_correlation",
) -> Tensor:
    """Convolution (cross-correlation) of volumes.

    Args:
        inp: (N, IC, D, H, W).
        weight: (OC, IC, KD, KH, KW); (G, OC/G, IC/G, KD, KH, KW) with groups.
        bias: (1, OC, 1, 1, 1) or None.
        stride, padding, dilation, groups, conv_mode: as in ``conv2d``, of depth, height, width.
    Returns:
        (N, OC, OD, OH, OW).
    Raises:
        AttributeError: ``conv_mode`` is another one.
        RuntimeError: the shapes do not fit, or a stride, padding or dilation is out of range.
    Example:
        >>> F.conv3d(F.ones((1, 1, 2, 2, 2)), F.ones((1, 1, 2, 2, 2)))
        Tensor([[[[[8.]]]]], device=xpux:0)
    """
    inp, weight = as_tensors(inp, weight)
    who = "conv3d"
    check_modes(conv_mode, "default", who)
    _check_ranks(inp, weight, groups, who)
    stride, padding, dilation = _triples(who, stride=stride, padding=padding, dilation=dilation)
    depth = weight._tuple_shape[-3]
    size = inp._tuple_shape[2] + 2 * padding[0]
    steps = (size - dilation[0] * (depth - 1) - 1) // stride[0] + 1
    if steps < 1:
        raise RuntimeError(
            f"[{who}] the weight {weight._tuple_shape} is deeper than the input {size}"
        )
    margins = [0, 0, padding[0], 0, 0]
    wide = _mge.ops.pad(inp, before=margins, after=margins) if padding[0] else inp
    starts = [k * dilation[0] for k in range(depth)]
    # Their ends are counted from the end: a dumped net takes volumes of other depths.
    slices = [
        wide[:, :, s : s - starts[-1] or None : stride[0]] for s in starts
    ]  # each (N, IC, OD, H, W)
    stacked = _mge.ops.concat(*[_mge.ops.add_axis(s, axes=[3]) for s in slices], axis=3)
    images = _mge.ops.transpose(stacked, pattern=[0, 2, 1, 3, 4, 5])  # (N, OD, IC, KD, H, W)
    images = _mge.ops.flatten(_mge.ops.flatten(images, start=2, end=3), start=0, end=1)
    out = conv2d(
        images, _depth_into_channels(weight), None, stride[1:], padding[1:], dilation[1:], groups
    )
    out = reshaped_with(out, [-1, extent(slices[0], 2), *extents(out, 1)])
    out = _mge.ops.transpose(out, pattern=[0, 2, 1, 3, 4])
    return out if bias is None else _mge.ops.add(out, bias)


def conv_transpose3d(
    inp: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Triple = 1,
    padding: Triple = 0,
    output_padding: Triple = 0,
    dilation: Triple = 1,
    groups: int = 1,
) -> Tensor:
    """Transposed convolution: the gradient of ``conv3d`` with respect to its input.

    Args:
        inp: (N, IC, D, H, W).
        weight: (IC, OC, KD, KH, KW); (G, IC/G, OC/G, KD, KH, KW) with groups.
        bias: (1, OC, 1, 1, 1) or None.
        stride, padding, output_padding, dilation, groups: as in ``conv_transpose2d``.
    Returns:
        (N, OC, OD, OH, OW).
    Raises:
        AssertionError: ``output_padding`` reaches the stride.
        RuntimeError: the shapes do not fit, or a stride, padding or dilation is out of range.
    Example:
        >>> F.conv_transpose3d(F.ones((1, 1, 1, 1, 1)), F.ones((1, 1, 2, 1, 1))).shape
        (1, 1, 2, 1, 1)
    """
    inp, weight = as_tensors(inp, weight)
    who = "conv_transpose3d"
    _check_ranks(inp, weight, groups, who)
    stride, padding, extra, dilation = _triples(
        who, stride=stride, padding=padding, output_padding=output_padding, dilation=dilation
    )
    depth = weight._tuple_shape[-3]
    assert extra[0] < stride[0] or extra[0] == 0, (
        f"[{who}] output_padding {extra[0]} must be less than the stride {stride[0]}"
    )
    steps = extent(inp, 2)
    images = _mge.ops.flatten(_mge.ops.transpose(inp, pattern=[0, 2, 1, 3, 4]), start=0, end=1)
    images = conv_transpose2d(
        images,
        _depth_into_channels(weight),
        None,
        stride[1:],
        padding[1:],
        extra[1:],
        dilation[1:],
        groups,
    )
    channels = images._tuple_shape[1] // depth
    parts = reshaped_with(images, [-1, steps, channels, depth, *extents(images, 2)])
    parts = _mge.ops.transpose(parts, pattern=[0, 2, 3, 1, 4, 5])  # (N, OC, KD, D, OH, OW)
    out = _sum_in_depth(parts, depth, stride[0], dilation[0], extra[0])
    out = out[:, :, padding[0] : 1 - stride[0] - padding[0] or None]
    return out if bias is None else _mge.ops.add(out, bias)


def _sum_in_depth(parts: Tensor, depth: int, stride: int, dilation: int, extra: int) -> Tensor:
    """Adds the volumes parts[:, :, k], whose slices are ``stride`` apart, from k * dilation on."""
    out = _zeros_between(parts[:, :, 0], stride)
    out = _mge.ops.pad(out, before=[0] * 5, after=[0, 0, dilation * (depth - 1) + extra, 0, 0])
    for k in range(depth):
        # Counted from the end: a dumped net takes volumes of other depths.
        end = dilation * (k + 1 - depth) - extra
        items = [2, k * dilation, end or ABSENT_BOUND, stride, 0]
        out = _mge.ops.add_slice(out, parts[:, :, k], items=items)
    return out


def _zeros_between(volumes: Tensor, step: int) -> Tensor:
    """Zeros of the shape that volumes have with their slices ``step`` apart."""
    out = _mge.ops.full_like(volumes, value=0.0)
    return _mge.ops.concat(*[out] * step, axis=2) if step > 1 else out
