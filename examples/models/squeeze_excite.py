# SPDX-License-Identifier: Apache-2.0
"""Channels weighted by features of the whole image (Hu et al., 2018)."""

import megengine.functional as F
import megengine.module as M


class SqueezeExcite(M.Module):
    """Scale each channel by a factor that two small layers make from all channels' means.

    channels: of input and output.
    squeezed: between the two layers.
    activation, scale: functions behind the first and the second layer.
    """

    def __init__(self, channels, squeezed, activation, scale):
        super().__init__()
        self.avgpool = M.AdaptiveAvgPool2d(1)
        self.fc1 = M.Conv2d(channels, squeezed, 1)
        self.fc2 = M.Conv2d(squeezed, channels, 1)
        self.activation, self.scale = activation, scale

    def forward(self, x):
        squeezed = self.activation(self.fc1(self.avgpool(x)))
        return x * self.scale(self.fc2(squeezed))


class Activation(M.Module):
    """A function without parameters as a layer."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, x):
        return self.function(x)


def conv_norm(in_channels, out_channels, kernel, stride=1, groups=1, function=None, eps=1e-5):
    """Return a convolution that keeps the size (over the stride), normalised and activated."""
    padding = (kernel - 1) // 2
    layers = [
        M.Conv2d(in_channels, out_channels, kernel, stride, padding, groups=groups, bias=False),
        M.BatchNorm2d(out_channels, eps=eps),
    ]
    return M.Sequential(*layers, *([Activation(function)] if function else []))


class GatedResidual(M.Module):
    """Widen, filter each channel, weight the channels, narrow; with a shortcut where it fits.

    kernel, stride: of the filter.
    squeezed: channels inside of squeeze and excitation, 0 for none.
    function: activation of the convolutions; the squeezed channels have ``squeezed_function``,
        the factors ``scale``.
    """

    def __init__(
        self,
        in_channels,
        width,
        out_channels,
        kernel,
        stride,
        function,
        squeezed=0,
        squeezed_function=F.relu,
        scale=F.sigmoid,
        eps=1e-5,
    ):
        super().__init__()
        layers = []
        if width != in_channels:
            layers.append(conv_norm(in_channels, width, 1, function=function, eps=eps))
        layers.append(conv_norm(width, width, kernel, stride, width, function, eps))
        if squeezed:
            layers.append(SqueezeExcite(width, squeezed, squeezed_function, scale))
        layers.append(conv_norm(width, out_channels, 1, eps=eps))
        self.block = M.Sequential(*layers)
        self.has_shortcut = stride == 1 and in_channels == out_channels

    def forward(self, x):
        return x + self.block(x) if self.has_shortcut else self.block(x)
