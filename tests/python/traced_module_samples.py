# SPDX-License-Identifier: Apache-2.0
"""Modules that tests record as graphs, and what they do with these."""

import textwrap

import numpy as np

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.traced_module import trace_module


def image(seed=0, shape=(2, 3, 4, 4)):
    return mge.Tensor(np.random.default_rng(seed).standard_normal(shape).astype("float32"))


def printed(module, *args, **kwargs):
    return str(trace_module(module, *args, **kwargs).graph).replace("\t", "    ")


def lines(text):
    return textwrap.dedent(text).strip()


def assert_agree(traced, module, *args, **kwargs):
    for got, want in zip(
        _tensors(traced(*args, **kwargs)), _tensors(module(*args, **kwargs)), strict=True
    ):
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5, atol=1e-6)


def _tensors(value):
    if isinstance(value, mge.Tensor):
        return [value]
    parts = value.values() if isinstance(value, dict) else value
    return [tensor for part in parts for tensor in _tensors(part)]


class Block(M.Module):
    def __init__(self):
        super().__init__()
        self.conv = M.Conv2d(3, 3, 3, padding=1)
        self.bn = M.BatchNorm2d(3)
        self.relu = M.ReLU()
        self.p = mge.Parameter([1.0, 2.0])

    def forward(self, x, scale=2.0):
        y = self.relu(self.bn(self.conv(x)))
        z = F.relu(y) + x * scale
        z = z.reshape(z.shape[0], -1)
        return z, {"a": y, "b": [self.p.sum(), F.concat([y, x], axis=1)]}


class Net(M.Module):
    def __init__(self):
        super().__init__()
        self.blocks = [Block(), Block()]
        self.seq = M.Sequential(M.Linear(4, 4), M.ReLU())
        self.d = {"k": M.ReLU()}

    def helper(self, x):
        return self.seq(x) + 1

    def forward(self, x):
        a, b = self.blocks[0](x)
        c, d = self.blocks[1](b["a"], scale=3.0)
        e = self.d["k"](self.helper(x))
        e[..., 0] = 1
        e += x
        e = -e
        q, w = F.split(e, 2, axis=3)
        t = mge.Tensor([1, 2, 3.0])
        return a + c, d["b"][0], e.mean(), F.ones((3,)) + q.shape[0], t * 2, x.T, q[0]


class Scaled(M.Module):
    def forward(self, x, y=1, *rest, z=2, **more):
        for other in (*rest, *more.values()):
            x = x + other
        return x * y * z


class Returns(M.Module):
    def __init__(self, value):
        super().__init__()
        self.value = (value,)

    def forward(self, x):
        return self.value[0](x)
