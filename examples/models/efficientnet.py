# SPDX-License-Identifier: Apache-2.0
"""EfficientNet-B0 (Tan and Le, 2019)."""

from squeeze_excite import GatedResidual, conv_norm

import megengine.functional as F
import megengine.module as M

# expansion, kernel, stride of the first block, channels, blocks
STAGES = (
    (1, 3, 1, 16, 1),
    (6, 3, 2, 24, 2),
    (6, 5, 2, 40, 2),
    (6, 3, 2, 80, 3),
    (6, 5, 1, 112, 3),
    (6, 5, 2, 192, 4),
    (6, 3, 1, 320, 1),
)
SQUEEZE = 4  # the gate's hidden layer has one channel per so many input channels of a block


class EfficientNet(M.Module):
    """A stem, seven stages of gated inverted residuals, a classifier."""

    def __init__(self, classes=1000):
        super().__init__()
        channels = 32
        layers = [conv_norm(3, channels, 3, 2, function=F.silu)]
        for expansion, kernel, first_stride, width, count in STAGES:
            blocks = []
            for k in range(count):
                stride = 1 if k else first_stride
                blocks.append(
                    GatedResidual(
                        *(channels, channels * expansion, width, kernel, stride, F.silu),
                        squeezed=channels // SQUEEZE,
                        squeezed_function=F.silu,
                    )
                )
                channels = width
            layers.append(M.Sequential(*blocks))
        layers.append(conv_norm(channels, 4 * channels, 1, function=F.silu))
        self.features = M.Sequential(*layers)
        self.avgpool = M.AdaptiveAvgPool2d(1)
        self.classifier = M.Sequential(M.Dropout(0.2), M.Linear(4 * channels, classes))

    def forward(self, x):
        return self.classifier(F.flatten(self.avgpool(self.features(x)), 1))


def efficientnet_b0():
    """Return the net: (N, 3, 224, 224) to (N, 1000)."""
    return EfficientNet()
