# SPDX-License-Identifier: Apache-2.0
"""Colours of images (N, H, W, C)."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..tensor import Tensor
from .creation import as_tensor
from .yuv420 import MODES, from_yuv420

# Channels of the result, as channels of the input.
_ORDERS = {
    "RGB2BGR": (2, 1, 0),
    "BGR2RGB": (2, 1, 0),
    "RGBA2RGB": (0, 1, 2),
    "RGBA2BGR": (2, 1, 0),
    "GRAY2RGB": (0, 0, 0),
    "GRAY2BGR": (0, 0, 0),
}
# Shares of red, green and blue in the brightness (ITU-R BT.601).
_BRIGHTNESS = (0.299, 0.587, 0.114)
_BLUE_DIFFERENCE, _RED_DIFFERENCE = 0.492, 0.877  # scales of U and V
_FROM_YUV = {"blue": 2.032, "green_u": -0.395, "green_v": -0.581, "red": 1.140}
# Integers are computed with this many binary places.
_SHIFT = 14


def cvt_color(inp: Tensor, mode: str = "") -> Tensor:
    """Images in another system of colours.

    Args:
        inp: (N, H, W, C), uint8 (0 to 255) or float32 (0 to 1).
        mode: ``"RGB2GRAY"``, ``"BGR2GRAY"``, ``"RGBA2GRAY"``, ``"RGB2YUV"``, ``"YUV2RGB"``,
            ``"RGB2BGR"``, ``"BGR2RGB"``, ``"RGBA2RGB"``, ``"RGBA2BGR"``, ``"GRAY2RGB"`` or
            ``"GRAY2BGR"``. As in MegEngine, channel 0 of the two YUV modes is blue. For 4:2:0
            images, uint8 (N, 3 H / 2, W, 1): ``"YUV2RGB_NV21"``, also with ``BGR`` or ``GRAY``
            instead of ``RGB``, with ``NV12``, ``YV12`` or ``YU12`` instead of ``NV21``, and with
            ``BT601_`` before it for bytes from 16 to 235; ``"YCrCb2RGB"`` and ``"YCrCb2BGR"`` mean
            ``NV21``.
    Returns:
        (N, H, W, channels of the new colour space), of the dtype of ``inp``.
    Raises:
        AssertionError: ``mode`` is unknown.
        RuntimeError: the number of channels is not that of the mode.
        TypeError: ``inp`` is neither uint8 nor float32.
    Example:
        >>> F.vision.cvt_color(F.ones((1, 1, 1, 3)), "RGB2GRAY").shape
        (1, 1, 1, 1)
    """
    inp = as_tensor(inp)
    modes = {known.upper(): known for known in (*_ORDERS, *_COMPUTED, *MODES)}
    assert str(mode).upper() in modes, (
        f"[cvt_color] mode must be in {list(modes.values())}, got {mode!r}"
    )
    mode = modes[str(mode).upper()]
    if mode in MODES:
        return from_yuv420(inp, mode)
    channels = {"GRAY": 1, "RGBA": 4}.get(mode.split("2")[0], 3)
    if inp.ndim != 4 or inp._tuple_shape[3] != channels:
        raise RuntimeError(
            f"[cvt_color] {mode} wants shape (N, H, W, {channels}), got {inp._tuple_shape}"
        )
    if inp.dtype not in (np.uint8, np.float32):
        raise TypeError(f"[cvt_color] the input must be uint8 or float32, got {inp.dtype}")
    if mode in _ORDERS:
        return _mge.ops.take(inp, np.array(_ORDERS[mode], np.int32), axes=[3])
    return _COMPUTED[mode](inp)


def _channel(x: Tensor, i: int) -> Tensor:
    return x[:, :, :, i : i + 1]


def _weighted(terms: Iterable[tuple[Any, float]]) -> Tensor:
    """Sum of value * weight; of integers in fixed point, rounded."""
    values, weights = zip(*terms, strict=True)
    if values[0].dtype == np.float32:
        products = [v * w for v, w in zip(values, weights, strict=True)]
        return _sum(products)
    products = [v * round(w * (1 << _SHIFT)) for v, w in zip(values, weights, strict=True)]
    return _mge.ops.right_shift(_sum(products) + (1 << (_SHIFT - 1)), _SHIFT)


def _sum(parts: Sequence[Tensor]) -> Tensor:
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    return total


def _computed(inp: Tensor, compute: Callable[..., Sequence[Tensor]]) -> Tensor:
    """compute(channels, middle of the range); integers are clipped to the range of a byte."""
    if inp.dtype == np.float32:
        parts = compute([_channel(inp, i) for i in range(inp._tuple_shape[3])], 0.5)
    else:
        wide = inp.astype("int32")
        parts = compute([_channel(wide, i) for i in range(inp._tuple_shape[3])], 128)
        parts = [_mge.ops.clip(p, lower=0, upper=255).astype("uint8") for p in parts]
    return _mge.ops.concat(*parts, axis=3) if len(parts) > 1 else parts[0]


def _brightness(rgb: Sequence[Tensor]) -> Tensor:
    return _weighted(list(zip(rgb, _BRIGHTNESS, strict=True)))


def _to_yuv(rgb: Sequence[Tensor], middle: float) -> Sequence[Tensor]:
    y = _brightness(rgb)
    u = _weighted([(rgb[2] - y, _BLUE_DIFFERENCE)]) + middle
    v = _weighted([(rgb[0] - y, _RED_DIFFERENCE)]) + middle
    return [y, u, v]


def _from_yuv(yuv: Sequence[Tensor], middle: float) -> Sequence[Tensor]:
    y, u, v = yuv[0], yuv[1] - middle, yuv[2] - middle
    green = y + _weighted([(u, _FROM_YUV["green_u"]), (v, _FROM_YUV["green_v"])])
    return [y + _weighted([(v, _FROM_YUV["red"])]), green, y + _weighted([(u, _FROM_YUV["blue"])])]


_COMPUTED = {
    "RGB2GRAY": lambda x: _computed(x, lambda c, _: [_brightness(c)]),
    "BGR2GRAY": lambda x: _computed(x, lambda c, _: [_brightness(c[::-1])]),
    "RGBA2GRAY": lambda x: _computed(x, lambda c, _: [_brightness(c[:3])]),
    # Recorded from MegEngine: the colours of these two are blue, green, red.
    "RGB2YUV": lambda x: _computed(x, lambda c, middle: _to_yuv(c[::-1], middle)),
    "YUV2RGB": lambda x: _computed(x, lambda c, middle: _from_yuv(c, middle)[::-1]),
}
