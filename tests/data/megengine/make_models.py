# SPDX-License-Identifier: Apache-2.0
"""Writes the model files of this folder with MegEngine itself, and what MegEngine answers.

    PYTHON_WITH_MEGENGINE tests/data/megengine/make_models.py [--out FOLDER] [--only NET ...]

NET.VARIANT.mge is a dump, NET.inputs.npz its inputs, NET.VARIANT.outputs.npz what the file gives
when MegEngine loads it again, output by output. Needs MegEngine 1.13, which nothing else here does.
"""

import argparse
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent


def numbers(name, shape, low=-1.0, high=1.0):
    """Multiples of 1/64 that only depend on the name."""
    random = np.random.RandomState(zlib.crc32(name.encode()))
    return (random.randint(int(low * 64), int(high * 64) + 1, shape) / 64).astype(np.float32)


def seeded(net, name, mge):
    for key, tensor in net.named_tensors():
        if "running_var" in key:
            value = numbers(name + key, tensor.shape, 0.5, 1.5)
        else:
            fan = max(
                1, int(np.prod(tensor.shape)) // max(1, tensor.shape[0] if tensor.ndim else 1)
            )
            value = numbers(name + key, tensor.shape) / np.float32(fan**0.5)
        tensor._reset(mge.Tensor(value.astype(np.float32)))
    net.eval()
    return net


