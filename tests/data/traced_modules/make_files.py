# SPDX-License-Identifier: Apache-2.0
"""Writes kinds.tm and what belongs to it. Runs with MegEngine, not with this package.

python make_files.py FOLDER
"""

import sys

import numpy as np

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.traced_module import disable_default_checker, trace_module


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
        e = self.helper(x)
        e = self.d["k"](e)
        e[..., 0] = 1
        e += x
        e = -e
        q, w = F.split(e, 2, axis=3)
        t = mge.Tensor([1, 2, 3.0])
        return a + c, d["b"][0], e.mean(), F.ones((3,)) + q.shape[0], t * 2, x.T, q[0]


class Kinds(M.Module):
    def __init__(self):
        super().__init__()
        self.net = Net()
        self.act = M.Softmax(axis=1)

    def forward(self, x, scale=2.0, *, flag=True):
        outs = self.net(x)
        y = self.act(outs[0]) * scale
        z = x[:, None, ..., 1:3].to("xpux") if flag else x
        v = F.concat([F.full((2, 3), 1.5), x.sum(axis=(2, 3))], axis=0)
        w = x.astype("float16").astype("float32").detach()
        return {"y": y, "z": [z, v], "w": w, "rest": outs}


folder = sys.argv[1]
m = Kinds()
m.eval()
r = np.random.RandomState(3)
for t in m.tensors():
    if t.ndim:
        t._reset(mge.Tensor((np.abs(r.randint(-4, 5, size=t.shape)) / 4 + 0.25).astype("float32")))
x = mge.Tensor((r.randint(-8, 9, size=(2, 3, 4, 4)) / 4).astype("float32"))
tm = trace_module(m, x, scale=3.0)
xx = x.numpy().copy()
out = tm(mge.Tensor(xx), scale=3.0)
flat = [out["y"], *out["z"], out["w"], *out["rest"]]
mge.save(tm, folder + "/kinds.tm")
np.savez_compressed(
    folder + "/kinds.npz", x=xx, **{f"out_{k}": o.numpy() for k, o in enumerate(flat)}
)
open(folder + "/kinds.txt", "w").write(str(tm.graph))


class Random(M.Module):
    def forward(self, x):
        drawn = mge.random.normal(mean=2.0, size=(2,)).sum() + mge.random.uniform(size=(1000,))
        return x.sum() * 0 + drawn


disable_default_checker()
mge.save(trace_module(Random(), x), folder + "/random.tm")
