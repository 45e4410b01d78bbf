# SPDX-License-Identifier: Apache-2.0
"""Images mirrored, turned, resized and warped."""

from collections.abc import Sequence

import numpy as np

from ... import _mge
from ...core.operands import beside
from ...core.tensor.extents import extent
from ...functional import vision as F
from ...tensor import Tensor
from ..module import Module
from .pixels import RandomFactors, bordered, in_floats


class Flip(Module):
    """Images mirrored; see ``functional.vision.flip``.

    Args:
        vertical: exchange top and bottom.
        horizontal: exchange left and right.
    Example:
        >>> from megengine.module.vision import Flip
        >>> Flip()(F.reshape(F.arange(2), (1, 2, 1, 1))).flatten()
        Tensor([1. 0.], device=xpux:0)
    """

    def __init__(self, vertical: bool = True, horizontal: bool = True):
        super().__init__()
        self.vertical, self.horizontal = vertical, horizontal

    def forward(self, inp: Tensor) -> Tensor:
        """Images (N, H, W, C), mirrored."""
        return F.flip(inp, self.vertical, self.horizontal)


class _RandomFlip(Module):
    def __init__(self, prob: float):
        super().__init__()
        if not 0 <= prob <= 1:
            raise ValueError(f"[{type(self).__name__}] prob must be in [0, 1], got {prob}")
        self.prob = prob
        self._random = RandomFactors(None)

    def _flipped(self, inp: Tensor, **axes: bool) -> Tensor:
        with beside(inp):
            chosen = self._random.draw("uniform", 0, 1, (extent(inp, 0), 1, 1, 1)) < self.prob
        return _mge.ops.where(chosen, F.flip(inp, **axes), inp)


class RandomHorizontalFlip(_RandomFlip):
    """Left and right exchanged, in each image with some chance.

    Args:
        prob: the chance.
    Raises:
        ValueError: ``prob`` is not in [0, 1].
    Example:
        >>> from megengine.module.vision import RandomHorizontalFlip
        >>> RandomHorizontalFlip(1.0)(F.reshape(F.arange(2), (1, 1, 2, 1))).flatten()
        Tensor([1. 0.], device=xpux:0)
    """

    def __init__(self, prob: float = 0.5):
        super().__init__(prob)

    def forward(self, inp: Tensor) -> Tensor:
        """Images (N, H, W, C), some of them mirrored."""
        return self._flipped(inp, vertical=False, horizontal=True)


class RandomVerticalFlip(_RandomFlip):
    """Top and bottom exchanged, in each image with some chance.

    Args:
        prob: the chance.
    Raises:
        ValueError: ``prob`` is not in [0, 1].
    Example:
        >>> from megengine.module.vision import RandomVerticalFlip
        >>> RandomVerticalFlip(1.0)(F.reshape(F.arange(2), (1, 2, 1, 1))).flatten()
        Tensor([1. 0.], device=xpux:0)
    """

    def __init__(self, prob: float = 0.5):
        super().__init__(prob)

    def forward(self, inp: Tensor) -> Tensor:
        """Images (N, H, W, C), some of them mirrored."""
        return self._flipped(inp, vertical=True, horizontal=False)


class Resize(Module):
    """Images resized; see ``functional.vision.resize``.

    Args:
        size: height and width, or the length of the shorter edge.
        format: ``"NCHW"`` or ``"NHWC"``.
        imode: ``"linear"``, ``"nearest"`` or ``"cubic"``.
    Example:
        >>> from megengine.module.vision import Resize
        >>> Resize((2, 3))(F.ones((1, 3, 4, 6))).shape
        (1, 3, 2, 3)
    """

    def __init__(self, size: int | Sequence[int], format: str = "NCHW", imode: str = "linear"):
        super().__init__()
        self.size, self.format, self.imode = size, format, imode

    def forward(self, inp: Tensor) -> Tensor:
        """Images resized."""
        return F.resize(inp, self.size, self.format, self.imode)


class Rot90(Module):
    """Images turned by 90 degrees; see ``functional.vision.rot90``.

    Args:
        clockwise: direction.
    Example:
        >>> from megengine.module.vision import Rot90
        >>> Rot90()(F.reshape(F.arange(2), (1, 2, 1, 1))).flatten()
        Tensor([1. 0.], device=xpux:0)
    """

    def __init__(self, clockwise: bool = True):
        super().__init__()
        self.clockwise = clockwise

    def forward(self, inp: Tensor) -> Tensor:
        """Images (N, H, W, C), turned."""
        return F.rot90(inp, self.clockwise)


