# SPDX-License-Identifier: Apache-2.0
"""Networks made of parts that can be quantised, between stubs: images to (n, 10) scores."""

import megengine.functional as F
import megengine.module as M


class DigitNet(M.Module):
    """Two convolutions and a linear layer, for images (n, 1, 8, 8)."""

    def __init__(self):
        super().__init__()
        self.quant = M.QuantStub()
        self.block1 = M.ConvBnRelu2d(1, 16, 3, padding=1)
        self.block2 = M.ConvBnRelu2d(16, 32, 3, padding=1)
        self.pool = M.MaxPool2d(2)
        self.classifier = M.Linear(32 * 4 * 4, 10)
        self.dequant = M.DequantStub()

    def forward(self, image):
        x = self.pool(self.block2(self.block1(self.quant(image))))
        return self.dequant(self.classifier(F.flatten(x, 1)))


class Block(M.Module):
    """Two convolutions with a shortcut; sums are quantised, too."""

    def __init__(self, in_channels, out_channels, stride):
        super().__init__()
        self.conv1 = M.ConvBnRelu2d(in_channels, out_channels, 3, stride, 1, bias=False)
        self.conv2 = M.ConvBn2d(out_channels, out_channels, 3, 1, 1, bias=False)
        self.past: M.Module = M.Identity()
        if stride != 1 or in_channels != out_channels:
            self.past = M.ConvBn2d(in_channels, out_channels, 1, stride, bias=False)
        self.add = M.Elemwise("fuse_add_relu")

    def forward(self, x):
        return self.add(self.conv2(self.conv1(x)), self.past(x))


class ResNet(M.Module):
    """A residual network of eight layers, for images (n, 1, 32, 32)."""

    def __init__(self, widths=(32, 64, 128)):
        super().__init__()
        self.quant = M.QuantStub()
        self.stem = M.ConvBnRelu2d(1, widths[0], 3, 1, 1, bias=False)
        blocks, channels = [], widths[0]
        for width in widths:
            blocks.append(Block(channels, width, stride=2))
            channels = width
        self.blocks = M.Sequential(*blocks)
        self.classifier = M.Linear(channels, 10)
        self.dequant = M.DequantStub()

    def forward(self, image):
        x = self.blocks(self.stem(self.quant(image)))
        x = F.flatten(F.adaptive_avg_pool2d(x, 1), 1)
        return self.dequant(self.classifier(x))
