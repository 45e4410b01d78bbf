# SPDX-License-Identifier: Apache-2.0
"""MobileNetV3 (Howard et al., 2019), the large one."""

from squeeze_excite import Activation, GatedResidual, conv_norm

import megengine.functional as F
import megengine.module as M

EPS = 1e-3

# kernel, expanded channels, channels, squeezed channels, activation, stride
BLOCKS = (
    (3, 16, 16, 0, F.relu, 1),
    (3, 64, 24, 0, F.relu, 2),
    (3, 72, 24, 0, F.relu, 1),
    (5, 72, 40, 24, F.relu, 2),
    (5, 120, 40, 32, F.relu, 1),
    (5, 120, 40, 32, F.relu, 1),
    (3, 240, 80, 0, F.hswish, 2),
    (3, 200, 80, 0, F.hswish, 1),
    (3, 184, 80, 0, F.hswish, 1),
    (3, 184, 80, 0, F.hswish, 1),
    (3, 480, 112, 120, F.hswish, 1),
    (3, 672, 112, 168, F.hswish, 1),
    (5, 672, 160, 168, F.hswish, 2),
    (5, 960, 160, 240, F.hswish, 1),
    (5, 960, 160, 240, F.hswish, 1),
)


class MobileNetV3(M.Module):
    """A stem, gated inverted residuals, a classifier of two layers."""

    def __init__(self, classes=1000):
        super().__init__()
        channels = 16
        layers: list[M.Module] = [conv_norm(3, channels, 3, 2, function=F.hswish, eps=EPS)]
        for kernel, width, out_channels, squeezed, function, stride in BLOCKS:
            layers.append(
                GatedResidual(
                    *(channels, width, out_channels, kernel, stride, function, squeezed),
                    scale=F.hsigmoid,
                    eps=EPS,
                )
            )
            channels = out_channels
        layers.append(conv_norm(channels, 6 * channels, 1, function=F.hswish, eps=EPS))
        self.features = M.Sequential(*layers)
        self.avgpool = M.AdaptiveAvgPool2d(1)
        self.classifier = M.Sequential(
            M.Linear(6 * channels, 1280),
            Activation(F.hswish),
            M.Dropout(0.2),
            M.Linear(1280, classes),
        )

    def forward(self, x):
        return self.classifier(F.flatten(self.avgpool(self.features(x)), 1))


def mobilenet_v3_large():
    """Return the net: (N, 3, 224, 224) to (N, 1000)."""
    return MobileNetV3()
