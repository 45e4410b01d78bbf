# SPDX-License-Identifier: Apache-2.0
"""Images of cameras and videos: a byte of brightness for a pixel, two of colour for four pixels."""

import numpy as np

from .. import _mge
from ..tensor import Tensor
from .tensor import repeat

# Behind the rows of brightness: pairs of colours (NV), or one plane of colour after the other.
_PAIRS, _PLANES = ("NV21", "NV12"), ("YV12", "YU12")
_RED_FIRST = ("NV21", "YV12")
_RGB = ("RGB", "BGR")

# Layout, order of the colours, and whether the bytes are those of ITU-R BT.601 (16 to 235), by
# mode.
MODES = {
    **{f"YUV2{to}_{layout}": (layout, to, False) for layout in _PAIRS + _PLANES for to in _RGB},
    **{f"YUV2GRAY_{layout}": (layout, "GRAY", False) for layout in _PAIRS + _PLANES},
    **{
        f"BT601_YUV2{to}_{layout}": (layout, to, True) for layout in _PAIRS + _PLANES for to in _RGB
    },
    **{f"YCrCb2{to}": ("NV21", to, False) for to in _RGB},
}


def from_yuv420(inp: Tensor, mode: str) -> Tensor:
    """Red, green and blue, or the brightness, of 4:2:0 images.

    Args:
        inp: uint8 (N, 3 H / 2, W, 1).
        mode: one of ``MODES``.
    Returns:
        uint8 (N, H, W, 3), or (N, H, W, 1) of brightness.
    Raises:
        RuntimeError: the shape is another one.
        TypeError: ``inp`` is not uint8.
    """
    layout, to, is_studio = MODES[mode]
    part = 3 if layout in _PAIRS else 6
    shape = inp._tuple_shape
    if len(shape) != 4 or shape[3] != 1 or shape[1] % part or shape[2] % 2:
        raise RuntimeError(
            f"[cvt_color] {mode} wants shape (N, multiple of {part}, multiple of 2, 1), got {shape}"
        )
    if inp.dtype != np.uint8:
        raise TypeError(f"[cvt_color] the input of {mode} must be uint8, got {inp.dtype}")
    rows = inp.shape[1] // 3 * 2
    brightness = inp[:, :rows]
    if to == "GRAY":
        return brightness
    parts = (brightness, *_colours(inp[:, rows:], layout))
    wide = [part.astype("int32") for part in parts]
    colours = (_studio if is_studio else _whole)(wide[0], wide[1] - 128, wide[2] - 128)
    bytes_ = [_mge.ops.clip(c, lower=0, upper=255).astype("uint8") for c in colours]
    return _mge.ops.concat(*(bytes_ if to == "RGB" else bytes_[::-1]), axis=3)


def _colours(chroma: Tensor, layout: str) -> list[Tensor]:
    """U and V of each pixel."""
    n, rows, columns, _ = chroma.shape
    if layout in _PAIRS:
        pairs = chroma.reshape(n, rows, columns // 2, 2)
        found = [pairs[:, :, :, :1], pairs[:, :, :, 1:]]
    else:
        planes = chroma.reshape(n, 2, rows, columns // 2, 1)
        found = [planes[:, 0], planes[:, 1]]
    each = [repeat(repeat(colour, 2, axis=1), 2, axis=2) for colour in found]
    return each[::-1] if layout in _RED_FIRST else each


def _whole(y: Tensor, u: Tensor, v: Tensor) -> list[Tensor]:
    shift = _mge.ops.right_shift
    red, blue = y + shift(v * 359, 8), y + shift(u * 454, 8)
    return [red, y - shift(u * 88 + v * 183, 8), blue]


def _studio(y: Tensor, u: Tensor, v: Tensor) -> list[Tensor]:
    shift = _mge.ops.right_shift
    # 1.164 (y - 16) in 64ths, and a half to round.
    y = shift(y * (257 * 18997), 16) - 1160
    return [shift(c, 6) for c in (y + v * 102, y - u * 25 - v * 52, y + u * 128)]
