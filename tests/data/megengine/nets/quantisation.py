# SPDX-License-Identifier: Apache-2.0
"""Networks in eight-bit integers, and those that only round as if they were."""

import numpy as np

import megengine.functional as F
import megengine.module as M

from .arrays import numbers, seeded


class Quantised:
    """A network whose ranges are trained before it is quantised, and that before it is traced."""

    def __init__(self, mge, name, make, shape, is_rounded_only=False):
        self.mge, self.name, self.make, self.shape = mge, name, make, shape
        self.is_rounded_only, self.net = is_rounded_only, None

    def __call__(self, x):
        return self.net(x)

    def prepare(self):
        import megengine.quantization as Q

        net = seeded(self.make(), self.name, self.mge)
        Q.quantize_qat(net, qconfig=Q.min_max_fakequant_qconfig)
        net.train()
        for k in range(3):
            net(self.mge.Tensor(numbers(f"{self.name}{k}", self.shape)))
        net.eval()
        if not self.is_rounded_only:
            Q.quantize(net)
            net.eval()
        self.net = net


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.into, self.out = M.QuantStub(), M.DequantStub()

    def forward(self, x):
        return self.out(self.body(self.into(x)))


class Residual(Net):
    def __init__(self):
        super().__init__()
        self.a, self.b = M.ConvBnRelu2d(3, 8, 3, 2, 1), M.ConvBnRelu2d(8, 8, 3, 1, 1, groups=2)
        self.c = M.ConvBn2d(8, 8, 3, 1, 1)
        self.add, self.head = M.Elemwise("fuse_add_relu"), M.Linear(8 * 9, 6)

    def body(self, x):
        x = self.a(x)
        return self.head(F.flatten(F.max_pool2d(self.add(self.c(self.b(x)), x), 2), 1))


class Branches(Net):
    def __init__(self):
        super().__init__()
        self.a, self.b = M.ConvRelu2d(3, 8, 3, 1, 2, dilation=2), M.Conv2d(3, 4, 1, bias=False)
        self.concat, self.wave = M.Concat(), M.Elemwise("tanh")
        self.scale, self.depth = M.Elemwise("mul"), M.ConvRelu2d(6, 6, 3, groups=6)

    def body(self, x):
        y = self.concat([self.a(x), self.b(x)], 1)
        y = F.avg_pool2d(self.scale(y, self.wave(y)), 2)
        return self.depth(F.transpose(y[:, ::2], (0, 1, 3, 2)))


class Layouts(Net):
    """Enough channels for the blocks of every layout, and too few for the first one."""

    def __init__(self):
        super().__init__()
        self.a = M.ConvRelu2d(3, 32, 3, padding=1, padding_mode="reflect")
        self.b, self.c = M.ConvBnRelu2d(32, 64, 1), M.ConvRelu2d(64, 32, 1)
        self.wide = M.Conv2d(32, 32, (3, 1), 1, (1, 0), groups=4)
        self.add, self.head = M.Elemwise("add"), M.Conv2d(32, 5, 1)

    def body(self, x):
        x = F.max_pool2d(self.a(x), 2)
        return self.head(self.add(self.wide(self.c(self.b(x))), x))


class Uneven(Net):
    """Channels that fill no block."""

    def __init__(self):
        super().__init__()
        self.a, self.b = M.ConvRelu2d(3, 7, 3, 1, 1), M.Conv2d(7, 6, 1)

    def body(self, x):
        return self.b(self.a(x))


class Rounded(Net):
    def __init__(self):
        super().__init__()
        self.a, self.b = M.ConvRelu2d(3, 6, 3, 2, 1), M.Conv2d(6, 4, 1)

    def body(self, x):
        return self.b(self.a(x))


def raw(x):
    from megengine.core.tensor import dtype

    bytes_, words = x.astype(dtype.qint8(0.03)), x.astype(dtype.quint8(0.02, 90))
    return [
        bytes_,
        words,
        F.relu(bytes_).astype("float32"),
        F.concat([words, words], 1).astype("float32"),
        bytes_.astype(dtype.qint8(0.25)).astype("float32"),
    ]


def steps(x, scale, zero):
    from megengine.core._imperative_rt.core2 import apply
    from megengine.core.ops.builtin import LSQ, TQT, FakeQuant

    (fake,) = apply(FakeQuant(qmin=-8, qmax=7), x, scale, zero)
    (learned,) = apply(LSQ(qmin=-8, qmax=7), x, scale, zero, scale)
    (trained,) = apply(TQT(qmin=-8, qmax=7), x, scale * 0 - 3)
    return [fake, learned, trained]


def nets(mge):
    return {
        "branches": (
            Quantised(mge, "branches", Branches, (2, 3, 8, 7)),
            {"data": numbers("branches", (2, 3, 8, 7))},
        ),
        "layouts": (
            Quantised(mge, "layouts", Layouts, (2, 3, 9, 6)),
            {"data": numbers("layouts", (2, 3, 9, 6))},
        ),
        "residual": (
            Quantised(mge, "residual", Residual, (2, 3, 12, 12)),
            {"data": numbers("residual", (2, 3, 12, 12))},
        ),
        "rounded": (
            Quantised(mge, "rounded", Rounded, (2, 3, 6, 5), is_rounded_only=True),
            {"data": numbers("rounded", (2, 3, 6, 5))},
        ),
        "steps": (
            steps,
            {
                "x": numbers("steps", (3, 8), -2, 2),
                "scale": np.array([0.3], np.float32),
                "zero": np.array([2], np.float32),
            },
        ),
        "uneven": (
            Quantised(mge, "uneven", Uneven, (2, 3, 5, 6)),
            {"data": numbers("uneven", (2, 3, 5, 6))},
        ),
        "stored": (raw, {"x": numbers("stored", (3, 9), -4, 4)}),
    }