class Rotate(Module):
    """Images turned about their middle; see ``functional.vision.rotate``.

    Args:
        angle: in degrees, against the clock.
        format: ``"NCHW"`` or ``"NHWC"``.
        interp_mode: ``"bilinear"`` or ``"nearest"``.
    Example:
        >>> from megengine.module.vision import Rotate
        >>> Rotate(30.0)(F.ones((1, 3, 4, 4))).shape
        (1, 3, 4, 4)
    """

    def __init__(self, angle: float = 0.0, format: str = "NCHW", interp_mode: str = "bilinear"):
        super().__init__()
        self.angle, self.format, self.interp_mode = angle, format, interp_mode

    def forward(self, inp: Tensor) -> Tensor:
        """Images turned."""
        return F.rotate(inp, self.angle, self.format, self.interp_mode)


class Remap(Module):
    """Sample images at given positions; see ``functional.remap``.

    Example:
        >>> from megengine.module.vision import Remap
        >>> x, rows = F.reshape(F.arange(4), (1, 1, 2, 2)), F.zeros((1, 1, 1))
        >>> Remap()(x, rows + 0.5, rows).item()
        0.5
    """

    def forward(
        self,
        inp: Tensor,
        map_1: Tensor,
        map_2: Tensor | None,
        interpolation: str = "linear",
        borderMode: str = "replicate",
        borderValue: float = 0.0,
    ) -> Tensor:
        """Images warped.

        Args:
            inp: (N, C, H, W).
            map_1: (N, OH, OW), columns; or with ``map_2`` None (N, OH, OW, 2), columns and rows.
            map_2: (N, OH, OW), rows.
            interpolation: ``"linear"`` or ``"nearest"``.
            borderMode: as ``border_mode`` of ``functional.remap``.
            borderValue: of a constant border.
        Returns:
            (N, C, OH, OW), of the dtype of ``inp``.
        Raises:
            RuntimeError: the shapes do not fit or a mode is unknown.
        """
        places = map_1
        if map_2 is not None:
            columns, rows = (_mge.ops.add_axis(m, axes=[3]) for m in (map_1, map_2))
            places = _mge.ops.concat(columns, rows, axis=3)
        return F.remap(inp, places, borderMode, borderValue, interpolation)


class CropAndPad(Module):
    """Remove or add margins, and resize the result to the original size.

    Args:
        mode: of ``functional.vision.interpolate``.
        align_corners: of it; for the linear modes.
    Example:
        >>> from megengine.module.vision import CropAndPad
        >>> CropAndPad()(F.ones((1, 3, 8, 8)), -0.25).shape
        (1, 3, 8, 8)
    """

    def __init__(self, mode: str = "bilinear", align_corners: bool = False):
        super().__init__()
        self.mode, self.align_corners = mode, align_corners

    def forward(self, inp: Tensor, percent, pad_val: float | None = None) -> Tensor:
        """Images (N, C, H, W) with other margins.

        Args:
            inp: floating or 8-bit integer images.
            percent: margin of each side as a share of the height or width: a positive margin is
                added, a negative one removed. One number, or four: top, right, bottom, left.
            pad_val: value of added pixels; None repeats the edge.
        Returns:
            Tensor of the shape and dtype of ``inp``.
        Raises:
            ValueError: the result would be empty, or there are neither one nor four numbers.
        """
        shares = [float(v) for v in np.asarray(percent, np.float64).reshape(-1)]
        if len(shares) not in (1, 4):
            raise ValueError(f"[CropAndPad] percent is one number or four, got {percent!r}")
        top, right, bottom, left = shares * (4 // len(shares))
        return in_floats(
            lambda images: self._changed(images, (top, bottom), (left, right), pad_val), inp
        )

    def _changed(self, images: Tensor, rows: tuple, columns: tuple, pad_val) -> Tensor:
        sizes = images._tuple_shape[2:]
        rows, columns = (
            [round(share * size) for share in shares]
            for shares, size in zip((rows, columns), sizes, strict=True)
        )
        for size, widths in zip(sizes, (rows, columns), strict=True):
            if size + sum(min(w, 0) for w in widths) < 1:
                raise ValueError(f"[CropAndPad] of {size} pixels nothing would be left: {widths}")
        kept = [
            slice(-min(before, 0), size + min(after, 0))
            for size, (before, after) in zip(sizes, (rows, columns), strict=True)
        ]
        added = [tuple(max(w, 0) for w in widths) for widths in (rows, columns)]
        border = "REPLICATE" if pad_val is None else "CONSTANT"
        images = bordered(images[:, :, kept[0], kept[1]], *added, border, pad_val or 0.0)
        align = self.align_corners if self.mode in ("linear", "bilinear", "trilinear") else None
        return F.interpolate(images, sizes, None, self.mode, align)
