# SPDX-License-Identifier: Apache-2.0
"""ShuffleNetV2 x1.0 (Ma et al., 2018)."""

import megengine.functional as F
import megengine.module as M


def conv_norm(in_channels, out_channels, kernel, stride=1, groups=1):
    """Return the layers of a convolution that keeps the size (over the stride), normalised."""
    padding = (kernel - 1) // 2
    conv = M.Conv2d(in_channels, out_channels, kernel, stride, padding, groups=groups, bias=False)
    return [conv, M.BatchNorm2d(out_channels)]


def interleave(a, b):
    """Return the channels a0, b0, a1, b1 …: the joined channels, shuffled."""
    return F.flatten(F.stack([a, b], axis=2), 1, 2)


class InvertedResidual(M.Module):
    """Two branches whose channels are interleaved; with stride 1 one branch is the input."""

    def __init__(self, in_channels, out_channels, stride):
        super().__init__()
        half = out_channels // 2
        self.stride = stride
        entering = in_channels if stride > 1 else half
        if stride > 1:
            self.branch1 = M.Sequential(
                *conv_norm(in_channels, in_channels, 3, stride, groups=in_channels),
                *conv_norm(in_channels, half, 1),
                M.ReLU(),
            )
        self.branch2 = M.Sequential(
            *conv_norm(entering, half, 1),
            M.ReLU(),
            *conv_norm(half, half, 3, stride, groups=half),
            *conv_norm(half, half, 1),
            M.ReLU(),
        )

    def forward(self, x):
        if self.stride > 1:
            return interleave(self.branch1(x), self.branch2(x))
        kept, changed = F.split(x, 2, axis=1)
        return interleave(kept, self.branch2(changed))


class ShuffleNetV2(M.Module):
    """A stem, three stages, a last convolution, a classifier.

    counts: blocks in each stage.
    widths: channels of the stem, the stages and the last convolution.
    """

    def __init__(self, counts, widths, classes=1000):
        super().__init__()
        channels = widths[0]
        self.conv1 = M.Sequential(*conv_norm(3, channels, 3, 2), M.ReLU())
        self.maxpool = M.MaxPool2d(3, 2, 1)
        for stage, (count, width) in enumerate(zip(counts, widths[1:-1], strict=True), 2):
            blocks = []
            for k in range(count):
                blocks.append(InvertedResidual(channels, width, 1 if k else 2))
                channels = width
            setattr(self, f"stage{stage}", M.Sequential(*blocks))
        self.conv5 = M.Sequential(*conv_norm(channels, widths[-1], 1), M.ReLU())
        self.fc = M.Linear(widths[-1], classes)

    def forward(self, x):
        x = self.maxpool(self.conv1(x))
        x = self.conv5(self.stage4(self.stage3(self.stage2(x))))
        return self.fc(F.mean(x, (2, 3)))


def shufflenet_v2_x1_0():
    """Return the net: (N, 3, 224, 224) to (N, 1000)."""
    return ShuffleNetV2((4, 8, 4), (24, 116, 232, 464, 1024))
