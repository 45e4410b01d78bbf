# SPDX-License-Identifier: Apache-2.0
"""MobileNetV2 (Sandler et al., 2018)."""

import megengine.functional as F
import megengine.module as M

# expansion, channels, blocks, stride of the first block
STAGES = (
    (1, 16, 1, 1),
    (6, 24, 2, 2),
    (6, 32, 3, 2),
    (6, 64, 4, 2),
    (6, 96, 3, 1),
    (6, 160, 3, 2),
    (6, 320, 1, 1),
)


class ReLU6(M.Module):
    """min(max(x, 0), 6)."""

    def forward(self, x):
        return F.relu6(x)


def conv_norm_relu6(in_channels, out_channels, kernel, stride=1, groups=1):
    """Return a convolution that keeps the size (over the stride), normalised and activated."""
    padding = (kernel - 1) // 2
    conv = M.Conv2d(in_channels, out_channels, kernel, stride, padding, groups=groups, bias=False)
    return M.Sequential(conv, M.BatchNorm2d(out_channels), ReLU6())


class InvertedResidual(M.Module):
    """Widen, filter each channel, narrow; with a shortcut where the shape stays."""

    def __init__(self, in_channels, out_channels, stride, expansion):
        super().__init__()
        width = in_channels * expansion
        layers = [] if expansion == 1 else [conv_norm_relu6(in_channels, width, 1)]
        layers += [
            conv_norm_relu6(width, width, 3, stride, groups=width),
            M.Conv2d(width, out_channels, 1, bias=False),
            M.BatchNorm2d(out_channels),
        ]
        self.conv = M.Sequential(*layers)
        self.has_shortcut = stride == 1 and in_channels == out_channels

    def forward(self, x):
        return x + self.conv(x) if self.has_shortcut else self.conv(x)


class MobileNetV2(M.Module):
    """A stem, seven stages of inverted residuals, a classifier."""

    def __init__(self, classes=1000):
        super().__init__()
        layers: list[M.Module] = [conv_norm_relu6(3, 32, 3, 2)]
        channels = 32
        for expansion, width, count, stride in STAGES:
            for k in range(count):
                layers.append(InvertedResidual(channels, width, 1 if k else stride, expansion))
                channels = width
        layers.append(conv_norm_relu6(channels, 1280, 1))
        self.features = M.Sequential(*layers)
        self.avgpool = M.AdaptiveAvgPool2d(1)
        self.classifier = M.Sequential(M.Dropout(0.2), M.Linear(1280, classes))

    def forward(self, x):
        return self.classifier(F.flatten(self.avgpool(self.features(x)), 1))


def mobilenet_v2():
    """Return the net: (N, 3, 224, 224) to (N, 1000)."""
    return MobileNetV2()
