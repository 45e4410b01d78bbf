# SPDX-License-Identifier: Apache-2.0
"""Convolutions of volumes, of windows that are taken out, and of windows that are bent."""

import numpy as np

import megengine.functional as F
import megengine.module as M

from .arrays import numbers


class Volumes(M.Module):
    def __init__(self):
        super().__init__()
        self.a = M.Conv3d(3, 4, 3, 2, 1)
        self.b = M.Conv3d(4, 6, (1, 2, 3), dilation=(1, 1, 2), groups=2, padding=(0, 1, 2))
        self.up = M.ConvTranspose3d(6, 4, 3, 2, 1)
        self.wide = M.ConvTranspose3d(4, 2, (2, 1, 3), bias=False)

    def forward(self, x):
        y = F.relu(self.b(F.relu(self.a(x))))
        z = self.wide(self.up(y))
        return (
            y,
            z,
            F.mean(z, (2, 3, 4)),
            F.vision.interpolate(y, size=(3, 4, 5), mode="trilinear"),
        )


class Windows(M.Module):
    def __init__(self):
        super().__init__()
        self.local = M.LocalConv2d(4, 6, 6, 5, 3, stride=2, padding=1, groups=2)
        self.deformable = M.DeformableConv2d(4, 6, 3, 2, 1)

    def forward(self, x, offset, mask):
        return (
            self.local(x),
            self.deformable(x, offset, mask),
            F.sliding_window(x, (2, 3), (1, 0), (2, 1), (1, 1)),
            F.sliding_window_transpose(F.sliding_window(x, 3, 1, 2), (6, 5), 3, 1, 2),
            F.vision.correlation(x, x[:, ::-1], max_displacement=2, pad_size=2),
        )


def nets(mge):
    return {
        "volumes": (Volumes(), {"x": numbers("volumes", (2, 3, 5, 6, 7))}),
        "windows": (
            Windows(),
            {
                "x": numbers("windows", (2, 4, 6, 5)),
                "offset": numbers("offset", (2, 18, 3, 3), -2, 2) + np.float32(1 / 128),
                "mask": numbers("mask", (2, 9, 3, 3), 0, 1),
            },
        ),
    }
