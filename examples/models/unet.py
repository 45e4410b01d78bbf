# SPDX-License-Identifier: Apache-2.0
"""A small U-Net (Ronneberger et al., 2015) with padded, normalised convolutions."""

import megengine.functional as F
import megengine.module as M

WIDTHS = (16, 32, 64, 128)


def conv_pair(in_channels, out_channels):
    """Return two 3x3 convolutions that keep the size, each normalised and activated."""
    layers: list[M.Module] = []
    for channels in (in_channels, out_channels):
        layers += [M.Conv2d(channels, out_channels, 3, padding=1, bias=False)]
        layers += [M.BatchNorm2d(out_channels), M.ReLU()]
    return M.Sequential(*layers)


class UNet(M.Module):
    """Levels of half the size and more channels, and back with what each level had seen.

    widths: channels of the levels.
    classes: channels of the result.
    """

    def __init__(self, widths, classes):
        super().__init__()
        pairs = list(zip(widths[:-1], widths[1:], strict=True))
        self.stem = conv_pair(3, widths[0])
        self.pool = M.MaxPool2d(2)
        self.down = [conv_pair(a, b) for a, b in pairs]
        self.up = [M.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(pairs)]
        self.merge = [conv_pair(2 * a, a) for a, _ in reversed(pairs)]
        self.head = M.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        x = self.stem(x)
        seen = []
        for down in self.down:
            seen.append(x)
            x = down(self.pool(x))
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(F.concat([up(x), seen.pop()], axis=1))
        return self.head(x)


def unet_small():
    """Return the net: (N, 3, H, W) to (N, 4, H, W); H and W are multiples of 8."""
    return UNet(WIDTHS, classes=4)
