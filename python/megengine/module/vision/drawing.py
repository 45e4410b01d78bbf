# SPDX-License-Identifier: Apache-2.0
"""Polygons in images."""

from collections.abc import Sequence

import numpy as np

from ... import _mge
from ...core.opencv import opencv
from ...core.operands import beside
from ...tensor import Tensor
from ..module import Module


class FillPoly(Module):
    """Fill polygons with a colour; OpenCV determines their inside.

    Example:
        >>> from megengine.module.vision import FillPoly
        >>> corners = np.array([[0, 0], [2, 0], [2, 2], [0, 2]])
        >>> FillPoly()(F.zeros((1, 1, 4, 4)), corners, 5.0).sum().item()
        45.0
    """

    def forward(self, img: Tensor, pts, color: float | Sequence[float]) -> Tensor:
        """Images with a polygon.

        Args:
            img: (N, C, H, W).
            pts: (P, 2), column and row of the corners, in pixels; or a list of such polygons, where
                areas covered by an odd number of them are filled.
            color: a number for each channel, or one for all.
        Returns:
            Tensor of the shape and dtype of ``img``.
        Raises:
            ImportError: OpenCV is not installed.
            ValueError: the shapes do not fit.
        """
        polygons = [self._corners(p) for p in (pts if isinstance(pts, (list, tuple)) else [pts])]
        channels, height, width = img._tuple_shape[1:]
        values = np.broadcast_to(np.asarray(color, np.float32).reshape(-1), (channels,))
        inside = np.zeros((height, width), np.uint8)
        opencv().fillPoly(inside, polygons, 1)
        mask = inside.astype(bool).reshape(1, 1, height, width)
        with beside(img):
            colour = Tensor(values.reshape(1, channels, 1, 1)).astype(img.dtype)
        return _mge.ops.where(mask, colour, img)

    @staticmethod
    def _corners(points) -> np.ndarray:
        points = np.asarray(points.numpy() if isinstance(points, Tensor) else points)
        if points.ndim != 2 or points.shape[1] != 2:
            raise ValueError(f"[FillPoly] a polygon has the shape (P, 2), got {points.shape}")
        return np.ascontiguousarray(points, np.int32)
