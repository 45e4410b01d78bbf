# SPDX-License-Identifier: Apache-2.0
"""Detection operators: RoI pooling and non-maximum suppression."""

import numpy as np

from .. import _mge
from ..core.operands import Pair, as_number, at_least, pair
from ..core.tensor.dtype import is_integer
from ..tensor import Tensor
from .creation import as_tensors
from .pooling import avg_pool2d, max_pool2d


def nms(boxes: Tensor, scores: Tensor, iou_thresh: float, max_output: int | None = None) -> Tensor:
    """Non-maximum suppression.

    Args:
        boxes: (N, 4), corners x1, y1, x2, y2.
        scores: (N,).
        iou_thresh: largest accepted intersection over union of two boxes.
        max_output: largest number of boxes; None: all.
    Returns:
        int32 indices of the kept boxes, best score first. Among equal scores the last box is first,
        as in ``argsort`` with ``descending``.
    Raises:
        AssertionError: the shapes are wrong.
    Example:
        >>> boxes = Tensor([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 1.9], [3.0, 3.0, 4.0, 4.0]])
        >>> F.vision.nms(boxes, Tensor([0.5, 0.6, 0.7]), 0.5)
        Tensor([2 1], dtype=int32, device=xpux:0)
    """
    boxes, scores = as_tensors(boxes, scores)
    assert boxes.ndim == 2 and boxes._tuple_shape[1] == 4, (
        f"[nms] boxes must have shape (N, 4), got {boxes._tuple_shape}"
    )
    assert scores._tuple_shape == boxes._tuple_shape[:1], (
        f"[nms] scores must have shape {boxes._tuple_shape[:1]}, got {scores._tuple_shape}"
    )
    assert max_output is None or max_output >= 0, f"[nms] max_output is negative: {max_output}"
    ordered, order = _mge.ops.sort(scores.astype("float32"), axis=0, descending=True)
    kept = _mge.ops.nms(
        boxes.astype("float32")[order],
        ordered,
        threshold=as_number(iou_thresh, "nms", "iou_thresh"),
        max_output=-1 if max_output is None else int(max_output),
    )
    return order[kept]


def roi_pooling(
    inp: Tensor, rois: Tensor, output_shape: Pair, mode: str = "max", scale: float = 1.0
) -> Tensor:
    """Regions of feature maps, pooled to one size (Fast R-CNN).

    Args:
        inp: (N, C, H, W).
        rois: (R, 5): index of the image and the corners x1, y1, x2, y2.
        output_shape: height and width of the result.
        mode: ``"max"`` or ``"average"``.
        scale: pixels of ``inp`` per unit of ``rois``.
    Returns:
        (R, C, *output_shape).
    Raises:
        AssertionError: ``mode`` is another one.
        RuntimeError: the shapes do not fit.
    Example:
        >>> F.vision.roi_pooling(F.ones((1, 1, 4, 4)), Tensor([[0.0, 0.0, 0.0, 1.0, 1.0]]), 1)
        Tensor([[[[1.]]]], device=xpux:0)
    """
    mode = _checked_mode(mode, "roi_pooling")
    height, width = pair(output_shape, "roi_pooling", "output_shape")
    inp, rois = as_tensors(inp, rois)
    return _mge.ops.roi_pool2d(
        inp, rois.detach(), height=height, width=width, mode=mode, scale=float(scale)
    )


def _checked_mode(mode: str, who: str) -> str:
    name = str(mode).lower()
    assert name in ("max", "average"), f"[{who}] mode must be 'max' or 'average', got {mode!r}"
    return name


