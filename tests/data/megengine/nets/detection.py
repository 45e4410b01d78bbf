# SPDX-License-Identifier: Apache-2.0
"""Operators of detectors and their preprocessing: warped images, regions, boxes, colours."""

import numpy as np

import megengine.functional as F
from megengine.functional import vision as V

from .arrays import numbers, whole

PERSPECTIVES = [
    [[0.9, 0.2, -1], [-0.2, 1.1, 0.5], [0.02, 0.01, 1]],
    [[1.4, 0, -2], [0.3, 1.2, -1.5], [0, 0.03, 1]],
]
REGIONS = [[0, 1, 1, 5, 6], [1, 0, 2, 7, 7], [0, 3.25, 2.25, 4.125, 9.75]]
BOXES = [[0, 0, 4, 4], [0, 0, 4, 3.5], [3, 3, 8, 8], [3, 3.5, 8, 8], [10, 10, 12, 12]]


def warped(x, m):
    return [
        V.warp_perspective(x, m, (6, 5)),
        *(
            V.warp_perspective(x, m, (3, 4), border_mode=mode, border_val=0.5)
            for mode in ("constant", "reflect", "reflect_101", "wrap")
        ),
        V.warp_perspective(x, m, (x.shape[2] + 1, x.shape[3]), mat_idx=[1, 0]),
        V.interpolate(x, size=(7, 9), align_corners=True),
        V.interpolate(x, scale_factor=2.0, align_corners=True),
    ]


def remapped(x, places):
    return [
        V.remap(x, places),
        V.remap(x, places, "constant", 0.5),
        V.remap(x, places, "reflect_101", interp_mode="nearest"),
    ]


def regions(x, r):
    return [
        V.roi_align(x, r, (2, 3)),
        V.roi_align(x, r, 2, mode="max", sample_points=(1, 3)),
        V.roi_align(x, r, (3, 2), spatial_scale=0.5, aligned=False),
        V.roi_pooling(x, r[:2], (2, 3)),
        V.roi_pooling(x, r[:2], 2, mode="average", scale=0.5),
        V.roi_align(x, r[r[:, 1] < 2], (2, 2)) * 2,
    ]


def moved_regions(x, r, t):
    pool = F.nn.deformable_psroi_pooling
    return [
        pool(x, r, t, False, 2, 2, 2, 3, 0.5, 0.2),
        pool(x * 2, r, t, True, 2, 2, 2, 2, 1.0, 0.1),
    ]


def boxes(b, s):
    kept = V.nms(b, s, 0.5, 4)
    return [kept, b[kept] * 2, V.nms(b, s, 0.95, 10), V.nms(b[1:], s[1:], 0.1, 1)]


def colours(x, y):
    modes = ("RGB2GRAY", "BGR2GRAY", "RGB2YUV", "YUV2RGB")
    return [
        *(V.cvt_color(image, mode) for mode in modes for image in (x, y)),
        V.cvt_color(y, "RGB2BGR"),
    ]


def nets(mge):
    scores = np.array([0.5, 0.625, 0.75, 0.6875, 0.125], np.float32)
    return {
        "boxes": (boxes, {"b": np.array(BOXES, np.float32), "s": scores}),
        "colours": (
            colours,
            {
                "x": numbers("x", (1, 4, 5, 3), 0, 1),
                "y": whole("y", (1, 4, 5, 3), 0, 256, np.uint8),
            },
        ),
        "moved_regions": (
            moved_regions,
            {
                "x": numbers("regions", (2, 3, 8, 8)),
                "r": np.array(REGIONS, np.float32),
                "t": numbers("t", (3, 2, 2, 2)),
            },
        ),
        "regions": (
            regions,
            {"x": numbers("regions", (2, 3, 8, 8)), "r": np.array(REGIONS, np.float32)},
        ),
        "remapped": (
            remapped,
            {"x": numbers("x", (2, 2, 5, 6)), "places": numbers("p", (2, 4, 3, 2), -3, 8)},
        ),
        "warped": (
            warped,
            {"x": numbers("warped", (2, 2, 5, 6)), "m": np.array(PERSPECTIVES, np.float32)},
        ),
    }