def build_nets(mge):
    """Name -> (function or module, {input name: array})."""
    import megengine.functional as F
    import megengine.module as M

    def conv_bn(i, o, k=3, s=1, g=1, act=M.ReLU):
        parts = [M.Conv2d(i, o, k, s, k // 2, groups=g, bias=False), M.BatchNorm2d(o)]
        return M.Sequential(*parts, *([act()] if act else []))

    class Act(M.Module):
        def __init__(self, f):
            super().__init__()
            self.f = f

        def forward(self, x):
            return self.f(x)

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
            self.body = M.Sequential(
                conv_bn(8, 8, 1), conv_bn(8, 8, 3, 1, 8, None), conv_bn(8, 8, 1)
            )

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
        """What a layout in blocks of channels meets: all kinds of weights, and both poolings."""

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

    class Attention(M.Module):
        """One decoder layer: causal mask made of shapes, layer norm, feed forward."""

        def __init__(self, d=24, heads=3):
            super().__init__()
            self.heads, self.d = heads, d
            self.qkv, self.out = M.Linear(d, 3 * d), M.Linear(d, d)
            self.n1, self.n2 = M.LayerNorm(d), M.LayerNorm(d, affine=False)
            self.up, self.down = M.Linear(d, 2 * d), M.Linear(2 * d, d)

        def forward(self, x):
            b, t, d = x.shape
            parts = F.split(self.qkv(self.n1(x)), 3, axis=2)
            q, k, v = (
                F.transpose(F.reshape(y, (b, t, self.heads, d // self.heads)), (0, 2, 1, 3))
                for y in parts
            )
            place = F.cumsum(F.ones((t,)), 0)
            mask = (F.expand_dims(place, 0) > F.expand_dims(place, 1)).astype("float32")
            score = F.matmul(q, F.transpose(k, (0, 1, 3, 2))) * (1 / 8**0.5) - 1e4 * mask
            y = F.matmul(F.softmax(score, axis=-1), v)
            x = x + self.out(F.reshape(F.transpose(y, (0, 2, 1, 3)), (b, t, d)))
            return x + self.down(F.relu(self.up(self.n2(x))))

    class Gru(M.Module):
        def __init__(self, i=6, h=12):
            super().__init__()
            self.h, self.x2g, self.h2g, self.out = (
                h,
                M.Linear(i, 3 * h),
                M.Linear(h, 3 * h),
                M.Linear(h, 3),
            )

        def forward(self, x):
            h = F.zeros((x.shape[0], self.h))
            for t in range(4):
                a, b = F.split(self.x2g(x[:, t]), 3, axis=1), F.split(self.h2g(h), 3, axis=1)
                r, z = F.sigmoid(a[0] + b[0]), F.sigmoid(a[1] + b[1])
                h = (1 - z) * F.tanh(a[2] + r * b[2]) + z * h
            return self.out(h)

    class Cells(M.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b = M.LSTMCell(5, 8), M.RNNCell(8, 6)
            self.c = M.LSTMCell(6, 4, bias=False)

        def forward(self, x):
            h = c = F.zeros((x.shape[1], 8))
            r = F.zeros((x.shape[1], 6))
            p = q = F.zeros((x.shape[1], 4))
            for t in range(3):
                h, c = self.a(x[t], (h, c))
                r = self.b(h, r)
                p, q = self.c(r, (p, q))
            return p, q, c

    class Rnn(M.Module):
        def __init__(self, kind, **options):
            super().__init__()
            self.rnn = kind(6, 8, **options)

        def forward(self, x):
            return self.rnn(x)[0]

    class Norms(M.Module):
        def __init__(self):
            super().__init__()
            self.a, self.b, self.c = M.GroupNorm(2, 4), M.InstanceNorm(4), M.LayerNorm((6, 5))
            self.d = M.GroupNorm(4, 4, affine=False)

        def forward(self, x):
            return self.a(x), self.b(x), self.c(x), self.d(x), F.local_response_norm(x)

    class PlainNorms(Norms):
        def forward(self, x):
            return self.c(x), self.d(x), F.local_response_norm(x, 3, 1.0, 0.01, 0.5)

    class Up(M.Module):
        def __init__(self):
            super().__init__()
            self.up = M.ConvTranspose2d(4, 6, 4, 2, 1)
            self.grouped = M.ConvTranspose2d(6, 4, 3, 1, 1, groups=2, bias=False)
            self.c = M.Conv2d(4, 3, 3, padding=1, padding_mode="reflect")

        def forward(self, x):
            y = self.c(self.grouped(F.relu(self.up(x))))
            return (
                y,
                F.max_pool2d(y, 3, 2, 1),
                F.pixel_shuffle(x, 2),
                F.nn.pad(x, ((0, 0), (0, 0), (1, 2), (0, 1)), constant_value=0.5),
            )

    class Interpolated(M.Module):
        def __init__(self):
            super().__init__()
            self.c = M.Conv2d(4, 3, 3, padding=1)

        def forward(self, x):
            y = F.vision.interpolate(self.c(x), scale_factor=2)
            return (
                y,
                F.vision.interpolate(y, size=(9, 7), mode="nearest"),
                F.vision.interpolate(x, size=(4, 3)),
            )

    def indexing(x, i):
        y = x[:, ::2, None] + x[i, 1:5:2].reshape(-1)[0]
        x[1, 2:4] = 5.0
        v, k = F.topk(x, 3)
        return [
            y,
            x,
            v,
            k,
            F.argmax(x, axis=1),
            F.argsort(x),
            F.cumsum(x, 1),
            F.concat([x, x[:, ::-1]], 1),
            F.where(x > 0, x, x * 0.5),
            F.gather(x, 1, F.reshape(i, (-1, 1))),
        ]

    def places(x, i):
        y = x + 0
        y[i] = 0.25
        z = x + 0
        z[:, i, 1] = x[:, i, 2]
        top, at = F.topk(F.flatten(x, 1), 4, descending=True)
        return [
            x[i],
            x[:, i],
            x[i, i],
            x[1:, :, i],
            x[..., -1],
            x[-1],
            x[:, None, 1],
            x[::2, ::-1],
            y,
            z,
            top,
            at,
            F.one_hot(i, 5),
            F.argmin(x, 2),
            F.roll(x, 1, 0),
            F.repeat(x, 2, 1),
            F.tile(x, (2, 1, 1)),
            F.stack([x, x * 2], 1),
            F.squeeze(x[:1], 0),
            F.full_like(x, 3.0),
            F.ones_like(x),
            F.linspace(0, 5, 6),
            F.eye(3),
            F.logical_not(x > 0).astype("int32"),
            F.scatter(x[:, :, 0] * 1, 1, F.reshape(i, (4, 1)), x[:, :1, 0] * 9),
        ]

    def shapes(x):
        n, t, d = x.shape
        a = F.reshape(x, (n * t, d))
        b = F.reshape(a, (n, -1))
        c = F.broadcast_to(F.expand_dims(x[:, 0], 1), (n, t + 1, d))
        p = F.concat([F.zeros((n, 1, d)), x], axis=1)
        q = F.split(x, [1, 2], axis=1)
        return [
            b,
            c,
            p,
            *q,
            F.ones((t, d)) * x.shape[0],
            F.arange(0, d, 2),
            F.flatten(x, 0, 1),
            F.transpose(x, (2, 0, 1)),
            x.mean() * n,
        ]

    def linalg(a, b, v):
        return [
            F.matmul(a, b),
            F.matmul(a, a, transpose_b=True),
            F.matmul(a[0], v),
            F.dot(v, v),
            F.matmul(b, a, transpose_a=True, transpose_b=True),
            F.linear(a, F.transpose(b[0], (1, 0))),
            F.matmul(v, b),
            F.matmul(a, b[0]),
            F.normalize(a, axis=1),
        ]

    def reduce(x):
        return [
            x.sum(axis=(1, 2), keepdims=True),
            x.mean(axis=(0, 2)),
            F.max(x),
            F.min(x, axis=-1, keepdims=True),
            F.prod(x, -1),
            F.var(x),
            F.std(x, 2),
            F.norm(x, axis=2),
            F.argmax(x, 1),
            F.norm(x, ord=1, axis=0),
            F.logsumexp(x, (1, 2)),
            F.softmax(x, 0),
            F.logsoftmax(x, 1),
            F.mean(x > 0.25),
            F.sum(x > 0, axis=1),
            x.astype("int32").sum(1),
            F.isnan(x).astype("float32"),
            F.topk(F.flatten(x, 1), 2, kth_only=True)[0],
        ]

    def elemwise(x, y, i):
        return [
            F.maximum(x, 0.25),
            F.clip(x, lower=0.3),
            F.abs(x - y) / (x + 3),
            (x >= y).astype("float32"),
            x != y,
            F.logical_or(x > 0.5, y > 0.5),
            F.logical_xor(x > 0.5, y > 0.5),
            i + 3,
            i * i,
            i // 2,
            i % 3,
            -i,
            i << 2,
            i >> 1,
            F.floor(x * 4),
            F.ceil(x * 4),
            F.round(x * 4),
            F.log(x + 2),
            F.expm1(x),
            x**3,
            x**-0.5,
            2**x,
            1 / (x + 2),
            F.acos(y),
            F.asin(y),
            F.acosh(x + 2),
            F.atanh(y / 4),
            F.cosh(x),
            F.log1p(x),
            F.sigmoid(x) * y,
            F.relu(x - y),
            F.leaky_relu(x, 0.2),
            i.astype("float32") / 2,
            F.equal(i, 2),
            F.minimum(i, 3),
            x.astype("float16") + 1,
            (x * 100).astype("uint8"),
            x.astype("bool"),
        ]

    def dynamic(x, i):
        picked, where = F.cond_take(x > 0, x)
        total = F.sum(picked * 2) + F.max(picked)
        other, _ = F.cond_take(i > 1, i)
        return [F.exp(picked), where, total, other + 1, F.concat([picked, picked]), picked[:2]]

    def identity(x, y):
        return x, F.zeros((2, 2)), y + 1, x * 2

    image = numbers("image", (2, 3, 24, 20))
    index = np.array([2, 0, 1, 3], np.int32)
    return {
        "attention": (Attention(), {"x": numbers("attention", (2, 5, 24))}),
        "blocked": (Blocked(), {"data": image}),
        "cells": (Cells(), {"x": numbers("cells", (3, 2, 5))}),
        "dense": (Dense(), {"data": numbers("dense", (2, 4, 9, 8))}),
        "gru": (Gru(), {"x": numbers("gru", (2, 4, 6))}),
        "identity": (identity, {"x": numbers("x", (2, 3)), "y": numbers("y", (3,))}),
        "indexing": (indexing, {"x": numbers("indexing", (4, 6)), "i": index}),
        "interpolated": (Interpolated(), {"x": numbers("up", (1, 4, 6, 5))}),
        "lenet": (LeNet(), {"data": numbers("lenet", (2, 1, 20, 20))}),
        "linalg": (
            linalg,
            {"a": numbers("a", (2, 3, 4)), "b": numbers("b", (2, 4, 3)), "v": numbers("v", (4,))},
        ),
        "lstm": (Rnn(M.LSTM, num_layers=2), {"x": numbers("lstm", (5, 2, 6))}),
        "lstm_both_ways": (
            Rnn(M.LSTM, bidirectional=True, bias=False),
            {"x": numbers("lstm", (5, 2, 6))},
        ),
        "mixed": (Mixed(), {"data": image}),
        "more_elemwise": (
            elemwise,
            {"x": numbers("x", (3, 4)), "y": numbers("y", (4,), 0.0625, 1), "i": index},
        ),
        "more_reduce": (reduce, {"x": numbers("reduce", (2, 3, 4))}),
        "norms": (Norms(), {"x": numbers("norms", (2, 4, 6, 5))}),
        "plain_norms": (PlainNorms(), {"x": numbers("norms", (2, 4, 6, 5))}),
        "places": (places, {"x": numbers("places", (4, 5, 6)), "i": index}),
        "rnn": (Rnn(M.RNN, nonlinearity="tanh"), {"x": numbers("rnn", (5, 2, 6))}),
        "selection": (dynamic, {"x": numbers("selection", (4, 6)), "i": index}),
        "shapes": (shapes, {"x": numbers("shapes", (2, 3, 4))}),
        "shuffle": (Shuffle(), {"data": image}),
        "upward": (Up(), {"x": numbers("up", (1, 4, 6, 5))}),
    }


V2, V1 = ("v2", {}), ("v1", {"dump_format": "FBS"})
NAMES = (
    "names",
    {"keep_var_name": 2, "keep_opr_name": True, "keep_param_name": True, "keep_opr_priority": True},
)
PLAIN = ("plain", {"optimize_for_inference": False})
V1_PLAIN = ("v1_plain", {"dump_format": "FBS", "optimize_for_inference": False})
V1_NAMES = ("v1_names", {**V1[1], **NAMES[1]})
UNCHANGED = ("no_change_graph", {"no_change_graph": True})
NCHW44 = ("nchw44", {"enable_nchw44": True})
FUSED = ("fuse", {"enable_fuse_conv_bias_nonlinearity": True})
FUSED_Z = (
    "fuse_z",
    {"enable_fuse_conv_bias_nonlinearity": True, "enable_fuse_conv_bias_with_z": True},
)
MIXED16, HALF = ("io16xc32", {"enable_io16xc32": True}), ("ioc16", {"enable_ioc16": True})
TESTED = ("testcase", {"input_data": True})
NCHW88, NCHW44_DOT = (
    ("nchw88", {"enable_nchw88": True}),
    ("nchw44_dot", {"enable_nchw44_dot": True}),
)
NCHW4, NCHW32 = ("nchw4", {"enable_nchw4": True}), ("nchw32", {"enable_nchw32": True})
PREPARED = ("preprocess", {"enable_fuse_preprocess": True})
VARIANTS = {
    "blocked": [NCHW44, NCHW88, NCHW44_DOT, NCHW4, NCHW32, FUSED_Z, PREPARED],
    "lenet": [NAMES, FUSED, MIXED16, HALF, TESTED, PLAIN, V1_PLAIN, NCHW44],
    "mixed": [UNCHANGED, FUSED, FUSED_Z, NCHW44, V1_PLAIN, V1_NAMES, HALF, MIXED16],
    "shuffle": [NCHW44, NAMES, V1_PLAIN, FUSED],
    "attention": [UNCHANGED, HALF, PLAIN, TESTED],
    "dense": [PLAIN, FUSED, ("v1_fuse", {"dump_format": "FBS", **FUSED[1]})],
    "places": [PLAIN],
    "shapes": [PLAIN],
    "norms": [PLAIN],
}
for name in ("more_elemwise", "more_reduce", "norms", "plain_norms", "indexing"):
    VARIANTS.setdefault(name, []).append(UNCHANGED)


# MegEngine's own float16 convolutions give other numbers, NaN among them, in each run on a CPU.
# Layouts of other processors do not come back.
UNTRUSTED = {("lenet", HALF[0]), ("lenet", MIXED16[0]), ("mixed", HALF[0]), ("mixed", MIXED16[0])}
UNTRUSTED |= {("blocked", v[0]) for v in (NCHW88, NCHW4, NCHW32, NCHW44_DOT)}


def differs(got, expected):
    return list(got) != list(expected) or any(
        got[k].shape != v.shape or not np.allclose(got[k], v, 1e-6, 1e-6, equal_nan=True)
        for k, v in expected.items()
    )


def make_one(name, out):
    import megengine as mge
    from megengine.jit import trace
    from megengine.utils.comp_graph_tools import GraphInference
    from megengine.utils.naming import AutoNaming

    net, inputs = build_nets(mge)[name]
    if hasattr(net, "named_tensors"):
        seeded(net, name, mge)
    np.savez_compressed(out / f"{name}.inputs.npz", **inputs)
    common = {}
    for variant, options in [V2, V1, *VARIANTS.get(name, [])]:
        path = out / f"{name}.{variant}.mge"
        try:
            AutoNaming.clear()
            traced = trace(symbolic=True, capture_as_const=True)(lambda *a: net(*a))
            results = traced(*[mge.Tensor(a) for a in inputs.values()])
            count = len(results) if isinstance(results, list | tuple) else 1
            options = dict(options)
            with tempfile.TemporaryDirectory() as place:
                if options.get("input_data"):
                    for key, array in inputs.items():
                        np.save(f"{place}/{key}.npy", array)
                    options["input_data"] = [";".join(f"{k}:{place}/{k}.npy" for k in inputs)]
                names = [f"out{i:02d}" for i in range(count)]
                traced.dump(str(path), arg_names=list(inputs), output_names=names, **options)
            print(f"{name}.{variant}: {path.stat().st_size} bytes, {count} outputs")
            if options.get("input_data") or (name, variant) in UNTRUSTED:
                continue
            got = GraphInference(str(path)).run(inp_dict=inputs)
            got = dict(zip(names, got.values(), strict=True))
            if not common:
                common = got
                np.savez_compressed(out / f"{name}.outputs.npz", **got)
            elif differs(got, common):
                np.savez_compressed(out / f"{name}.{variant}.outputs.npz", **got)
        except Exception as error:
            path.unlink(missing_ok=True)
            print(f"{name}.{variant}: {type(error).__name__}: {str(error).splitlines()[0]}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=HERE)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--one", help=argparse.SUPPRESS)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    if args.one:
        make_one(args.one, args.out)
        return
    import megengine as mge

    for name in args.only or build_nets(mge):
        # One process each: MegEngine numbers its operators per process, and some dumps end it.
        command = [sys.executable, __file__, "--out", str(args.out), "--one", name]
        if code := subprocess.run(command, timeout=300).returncode:
            print(f"{name}: ended with {code}")


if __name__ == "__main__":
    main()