def roi_align(
    inp: Tensor,
    rois: Tensor,
    output_shape: Pair,
    mode: str = "average",
    spatial_scale: float = 1.0,
    sample_points: Pair = 2,
    aligned: bool = True,
) -> Tensor:
    """Regions of feature maps, sampled without rounding (Mask R-CNN).

    Args:
        inp: (N, C, H, W); pixels outside are 0.
        rois: (R, 5): index of the image and the corners x1, y1, x2, y2. They have no gradient.
        output_shape: height and width of the result.
        mode: ``"average"`` or ``"max"`` over the samples of a cell.
        spatial_scale: pixels of ``inp`` per unit of ``rois``.
        sample_points: rows and columns of samples in each cell.
        aligned: whether a pixel's position is its centre instead of its corner.
    Returns:
        (R, C, *output_shape).
    Raises:
        AssertionError: ``mode`` is unknown.
        ValueError: the result or the samples have no rows or columns.
        RuntimeError: the shapes do not fit.
    Example:
        >>> F.vision.roi_align(F.ones((1, 1, 4, 4)), Tensor([[0.0, 1.0, 1.0, 3.0, 3.0]]), 1)
        Tensor([[[[1.]]]], device=xpux:0)
    """
    who = "roi_align"
    mode = _checked_mode(mode, who)
    cells, samples = (
        pair(output_shape, who, "output_shape"),
        pair(sample_points, who, "sample_points"),
    )
    at_least(who, 1, output_shape=cells, sample_points=samples)
    inp, rois = as_tensors(inp, rois)
    if rois.ndim != 2 or rois._tuple_shape[1] != 5:
        raise RuntimeError(f"[{who}] rois must have shape (R, 5), got {rois._tuple_shape}")
    if rois.dtype == np.float32 and (inp.dtype == np.float16 or is_integer(inp.dtype)):
        inp = inp.astype("float32")
    rois = rois.detach().astype("float32")
    corners = rois[:, 1:] * float(spatial_scale) - (0.5 if aligned else 0.0)
    height, width = (c * s for c, s in zip(cells, samples, strict=True))
    columns = _evenly(corners[:, 0:1], corners[:, 2:3], width)
    rows = _evenly(corners[:, 1:2], corners[:, 3:4], height)
    whole = [-1, height, width, 1]
    places = _mge.ops.concat(
        _mge.ops.broadcast_to(_mge.ops.add_axis(columns, axes=[1, 3]), shape=whole),
        _mge.ops.broadcast_to(_mge.ops.add_axis(rows, axes=[2, 3]), shape=whole),
        axis=3,
    )
    if inp.ndim == 4 and 0 in inp._tuple_shape[2:]:
        # One more zero per row and column: pixels outside are 0, too.
        inp = _mge.ops.pad(inp, before=[0, 0, 0, 0], after=[0, 0, 1, 1])
    sampled = _mge.ops.remap(inp, places, rois[:, 0].astype("int32"), border="constant", value=0.0)
    return (max_pool2d if mode == "max" else avg_pool2d)(sampled, samples)


def _evenly(start: Tensor, stop: Tensor, count: int) -> Tensor:
    """The middles of ``count`` equal parts of each interval; one that ends too early is a point."""
    parts = (np.arange(count, dtype=np.float32) + 0.5) / count
    extent = _mge.ops.maximum(stop - start, 0.0)
    return start + extent * parts.reshape(1, count)


def deformable_psroi_pooling(
    inp: Tensor,
    rois: Tensor,
    trans: Tensor,
    no_trans: bool,
    part_size: int,
    pooled_h: int,
    pooled_w: int,
    sample_per_part: int,
    spatial_scale: float,
    trans_std: float = 0.1,
) -> Tensor:
    """Means of regions of feature maps with moved parts (Deformable ConvNets).

    Args:
        inp: float32 (N, C, H, W).
        rois: (R, 5): index of the image and the corners x1, y1, x2, y2. They have no gradient.
        trans: (R, 2, part_size, part_size): how far each part is moved along x and y, in widths and
            heights of its region times ``trans_std``. Further rows are not used.
        no_trans: leave the parts where they are.
        part_size: parts of a region along each axis.
        pooled_h: rows of the result.
        pooled_w: columns of the result.
        sample_per_part: samples of a cell along each axis.
        spatial_scale: pixels of ``inp`` per unit of ``rois``.
        trans_std: see ``trans``.
    Returns:
        (R, C, pooled_h, pooled_w).
    Raises:
        ValueError: the result or the samples have no rows or columns.
        RuntimeError: the shapes do not fit.
    Example:
        >>> rois, still = Tensor([[0.0, 1.0, 1.0, 2.0, 2.0]]), F.zeros((1, 2, 1, 1))
        >>> x = F.ones((1, 1, 4, 4))
        >>> F.nn.deformable_psroi_pooling(x, rois, still, False, 1, 1, 1, 2, 1.0)
        Tensor([[[[1.]]]], device=xpux:0)
    """
    if not no_trans:
        inp, rois, trans = as_tensors(inp, rois, trans)
        if trans._tuple_shape[2:] != (part_size, part_size):
            raise RuntimeError(
                f"[deformable_psroi_pooling] trans has shape {trans._tuple_shape}, expected (R, 2,"
                f" {part_size}, {part_size})"
            )
        if trans._tuple_shape[0] > rois._tuple_shape[0]:
            trans = trans[: rois.shape[0]]
    return _mge.ops.deformable_roi_pool2d(
        inp,
        rois,
        None if no_trans else trans,
        height=pooled_h,
        width=pooled_w,
        samples=sample_per_part,
        scale=spatial_scale,
        offset_scale=trans_std,
    )
