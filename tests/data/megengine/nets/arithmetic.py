# SPDX-License-Identifier: Apache-2.0
"""Functions that compute: elementwise, reductions, products."""

import numpy as np

import megengine.functional as F

from .arrays import numbers


def spectrum(x):
    u, s, v = F.svd(x)
    return [s * 2, u * u, F.matmul(u * s, v), F.svd(F.transpose(x, (1, 0)))[1]]


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


def slopes(x, dy):
    """The operators of a gradient that belongs to a network."""
    from megengine.core._imperative_rt.core2 import apply
    from megengine.core.ops.builtin import Elemwise

    kinds = ["ABS", "SIGMOID", "TANH", "FAST_TANH", "H_SWISH", "SILU", "GELU"]
    kinds += ["ASINH", "ATANH", "SOFTPLUS", "RELU6", "HSIGMOID"]
    results = [apply(Elemwise(mode=f"{kind}_GRAD"), x, dy)[0] for kind in kinds]
    results += [apply(Elemwise(mode="ACOSH_GRAD"), F.abs(x) + 1.5, dy)[0]]
    results += [apply(Elemwise(mode="PRELU_GRAD"), x, dy, dy * 0 + 0.25)[0]]
    return results


def nets(mge):
    index = np.array([2, 0, 1, 3], np.int32)
    return {
        "passing": (
            lambda x: [F.dropout(x, 0.5, training=False), x + 1],
            {"x": numbers("x", (3,))},
        ),
        "linalg": (
            linalg,
            {"a": numbers("a", (2, 3, 4)), "b": numbers("b", (2, 4, 3)), "v": numbers("v", (4,))},
        ),
        "more_elemwise": (
            elemwise,
            {"x": numbers("x", (3, 4)), "y": numbers("y", (4,), 0.0625, 1), "i": index},
        ),
        "more_reduce": (reduce, {"x": numbers("reduce", (2, 3, 4))}),
        "slopes": (slopes, {"x": numbers("slopes", (3, 8), -4, 7), "dy": numbers("dy", (3, 8))}),
        "chances": (
            lambda x: mge.random.gamma(F.exp(x), 2.0) * 2,
            {"x": numbers("chances", (3, 4))},
        ),
        "spectrum": (spectrum, {"x": numbers("spectrum", (3, 4))}),
    }
