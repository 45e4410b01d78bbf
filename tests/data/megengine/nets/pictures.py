# SPDX-License-Identifier: Apache-2.0
"""Networks that look at images."""

import megengine.functional as F
import megengine.module as M

from .arrays import numbers, whole


def conv_bn(i, o, k=3, s=1, g=1, act=M.ReLU):
    parts = [M.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), M.BatchNorm2d(o)]
    return M.Sequential(*parts, *([act()] if act else []))


class LeNet(M.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = M.Conv2d(1, 6, 5, padding=2), M.Conv2d(6, 8, 5)
        self.c, self.d = M.Linear(8 * 9, 32), M.Linear(32, 10)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.a(x)), 2)
        x = F.avg_pool2d(F.relu(self.b(x)), 2)
        return self.d(F.relu(self.c(F.flatten(x, 1))))


class Shuffle(M.Module):
    def __init__(self):
        super().__init__()
        self.stem = conv_bn(3, 16, 3, 2)
        self.body = M.Sequential(conv_bn(8, 8, 1), conv_bn(8, 8, 3, 1, 8, None), conv_bn(8, 8, 1))

    def forward(self, x):
        x = F.max_pool2d(self.stem(x), 3, 2, 1)
        n, c, h, w = x.shape
        left, right = F.split(x, 2, axis=1)
        y = F.concat([left, self.body(right)], axis=1)
        y = F.transpose(F.reshape(y, (n, 2, c // 2, h, w)), (0, 2, 1, 3, 4))
        return F.mean(F.reshape(y, (n, c, h, w)), [2, 3])


class Mixed(M.Module):
    """Convolutions of every form; a squeeze and excitation; several activations."""

    def __init__(self):
        super().__init__()
        self.stem = M.Conv2d(3, 16, 3, 2, 1)
        self.wide = M.Conv2d(16, 16, 3, 1, 2, dilation=2)
        self.grouped = M.Conv2d(16, 24, (3, 1), 1, (1, 0), groups=4, bias=False)
        self.depth = M.Conv2d(24, 24, 5, 1, 2, groups=24)
        self.norm = M.BatchNorm2d(24)
        self.squeeze, self.excite = M.Conv2d(24, 8, 1), M.Conv2d(8, 24, 1)
        self.head = M.Linear(24, 7)

    def forward(self, x):
        x = F.nn.hswish(self.stem(x))
        x = F.silu(self.wide(x)) + x
        x = F.relu6(self.grouped(x))
        x = self.norm(self.depth(x))
        s = F.nn.hsigmoid(self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(x, 1)))))
        x = F.gelu(x * s)
        x = F.avg_pool2d(x, 3, 2, 1, mode="average")
        return self.head(F.mean(x, axis=3).max(axis=2))


class Blocked(M.Module):
    """Operators around a layout in blocks of channels: all kinds of weights, and both poolings."""

    def __init__(self):
        super().__init__()
        self.stem, self.depth = M.Conv2d(3, 16, 3, 2, 1), M.Conv2d(16, 16, 3, 1, 1, groups=16)
        self.grouped = M.Conv2d(16, 32, 5, 1, 2, groups=2, bias=False)
        self.point, self.side = conv_bn(32, 16, 1), conv_bn(16, 16, 3, act=None)
        self.head = M.Conv2d(32, 10, 1)

    def forward(self, x):
        x = F.sigmoid(self.stem(x))
        x = F.max_pool2d(F.nn.hswish(self.depth(x)), 2)
        y = self.point(F.avg_pool2d(self.grouped(x), 3, 1, 1))
        y = F.concat([F.relu(self.side(y) + x), x * y], axis=1)
        return F.flatten(F.mean(self.head(y), [2, 3], keepdims=True), 1)


class Dense(M.Module):
    """Concatenations, dropout (which does nothing here), two outputs."""

    def __init__(self):
        super().__init__()
        self.convs = [conv_bn(4 + 4 * i, 4, act=None) for i in range(3)]
        self.drop, self.head = M.Dropout(0.3), M.Linear(16, 5)

    def forward(self, x):
        for c in self.convs:
            x = F.concat([x, F.leaky_relu(c(x), 0.1)], axis=1)
        y = F.flatten(F.adaptive_max_pool2d(x, 1), 1)
        return F.softmax(self.head(self.drop(y))), F.logsigmoid(y)


class Enlarged(M.Module):
    """Images that grow between convolutions."""

    def __init__(self):
        super().__init__()
        self.a, self.b = M.Conv2d(4, 8, 3, 1, 1), M.Conv2d(8, 4, 3, 1, 1)

    def forward(self, x):
        x = F.vision.interpolate(F.relu(self.a(x)), scale_factor=2, align_corners=False)
        return self.b(x)


def bytes_(x, y):
    """Images of bytes in other sizes."""
    sizes = {"size": (7, 4), "align_corners": False}
    return [
        F.vision.interpolate(x, **sizes),
        F.vision.interpolate(x, size=(7, 4), mode="nearest"),
        F.vision.interpolate(x, size=(9, 4), mode="bicubic"),
        F.vision.interpolate(y, **sizes),
        F.vision.interpolate(y, size=(9, 4), mode="bicubic"),
        F.vision.interpolate(x, **sizes).astype("float32") / 255,
    ]


def sized(x, y):
    """Adaptive pooling to sizes that other images and a computation say."""
    rows, columns = x.shape[2], x.shape[3]
    return [
        F.adaptive_avg_pool2d(x, (y.shape[2], y.shape[3])),
        F.adaptive_max_pool2d(x, (rows // 2, columns - 2)),
    ]


def nets(mge):
    image = numbers("image", (2, 3, 24, 20))
    return {
        "blocked": (Blocked(), {"data": image}),
        "bytes": (
            bytes_,
            {
                "x": whole("bytes", (2, 3, 5, 6), 0, 256).astype("uint8"),
                "y": whole("signed", (2, 3, 5, 6), -128, 128).astype("int8"),
            },
        ),
        "dense": (Dense(), {"data": numbers("dense", (2, 4, 9, 8))}),
        "enlarged": (Enlarged(), {"data": numbers("enlarged", (2, 4, 5, 4))}),
        "lenet": (LeNet(), {"data": numbers("lenet", (2, 1, 20, 20))}),
        "mixed": (Mixed(), {"data": image}),
        "sized": (sized, {"x": numbers("sized", (2, 3, 9, 7)), "y": numbers("y", (2, 1, 4, 3))}),
        "shuffle": (Shuffle(), {"data": image}),
    }
