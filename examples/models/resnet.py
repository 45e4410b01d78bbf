# SPDX-License-Identifier: Apache-2.0
"""ResNet-18 and ResNet-50 (He et al., 2016), the stride in the 3x3 convolution."""

import megengine.functional as F
import megengine.module as M


def conv_norm(in_channels, out_channels, kernel, stride=1):
    """Return a convolution that keeps the size (over the stride) and its batch normalisation."""
    conv = M.Conv2d(in_channels, out_channels, kernel, stride, (kernel - 1) // 2, bias=False)
    return conv, M.BatchNorm2d(out_channels)


def shortcut(in_channels, out_channels, stride):
    """Return the projection shortcut of a block that changes the shape, else None."""
    if stride == 1 and in_channels == out_channels:
        return None
    return M.Sequential(*conv_norm(in_channels, out_channels, 1, stride))


class BasicBlock(M.Module):
    """Two 3x3 convolutions and a shortcut."""

    expansion = 1

    def __init__(self, in_channels, width, stride):
        super().__init__()
        self.conv1, self.bn1 = conv_norm(in_channels, width, 3, stride)
        self.conv2, self.bn2 = conv_norm(width, width, 3)
        self.downsample = shortcut(in_channels, width, stride)

    def forward(self, x):
        kept = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(x)) + kept)


class Bottleneck(M.Module):
    """A 3x3 convolution between two 1x1 convolutions, and a shortcut."""

    expansion = 4

    def __init__(self, in_channels, width, stride):
        super().__init__()
        self.conv1, self.bn1 = conv_norm(in_channels, width, 1)
        self.conv2, self.bn2 = conv_norm(width, width, 3, stride)
        self.conv3, self.bn3 = conv_norm(width, width * self.expansion, 1)
        self.downsample = shortcut(in_channels, width * self.expansion, stride)

    def forward(self, x):
        kept = x if self.downsample is None else self.downsample(x)
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        return F.relu(self.bn3(self.conv3(x)) + kept)


class ResNet(M.Module):
    """A stem, four stages of blocks, a classifier.

    block: BasicBlock or Bottleneck.
    counts: blocks in each stage.
    """

    def __init__(self, block, counts, classes=1000):
        super().__init__()
        self.conv1, self.bn1 = conv_norm(3, 64, 7, 2)
        self.maxpool = M.MaxPool2d(3, 2, 1)
        channels = 64
        for stage, count in enumerate(counts):
            width = 64 << stage
            blocks = []
            for k in range(count):
                blocks.append(block(channels, width, 2 if stage > 0 and k == 0 else 1))
                channels = width * block.expansion
            setattr(self, f"layer{stage + 1}", M.Sequential(*blocks))
        self.avgpool = M.AdaptiveAvgPool2d(1)
        self.fc = M.Linear(channels, classes)

    def forward(self, x):
        x = self.maxpool(F.relu(self.bn1(self.conv1(x))))
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(F.flatten(self.avgpool(x), 1))


def resnet18():
    """Return the net: (N, 3, 224, 224) to (N, 1000)."""
    return ResNet(BasicBlock, (2, 2, 2, 2))


def resnet50():
    """Return the net: (N, 3, 224, 224) to (N, 1000)."""
    return ResNet(Bottleneck, (3, 4, 6, 3))
