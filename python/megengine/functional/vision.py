# SPDX-License-Identifier: Apache-2.0
"""Images: resizing, turning, warping, colours, regions."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.counted import counted
from ..core.operands import as_list, as_number, at_least, height_and_width, is_whole
from ..core.quantised import on_steps
from ..core.tensor.extents import extent_argument, extents, greatest, known, least
from ..tensor import Tensor
from .color import cvt_color
from .creation import as_tensor
from .detection import nms, roi_align, roi_pooling
from .resampling import resample, scaled
from .warping import remap, rotate, warp_affine, warp_perspective
from .window_convolution import correlation

__all__ = [
    "correlation",
    "cvt_color",
    "flip",
    "interpolate",
    "nms",
    "remap",
    "resize",
    "roi_align",
    "roi_pooling",
    "rotate",
    "warp_affine",
    "warp_perspective",
]

_RANKS = {"linear": 3, "trilinear": 5, "bilinear": 4, "bicubic": 4, "nearest": 4}
_GREATEST = 2**31 - 1  # largest size of an axis


def flip(inp: Tensor, vertical: bool = True, horizontal: bool = True) -> Tensor:
    """Images mirrored.

    Args:
        inp: (N, H, W, C).
        vertical: exchange top and bottom.
        horizontal: exchange left and right.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        AssertionError: the rank is not 4.
    Example:
        >>> F.vision.flip(F.reshape(F.arange(2), (1, 2, 1, 1))).flatten()
        Tensor([1. 0.], device=xpux:0)
    """
    inp = as_tensor(inp)
    assert inp.ndim == 4, f"[flip] the input must have rank 4, got {inp.ndim}"
    axes = [axis for axis, wanted in ((1, vertical), (2, horizontal)) if wanted]
    return _mge.ops.flip(inp, axes=axes) if axes else _mge.ops.copy(inp)


def rot90(inp: Tensor, clockwise: bool = True) -> Tensor:
    """Images turned by 90 degrees.

    Args:
        inp: (N, H, W, C).
        clockwise: direction.
    Returns:
        (N, W, H, C).
    Raises:
        AssertionError: the rank is not 4.
    Example:
        >>> F.vision.rot90(F.reshape(F.arange(2), (1, 2, 1, 1))).flatten()
        Tensor([1. 0.], device=xpux:0)
    """
    inp = as_tensor(inp)
    assert inp.ndim == 4, f"[rot90] the input must have rank 4, got {inp.ndim}"
    return _mge.ops.flip(
        _mge.ops.transpose(inp, pattern=[0, 2, 1, 3]), axes=[2 if clockwise else 1]
    )


class _ModeError(AssertionError, ValueError):
    """The input or the factors do not fit the mode: releases of MegEngine raise the one or the
    other."""


def interpolate(
    inp: Tensor,
    size: int | Sequence[int] | None = None,
    scale_factor: float | Sequence[float] | None = None,
    mode: str = "bilinear",
    align_corners: bool | None = None,
) -> Tensor:
    """Images resized.

    Args:
        inp: (N, C, W) for ``"linear"``, (N, C, D, H, W) for ``"trilinear"``, else (N, C, H, W).
        size: sizes of the result; an int sets the first, and the others are 1.
        scale_factor: ratio of the result's sizes to the input's, instead of ``size``.
        mode: ``"nearest"``, ``"linear"``, ``"bilinear"``, ``"trilinear"`` or ``"bicubic"``.
        align_corners: whether the centres of the corner pixels stay in place instead of their outer
            edges; for the linear modes only.
    Returns:
        Tensor of the dtype of ``inp``, rounded for 8-bit integers; float16 and larger integers
        become float32.
    Raises:
        ValueError: not exactly one of ``size`` and ``scale_factor`` is given, the mode is unknown,
            ``align_corners`` is given for another mode, or a size is below 1 or above 2**31 - 1.
        RuntimeError: the number of sizes is not that of the axes.
        AssertionError: the rank does not fit the mode, or the number of factors the axes; also a
            ValueError.
    Example:
        >>> F.vision.interpolate(F.ones((1, 1, 2, 2)), scale_factor=2).shape
        (1, 1, 4, 4)
    """
    inp = as_tensor(inp)
    mode = str(mode).lower()
    if mode not in _RANKS:
        raise ValueError(f"[interpolate] mode must be in {list(_RANKS)}, got {mode!r}")
    if mode in ("nearest", "bicubic") and align_corners is not None:
        raise ValueError(f"[interpolate] align_corners is not for mode {mode!r}")
    if inp.ndim != _RANKS[mode]:
        raise _ModeError(f"[interpolate] mode {mode!r} wants rank {_RANKS[mode]}, got {inp.ndim}")
    if inp._quantised is not None:
        return _interpolated_steps(inp, size, scale_factor, mode, align_corners)
    have = extents(inp, 2)
    sizes = _result_sizes(have, size, scale_factor)
    now = sizes if scale_factor is None else _result_sizes(inp._tuple_shape[2:], None, scale_factor)
    at_least("interpolate", 1, size=known(now), **{"each axis of the input": inp._tuple_shape[2:]})
    if any(size > _GREATEST for size in known(now)):
        raise ValueError(f"[interpolate] sizes must be at most {_GREATEST}, got {known(now)}")
    result = inp.astype("float32") if inp.dtype == np.float16 else inp
    for axis, old, new in zip(range(2, inp.ndim), have, sizes, strict=True):
        result = resample(result, axis, old, new, mode, bool(align_corners))
    result = _as_bytes(result, inp.dtype) if inp.dtype in (np.uint8, np.int8) else result
    if inp.format != "default":
        result.format = inp.format
    return result


def resize(
    inp: Tensor,
    size: int | Sequence[int],
    format: str = "NCHW",
    imode: str = "bilinear",
    max_size: int | None = None,
) -> Tensor:
    """Images resized to a height and a width, or until their shorter edge has a length.

    Args:
        inp: (N, C, H, W), or (N, H, W, C) with ``format="NHWC"``.
        size: height and width; an int is the length of the shorter edge, the other one follows.
        format: ``"NCHW"`` or ``"NHWC"``.
        imode: ``"bilinear"`` (or ``"linear"``), ``"nearest"`` or ``"bicubic"`` (or ``"cubic"``).
        max_size: with an int ``size`` the most that the longer edge may have.
    Returns:
        Tensor of the format of ``inp``; see ``interpolate`` for its dtype.
    Raises:
        ValueError: a size is below 1, the mode or the format unknown, ``max_size`` is given with
            two sizes or is below ``size``.
        AssertionError: the rank is not 4.
    Example:
        >>> F.vision.resize(F.ones((1, 3, 4, 6)), 2).shape
        (1, 3, 2, 3)
    """
    inp = as_tensor(inp)
    format = str(format).upper()
    if format not in ("NHWC", "NCHW"):
        raise ValueError(f"[resize] format must be 'NCHW' or 'NHWC', got {format!r}")
    assert inp.ndim == 4, f"[resize] the input must have rank 4, got {inp.ndim}"
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(str(imode).lower(), imode)
    if format == "NHWC":
        inp = _mge.ops.transpose(inp, pattern=[0, 3, 1, 2])
    out = interpolate(inp, _edges(extents(inp, 2), size, max_size), mode=mode)
    return _mge.ops.transpose(out, pattern=[0, 2, 3, 1]) if format == "NHWC" else out


def _edges(have: list[Any], size: int | Sequence[int], max_size: int | None) -> list[Any]:
    """Height and width that ``resize`` gives."""
    if not isinstance(size, (int, np.integer)):
        if max_size is not None:
            raise ValueError("[resize] max_size is for one size, which is that of the shorter edge")
        sizes = height_and_width(size, "resize", "size")
        return [extent_argument(n, "resize", "size") for n in sizes]
    if max_size is not None and max_size < size:
        raise ValueError(f"[resize] max_size {max_size} is below the size {size}")
    at_least("resize", 1, size=size)
    edges = [n * int(size) // least(*have) for n in have]
    if max_size is not None:
        most = [n * int(max_size) // greatest(*have) for n in have]
        edges = [least(n, m) for n, m in zip(edges, most, strict=True)]
    return [greatest(n, 1) for n in edges]


def _interpolated_steps(
    inp: Tensor, size: Any, scale_factor: Any, mode: str, align_corners: Any
) -> Tensor:
    if inp.dtype.itemsize != 1:
        raise RuntimeError("[interpolate] has no meaning for Tensors of qint32; convert them")
    made: Tensor = on_steps(interpolate, inp, size, scale_factor, mode, align_corners)
    return made


def _as_bytes(x: Tensor, dtype: Any) -> Tensor:
    """Rounded; values of a cubic polynomial outside the range of int8 wrap around."""
    if x.dtype == dtype:
        return x
    whole = _mge.ops.round(x)
    return (_mge.ops.clip(whole, lower=0.0, upper=255.0) if dtype == np.uint8 else whole).astype(
        dtype
    )


def _result_sizes(have: Sequence[Any], size: Any, scale_factor: Any) -> list[Any]:
    if (size is None) == (scale_factor is None):
        raise ValueError("[interpolate] give either size or scale_factor")
    if scale_factor is not None:
        factors = (
            [as_number(scale_factor, "interpolate", "scale_factor")] * len(have)
            if np.ndim(scale_factor) == 0
            else [
                as_number(f, "interpolate", "scale_factor")
                for f in as_list(scale_factor, "interpolate", "scale_factor")
            ]
        )
        if len(factors) != len(have):
            raise _ModeError(
                f"[interpolate] {counted(len(factors), 'factor')} for"
                f" {counted(len(have), 'axis', 'axes')}"
            )
        for factor in factors:
            if not 0.0 < factor < float("inf"):
                raise ValueError(f"[interpolate] scale_factor must be positive, got {scale_factor}")
        return [scaled(n, f) for n, f in zip(have, factors, strict=True)]
    if is_whole(size):
        return [int(size)] + [1] * (len(have) - 1)
    sizes = [
        extent_argument(s, "interpolate", "size") for s in as_list(size, "interpolate", "size")
    ]
    if len(sizes) != len(have):
        raise RuntimeError(
            f"[interpolate] {counted(len(sizes), 'size')} for {counted(len(have), 'axis', 'axes')}"
        )
    return sizes
