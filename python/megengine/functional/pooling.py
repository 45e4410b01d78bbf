# SPDX-License-Identifier: Apache-2.0
"""Pooling of NCHW images."""

from collections.abc import Callable
from typing import Any

import numpy as np

from .. import _mge
from ..core.operands import Pair, pair
from ..core.tensor.dtype import is_quantize
from ..tensor import Tensor
from .creation import as_tensor

_AVERAGE_MODES = {"average": True, "average_count_exclude_padding": False}


def _pooled(op: Callable[..., Tensor], inp: Tensor, rounds: bool = False, **windows: Any) -> Tensor:
    """Integers are pooled as floats; a mean is truncated, or rounded to the nearest number."""
    inp = as_tensor(inp)
    if is_quantize(inp.dtype) or inp.dtype not in (np.int8, np.uint8):
        return op(inp, **windows)
    pooled = op(inp.astype("float32"), **windows)
    return (_mge.ops.round(pooled) if rounds else pooled).astype(inp.dtype)


def max_pool2d(
    inp: Tensor, kernel_size: Pair, stride: Pair | None = None, padding: Pair = 0
) -> Tensor:
    """Largest value of each window.

    Args:
        inp: (N, C, H, W), floating or 8-bit integers.
        kernel_size: size of the window, in pixels.
        stride: step of the window; None: its size.
        padding: border added on each side; its pixels are never chosen.
    Returns:
        (N, C, OH, OW), of the dtype of ``inp``.
    Raises:
        RuntimeError: the window is larger than the padded image.
    Example:
        >>> F.max_pool2d(F.reshape(F.arange(4), (1, 1, 2, 2)), 2)
        Tensor([[[[3.]]]], device=xpux:0)
    """
    kernel = pair(kernel_size, "max_pool2d", "kernel_size")
    return _pooled(
        _mge.ops.max_pool2d,
        inp,
        kernel=kernel,
        stride=kernel if stride is None else pair(stride, "max_pool2d", "stride"),
        padding=pair(padding, "max_pool2d", "padding"),
    )


def avg_pool2d(
    inp: Tensor,
    kernel_size: Pair,
    stride: Pair | None = None,
    padding: Pair = 0,
    mode: str = "average_count_exclude_padding",
) -> Tensor:
    """Mean of each window.

    Args:
        inp: (N, C, H, W), floating or 8-bit integers.
        kernel_size: size of the window, in pixels.
        stride: step of the window; None: its size.
        padding: zeros added on each side.
        mode: ``"average_count_exclude_padding"`` divides by the number of pixels inside the image,
            ``"average"`` by the size of the window. Means of integers are rounded to nearest with
            the first (halves away from zero), and towards zero with the second. ``"max"`` is
            ``max_pool2d``.
    Returns:
        (N, C, OH, OW), of the dtype of ``inp``.
    Raises:
        RuntimeError: ``mode`` is unknown, or the window is larger than the padded image.
    Example:
        >>> F.avg_pool2d(F.reshape(F.arange(4), (1, 1, 2, 2)), 2)
        Tensor([[[[1.5]]]], device=xpux:0)
    """
    if str(mode).lower() == "max":
        return max_pool2d(inp, kernel_size, stride, padding)
    if str(mode).lower() not in _AVERAGE_MODES:
        raise RuntimeError(f"[avg_pool2d] mode must be in {[*_AVERAGE_MODES, 'max']}, got {mode!r}")
    kernel = pair(kernel_size, "avg_pool2d", "kernel_size")
    include_pad = _AVERAGE_MODES[str(mode).lower()]
    return _pooled(
        _mge.ops.avg_pool2d,
        inp,
        rounds=not include_pad,
        kernel=kernel,
        stride=kernel if stride is None else pair(stride, "avg_pool2d", "stride"),
        padding=pair(padding, "avg_pool2d", "padding"),
        count_include_pad=include_pad,
    )


def adaptive_max_pool2d(inp: Tensor, oshp: Pair | Tensor) -> Tensor:
    """Largest value of each cell of a grid laid over the image.

    Args:
        inp: (N, C, H, W), of floats or bytes.
        oshp: rows and columns of the grid.
    Returns:
        (N, C, *oshp), of the dtype of ``inp``.
    Example:
        >>> F.adaptive_max_pool2d(F.reshape(F.arange(4), (1, 1, 2, 2)), 1)
        Tensor([[[[3.]]]], device=xpux:0)
    """
    height, width = pair(oshp, "adaptive_max_pool2d", "oshp")
    return _pooled(_mge.ops.adaptive_max_pool2d, inp, height=height, width=width)


def adaptive_avg_pool2d(inp: Tensor, oshp: Pair | Tensor) -> Tensor:
    """Mean of each cell of a grid laid over the image.

    Args:
        inp: (N, C, H, W), floating or 8-bit integers, whose means are rounded towards zero.
        oshp: height and width of the result.
    Returns:
        (N, C, *oshp), of the dtype of ``inp``.
    Example:
        >>> F.adaptive_avg_pool2d(F.reshape(F.arange(4), (1, 1, 2, 2)), 1)
        Tensor([[[[1.5]]]], device=xpux:0)
    """
    height, width = pair(oshp, "adaptive_avg_pool2d", "oshp")
    return _pooled(_mge.ops.adaptive_avg_pool2d, inp, height=height, width=width)
