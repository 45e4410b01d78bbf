# SPDX-License-Identifier: Apache-2.0
"""Functions that rearrange tensors and pick from them."""

import numpy as np

import megengine.functional as F

from .arrays import numbers


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


def dynamic(x, i):
    picked, where = F.cond_take(x > 0, x)
    total = F.sum(picked * 2) + F.max(picked)
    other, _ = F.cond_take(i > 1, i)
    return [F.exp(picked), where, total, other + 1, F.concat([picked, picked]), picked[:2]]


def identity(x, y):
    return x, F.zeros((2, 2)), y + 1, x * 2


def picked(x, i):
    kept, at = F.cond_take(x > 0, x)
    rows = x[F.max(x, 1) > 0.9]
    written = x * 1
    written[1:3, i[:2]] = 0.5
    return [
        F.broadcast_to(F.reshape(kept, (1, -1)), (2, kept.shape[0])),
        kept[0] + kept[-1],
        F.transpose(F.reshape(kept, (-1, 1)), (1, 0)) * 2,
        F.softmax(rows, -1),
        F.cumsum(kept, 0),
        at.shape[0] + F.zeros((1,)),
        written,
        F.diag(x),
        F.diag(x, -1),
        *F.topk(x, x.shape[1] // 2),
        F.topk(x, x.shape[0] - 1, descending=False)[0],
    ]


def noise(x):
    from megengine import random

    return [
        F.floor(random.uniform(0, 1, (3, 4))),
        F.floor(random.uniform(size=(x.shape[0], 50))),
        F.abs(random.normal(0, 1, (2, 300))) < 9,
        F.dropout(x * 0, 0.5, training=True),
    ]


def nets(mge):
    index = np.array([2, 0, 1, 3], np.int32)
    return {
        "identity": (identity, {"x": numbers("x", (2, 3)), "y": numbers("y", (3,))}),
        "indexing": (indexing, {"x": numbers("indexing", (4, 6)), "i": index}),
        "noise": (noise, {"x": numbers("noise", (2, 3))}),
        "picked": (picked, {"x": numbers("picked", (4, 6)), "i": index}),
        "places": (places, {"x": numbers("places", (4, 5, 6)), "i": index}),
        "selection": (dynamic, {"x": numbers("selection", (4, 6)), "i": index}),
        "shapes": (shapes, {"x": numbers("shapes", (2, 3, 4))}),
    }
