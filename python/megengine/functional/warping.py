# SPDX-License-Identifier: Apache-2.0
"""Images seen through a map of places: remapping, affine and perspective transformations."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.nesting import array_of
from ..core.operands import Operand, as_number, at_least, beside, height_and_width, is_whole
from ..core.tensor.extents import Extent, extent_argument, extents, known, reshaped_with
from ..core.tensor.shaping import broadcast
from ..tensor import Tensor
from .creation import arange, as_tensor, as_tensors

# Steps in a pixel that OpenCV distinguishes, and in the terms of an affine sum.
_STEPS, _AFFINE_STEPS = 32, 1024
_BORDERS = ("constant", "replicate", "reflect", "reflect_101", "wrap")


def _border(mode: str, who: str) -> str:
    name = str(mode).lower()
    if name not in _BORDERS:
        raise RuntimeError(f"[{who}] border_mode must be in {list(_BORDERS)}, got {mode!r}")
    return name


def _layout(format: str, who: str) -> str:
    name = str(format).upper()
    if name not in ("NHWC", "NCHW"):
        raise RuntimeError(f"[{who}] format must be 'NHWC' or 'NCHW', got {format!r}")
    return name


def remap(
    inp: Tensor,
    map_xy: Tensor,
    border_mode: str = "replicate",
    scalar: float = 0.0,
    interp_mode: str = "linear",
) -> Tensor:
    """Sample images at given positions.

    Args:
        inp: (N, C, H, W), floats, uint8 or int8.
        map_xy: (N, OH, OW, 2), float32: column and row of each sample, in pixels.
        border_mode: the values outside of the images: ``"replicate"``, ``"constant"``,
            ``"reflect"`` (the edge is repeated), ``"reflect_101"`` or ``"wrap"``.
        scalar: the constant.
        interp_mode: ``"linear"`` or ``"nearest"``.
    Returns:
        (N, C, OH, OW), of the dtype of ``inp``.
    Raises:
        RuntimeError: the shapes do not fit or a mode is unknown.
    Example:
        >>> F.remap(F.reshape(F.arange(4), (1, 1, 2, 2)), Tensor([[[[0.5, 0.0]]]]))
        Tensor([[[[0.5]]]], device=xpux:0)
    """
    return _Sampler(border_mode, scalar, interp_mode, "remap")(inp, map_xy)


class _Sampler:
    """Takes samples of images by these modes."""

    def __init__(self, border_mode: str, value: Any, interp_mode: str, who: str) -> None:
        self.mode = str(interp_mode).lower()
        if self.mode not in ("linear", "nearest"):
            raise RuntimeError(
                f"[{who}] interp_mode must be 'linear' or 'nearest', got {interp_mode!r}"
            )
        self._border, self._value = _border(border_mode, who), float(value)

    def __call__(self, inp: Tensor, places: Tensor, image: Operand | None = None) -> Tensor:
        return _mge.ops.remap(
            inp,
            places,
            image,
            interpolation=self.mode,
            border=self._border,
            value=self._value,
        )

    def of_format(
        self, inp: Tensor, places: Tensor, format: str, image: Operand | None = None
    ) -> Tensor:
        """Samples (N, C, H, W) or (N, H, W, C)."""
        if format == "NCHW":
            return self(inp, places, image)
        out = self(_mge.ops.transpose(inp, pattern=[0, 3, 1, 2]), places, image)
        return _mge.ops.transpose(out, pattern=[0, 2, 3, 1])

    def in_steps(
        self, inp: Tensor, exact: Tensor, places: Tensor, image: Operand | None = None
    ) -> Tensor:
        """Samples (N, H, W, C); with the gradients of the exact places."""
        if _mge.is_recorded(exact):
            places = places.detach() + (exact - exact.detach())  # adds 0
        images = inp.astype("float32") if inp.dtype == np.uint8 else inp
        out = self.of_format(images, places, "NHWC", image)
        if inp.dtype == np.uint8:  # rounded half up
            out = _mge.ops.floor(_mge.ops.add(out, 0.5)).astype("uint8")
        return out


def _size(out_shape: Any, who: str) -> tuple[Extent, Extent]:
    if is_whole(out_shape) or isinstance(out_shape, Tensor) and out_shape.size == 1:
        out_shape = (out_shape, out_shape)
    sizes = height_and_width(out_shape, who, "out_shape")
    height, width = (extent_argument(n, who, "out_shape") for n in sizes)
    at_least(who, 1, out_shape=known((height, width)))
    return height, width


def _rows_and_columns(height: Extent, width: Extent) -> tuple[Any, Any]:
    """(height, 1) and (1, width), float32: the numbers of rows and columns."""
    if isinstance(height, int) and isinstance(width, int):
        rows, columns = np.ogrid[:height, :width]
        return rows.astype(np.float32), columns.astype(np.float32)
    return arange(height)[:, None], arange(width)[None]


def _homogeneous_places(height: Extent, width: Extent) -> Operand:
    """(1, height * width, 3): column, row and 1 of every pixel."""
    rows, columns = _rows_and_columns(height, width)
    rows, columns = rows + 0 * columns, columns + 0 * rows
    parts = (columns, rows, 0 * rows + 1)
    if isinstance(rows, np.ndarray):
        return np.stack(parts, axis=-1).reshape(1, -1, 3)
    places = _mge.ops.concat(*(_mge.ops.add_axis(p, axes=[2]) for p in parts), axis=2)
    return _mge.ops.reshape(places, shape=[1, -1, 3])


def _is_in_steps(inp: Tensor, format: str) -> bool:
    """Whether MegEngine leaves the images to OpenCV, which rounds positions."""
    is_known = inp.dtype in (np.float32, np.uint8)
    return is_known and format == "NHWC" and inp.ndim == 4 and inp._tuple_shape[3] <= 3


def _affine_steps(mat: Tensor, height: Extent, width: Extent, is_nearest: bool) -> Tensor:
    """(N, height, width, 2): columns and rows are rounded each for itself before they are added."""
    rows, columns = _rows_and_columns(height, width)
    matrices = _mge.ops.reshape(mat.detach(), shape=[-1, 1, 1, 2, 3])
    across, down, shift = (matrices[..., i] for i in range(3))
    across = across * columns[None, ..., None]
    down = down * rows[None, ..., None] + shift
    kept = 1 if is_nearest else _STEPS
    terms = (_mge.ops.round_to_even(term * float(_AFFINE_STEPS)) for term in (across, down))
    sums = _mge.ops.add(_mge.ops.add(*terms), _AFFINE_STEPS / kept / 2)
    return _mge.ops.floor(sums * (kept / _AFFINE_STEPS)) * (1 / kept)


def warp_affine(
    inp: Tensor,
    mat: Tensor,
    out_shape: Sequence[int] | Tensor,
    border_mode: str = "replicate",
    border_val: float = 0.0,
    format: str = "NHWC",
    interp_mode: str = "linear",
) -> Tensor:
    """Affine transformation: pixel (x, y) of the result is the input's pixel at ``mat @ (x, y,
    1)``.

    Args:
        inp: (N, H, W, C), or (N, C, H, W) with ``format="NCHW"``.
        mat: (N, 2, 3).
        out_shape: height and width of the result.
        border_mode, interp_mode: as in ``remap``.
        border_val: the constant of border mode ``"constant"``.
        format: ``"NHWC"`` or ``"NCHW"``.
    Returns:
        (N, *out_shape, C), or (N, C, *out_shape). Positions in images of float32 or uint8 with
        the format ``"NHWC"`` and up to three channels are rounded to 1/32 pixel.
    Raises:
        RuntimeError: the shapes do not fit, or a mode or the format is unknown.
    Example:
        >>> moved = Tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]])
        >>> F.warp_affine(F.reshape(F.arange(4), (1, 2, 2, 1)), moved, (1, 1)).item()
        1.0
    """
    inp, mat = as_tensors(inp, mat)
    who = "warp_affine"
    format = _layout(format, who)
    height, width = _size(out_shape, who)
    places = _affine_places(mat, height, width)
    sampler = _Sampler(border_mode, border_val, interp_mode, who)
    if _is_in_steps(inp, format):
        steps = _affine_steps(mat, height, width, sampler.mode == "nearest")
        return sampler.in_steps(inp, places, steps)
    return _affine(inp, places, format, sampler)


def _affine_places(mat: Tensor, height: Extent, width: Extent) -> Tensor:
    places = _mge.ops.matmul(_homogeneous_places(height, width), mat, transpose_b=True)
    return reshaped_with(places, [-1, height, width, 2])


def _affine(inp: Tensor, places: Tensor, format: str, sampler: _Sampler) -> Tensor:
    if sampler.mode == "nearest":
        # Unlike remap, which takes the even pixel, this takes the later one of two equally near.
        places = _mge.ops.floor(_mge.ops.add(places, 0.5))
    return sampler.of_format(inp, places, format)


def warp_perspective(
    inp: Tensor,
    mat: Tensor,
    out_shape: Sequence[int] | Tensor,
    mat_idx: Sequence[int] | Tensor | None = None,
    border_mode: str = "replicate",
    border_val: float = 0.0,
    format: str = "NCHW",
    interp_mode: str = "linear",
) -> Tensor:
    """Perspective transformation: pixel (x, y) of the result is the input's pixel at (u / w, v /
    w), where (u, v, w) = ``mat @ (x, y, 1)``.

    Args:
        inp: (N, C, H, W), or (N, H, W, C) with ``format="NHWC"``; floats, uint8 or int8.
        mat: (M, 3, 3).
        out_shape: height and width of the result.
        mat_idx: (M,), the image for each matrix; None: M = N, one matrix per image.
        border_mode: as in ``remap``.
        border_val: the constant of border mode ``"constant"``.
        format: ``"NCHW"`` or ``"NHWC"``.
        interp_mode: only ``"linear"``.
    Returns:
        (M, C, *out_shape), or (M, *out_shape, C), of the dtype of ``inp``; float32 for float16.
        Positions are rounded as by ``warp_affine``.
    Raises:
        RuntimeError: the shapes do not fit, or a mode or the format is unknown.
    Example:
        >>> moved = Tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]])
        >>> F.warp_perspective(F.reshape(F.arange(4), (1, 1, 2, 2)), moved, (1, 1)).item()
        1.0
    """
    inp = as_tensor(inp)
    who = "warp_perspective"
    format = _layout(format, who)
    if str(interp_mode).lower() != "linear":
        raise RuntimeError(f"[{who}] interp_mode must be 'linear', got {interp_mode!r}")
    height, width = _size(out_shape, who)
    if inp.dtype == np.float16:
        inp = inp.astype("float32")
    places = _mge.ops.matmul(_homogeneous_places(height, width), mat, transpose_b=True)
    places = _mge.ops.div(places[:, :, :2], places[:, :, 2:])
    places = reshaped_with(places, [-1, height, width, 2])
    image: Any = mat_idx
    if mat_idx is not None and not isinstance(mat_idx, Tensor):
        image = array_of(mat_idx, who, np.int32)
    sampler = _Sampler(border_mode, border_val, interp_mode, who)
    if _is_in_steps(inp, format):
        steps = _mge.ops.round_to_even(places.detach() * float(_STEPS)) * (1 / _STEPS)
        return sampler.in_steps(inp, places, steps, image)
    return sampler.of_format(inp, places, format, image)


def rotate(
    inp: Tensor, angle: float = 0.0, format: str = "NCHW", interp_mode: str = "bilinear"
) -> Tensor:
    """Rotate images about their centre; pixels from outside are 0.

    Args:
        inp: (N, C, H, W), or (N, H, W, C) with ``format="NHWC"``.
        angle: in degrees, against the clock.
        format: ``"NCHW"`` or ``"NHWC"``.
        interp_mode: ``"bilinear"`` (or ``"linear"``) or ``"nearest"``.
    Returns:
        Tensor of the shape and dtype of ``inp``.
    Raises:
        RuntimeError: the mode or the format is unknown.
        AssertionError: the rank is not 4.
    Example:
        >>> F.vision.rotate(F.reshape(F.arange(4), (1, 1, 2, 2)), 90).flatten()
        Tensor([1. 3. 0. 2.], device=xpux:0)
    """
    inp = as_tensor(inp)
    assert inp.ndim == 4, f"[rotate] the input must have rank 4, got {inp.ndim}"
    format = _layout(format, "rotate")
    images, *sizes = extents(inp, 0)
    height, width = sizes[:2] if format == "NHWC" else sizes[1:]
    turn = np.deg2rad(as_number(angle, "rotate", "angle"))
    # Quarters of a turn to the last bit: other cosines of them are not 0.
    cos, sin = (float(np.round(v, 15)) for v in (np.cos(turn), np.sin(turn)))
    middle = ((width - 1) / 2, (height - 1) / 2)
    with beside(inp):
        rows, columns = arange(height)[:, None] - middle[1], arange(width)[None] - middle[0]
    # A pixel of the result comes from where the turn back leads, about the middle.
    across = columns * cos - rows * sin + middle[0]
    down = columns * sin + rows * cos + middle[1]
    places = _mge.ops.concat(*(_mge.ops.add_axis(p, axes=[2]) for p in (across, down)), axis=2)
    places = broadcast(places, (images, height, width, 2))
    mode = "linear" if str(interp_mode).lower() == "bilinear" else interp_mode
    return _affine(inp, places, format, _Sampler("constant", 0.0, mode, "rotate"))
