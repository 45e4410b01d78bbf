# SPDX-License-Identifier: Apache-2.0
"""Single layers in unusual forms."""

import megengine.functional as F
import megengine.module as M

from .arrays import numbers


class Norms(M.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = M.GroupNorm(2, 4), M.InstanceNorm(4), M.LayerNorm((6, 5))
        self.d = M.GroupNorm(4, 4, affine=False)

    def forward(self, x):
        return self.a(x), self.b(x), self.c(x), self.d(x), F.local_response_norm(x)


class PlainNorms(Norms):
    def forward(self, x):
        return self.c(x), self.d(x), F.local_response_norm(x, 3, 1.0, 0.01, 0.5)


class Up(M.Module):
    def __init__(self):
        super().__init__()
        self.up = M.ConvTranspose2d(4, 6, 4, 2, 1)
        self.grouped = M.ConvTranspose2d(6, 4, 3, 1, 1, groups=2, bias=False)
        self.c = M.Conv2d(4, 3, 3, padding=1, padding_mode="reflect")

    def forward(self, x):
        y = self.c(self.grouped(F.relu(self.up(x))))
        return (
            y,
            F.max_pool2d(y, 3, 2, 1),
            F.pixel_shuffle(x, 2),
            F.nn.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)), constant_value=0.5),
        )


class Interpolated(M.Module):
    def __init__(self):
        super().__init__()
        self.c = M.Conv2d(4, 3, 3, padding=1)

    def forward(self, x):
        y = F.vision.interpolate(self.c(x), scale_factor=2)
        return (
            y,
            F.vision.interpolate(y, size=(9, 7), mode="nearest"),
            F.vision.interpolate(x, size=(4, 3)),
        )


def nets(mge):
    return {
        "interpolated": (Interpolated(), {"x": numbers("up", (1, 4, 6, 5))}),
        "norms": (Norms(), {"x": numbers("norms", (2, 4, 6, 5))}),
        "plain_norms": (PlainNorms(), {"x": numbers("norms", (2, 4, 6, 5))}),
        "upward": (Up(), {"x": numbers("up", (1, 4, 6, 5))}),
    }
