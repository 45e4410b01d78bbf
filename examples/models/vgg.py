# SPDX-License-Identifier: Apache-2.0
"""VGG-16 (Simonyan and Zisserman, 2015), without batch normalisation."""

import megengine.functional as F
import megengine.module as M

STAGES = ((2, 64), (2, 128), (3, 256), (3, 512), (3, 512))  # convolutions, channels


class VGG(M.Module):
    """Stages of 3x3 convolutions, each followed by pooling; three linear layers."""

    def __init__(self, stages, classes=1000):
        super().__init__()
        layers = []
        channels = 3
        for count, width in stages:
            for _ in range(count):
                layers += [M.Conv2d(channels, width, 3, padding=1), M.ReLU()]
                channels = width
            layers.append(M.MaxPool2d(2))
        self.features = M.Sequential(*layers)
        self.classifier = M.Sequential(
            M.Linear(channels * 7 * 7, 4096),
            M.ReLU(),
            M.Dropout(0.5),
            M.Linear(4096, 4096),
            M.ReLU(),
            M.Dropout(0.5),
            M.Linear(4096, classes),
        )

    def forward(self, x):
        return self.classifier(F.flatten(self.features(x), 1))


def vgg16():
    """Return the net: (N, 3, 224, 224) to (N, 1000)."""
    return VGG(STAGES)
