# SPDX-License-Identifier: Apache-2.0
"""Random nets as ONNX files: valid, and in ONNX Runtime and our reader what they are here.

MGE_NIGHTLY=1 tries many more.
"""

import numpy as np
import pytest
from onnx_cases import NEWEST_OF_RUNTIME, NIGHTLY, OPSETS, arrays, exported, run

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import _mge

TOLERANCE = 2e-4  # relative to the largest output


class Net:
    """Layers that a seed chooses, each applied to a value that is there already."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)
        size = [int(n) for n in self.rng.integers(2, 7, 2)]
        self.x = self.numbers(int(self.rng.integers(1, 4)), int(self.rng.integers(1, 5)), *size)
        self.steps = []  # (input numbers, function)
        values = [mge.Tensor(self.x)]
        while len(self.steps) < 10:
            inputs = [int(self.rng.integers(max(0, len(values) - 3), len(values))) for _ in "ab"]
            step = self.step(*(values[i] for i in inputs))
            if step is None:
                continue
            value = step(*(values[i] for i in inputs))
            if value.ndim > 5 or not 0 < value.size < 4096:
                continue
            self.steps.append((inputs, step))
            values.append(value)

    def numbers(self, *shape):
        return self.rng.uniform(-1, 1, shape).astype("float32")

    def __call__(self, x):
        values = [x]
        for inputs, step in self.steps:
            values.append(step(*(values[i] for i in inputs)))
        return values[-1], values[len(values) // 2]

    def step(self, x, y):
        kinds = [self.activation, self.move, self.product, self.statistics]
        if x.ndim == 4:
            kinds += [self.image, self.image, self.image, self.join]
        return kinds[self.rng.integers(len(kinds))](x, y)

    def layer(self, net):
        """Without random biases: equal ones of several layers are stored once."""
        for name, parameter in net.named_parameters():
            if self.rng.integers(2):
                parameter[...] = 0.5 if "bias" in name else self.numbers(*parameter.shape)
        net.eval()
        return lambda x, _: net(x)

    def image(self, x, y):
        channels, made = x.shape[1], int(self.rng.integers(1, 5))
        window, stride = int(self.rng.integers(1, 4)), int(self.rng.integers(1, 3))
        smallest = min(x.shape[2:])
        kind = self.rng.integers(9)
        if kind <= 1:
            net = M.Conv2d(channels, made, window, stride, padding=1, bias=bool(kind))
        elif kind == 2:
            net = M.Conv2d(channels, channels, window, 1, padding=1, groups=channels)
        elif kind == 3:
            net = M.ConvTranspose2d(channels, made, window, stride)
        elif kind == 4:
            net = M.BatchNorm2d(channels)
        elif kind == 5:
            net = M.GroupNorm(1, channels)
        elif kind == 6 and window <= smallest:
            net = M.MaxPool2d(window, stride)
        elif kind == 7 and window <= smallest:
            net = M.AvgPool2d(window, stride)
        elif kind == 8:
            return lambda x, _: F.vision.interpolate(x, scale_factor=2, mode="nearest")
        else:
            return None
        return self.layer(net)

    def join(self, x, y):
        if x.ndim != y.ndim or any(x.shape[i] != y.shape[i] for i in (0, 2, 3)):
            return lambda x, _: F.concat([x, x * 2], axis=1)
        if x.shape[1] == y.shape[1] and self.rng.integers(2):
            return lambda x, y: x + y
        return lambda x, y: F.concat([x, y], axis=1)

    def activation(self, x, y):
        functions = [F.relu, F.relu6, F.sigmoid, F.tanh, F.gelu, F.silu, F.hswish, F.softplus]
        functions += [F.leaky_relu, F.abs, lambda x: -x, lambda x: x * 2 + 1]
        function = functions[self.rng.integers(len(functions))]
        return lambda x, _: function(x)

    def move(self, x, y):
        axis = int(self.rng.integers(x.ndim))
        order = [0, *(int(i) + 1 for i in self.rng.permutation(x.ndim - 1))]
        kind = self.rng.integers(6)
        if kind == 0:
            return lambda x, _: F.transpose(x, order)
        if kind == 1 and x.ndim > 2:
            return lambda x, _: F.flatten(x, x.ndim - 2)
        if kind == 2 and axis:
            return lambda x, _: F.expand_dims(x, axis)
        if kind == 3 and axis and x.shape[axis] > 1:
            return lambda x, _: F.split(x, [1], axis)[1]
        if kind == 4 and axis:
            index = (slice(None),) * axis + (slice(None, None, -1),)
            return lambda x, _: x[index]
        if kind == 5:
            margins = [(0, 0)] + [(1, 0)] * (x.ndim - 1)
            return lambda x, _: F.nn.pad(x, margins)
        return None

    def product(self, x, y):
        depth = x.shape[-1]
        if x.ndim < 2:
            return None
        if self.rng.integers(2):
            return self.layer(M.Linear(depth, int(self.rng.integers(1, 6))))
        weight = mge.Tensor(self.numbers(depth, 3))
        return lambda x, _: F.matmul(x, weight) + 0.5

    def statistics(self, x, y):
        kind, axis = self.rng.integers(4), x.ndim - 1
        if axis == 0:
            return None
        if kind == 0:
            return lambda x, _: F.softmax(x, axis)
        if kind == 1:
            return self.layer(M.LayerNorm(x.shape[-1]))
        if kind == 2:
            return lambda x, _: F.mean(x, axis, keepdims=True)
        return lambda x, _: F.max(x, axis, keepdims=True) - x


@pytest.mark.parametrize("seed", range(1000 if NIGHTLY else 40))
def test_a_random_net(seed, tmp_path):
    net = Net(seed)
    opset = int(net.rng.choice([n for n in OPSETS if 13 <= n <= NEWEST_OF_RUNTIME]))
    path = str(tmp_path / "net.onnx")
    expected, _ = exported(net, [net.x], path, opset)
    for got in (run(path, [net.x]), arrays(_mge.load(path).run([net.x]))):
        for value, wanted in zip(got, expected, strict=True):
            limit = TOLERANCE * max(1, np.abs(wanted).max())
            np.testing.assert_allclose(value, wanted, rtol=0, atol=limit)
