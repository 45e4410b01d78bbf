# SPDX-License-Identifier: Apache-2.0
"""Networks that look at sequences."""

import megengine.functional as F
import megengine.module as M

from .arrays import numbers


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


class Heads(M.Module):
    """Attention as one operator."""

    def __init__(self):
        super().__init__()
        self.a = M.MultiHeadAttention(8, 2)
        self.b = M.MultiHeadAttention(8, 4, bias=False, kdim=6, vdim=5)

    def forward(self, x, y, z, mask, padding):
        a = self.a(x, x, x)
        b = self.b(x, y, z, attn_mask=mask, key_padding_mask=padding)
        return a[0] if isinstance(a, tuple) else a, b[0] if isinstance(b, tuple) else b


def nets(mge):
    return {
        "attention": (Attention(), {"x": numbers("attention", (2, 5, 24))}),
        "cells": (Cells(), {"x": numbers("cells", (3, 2, 5))}),
        "gru": (Gru(), {"x": numbers("gru", (2, 4, 6))}),
        "heads": (
            Heads(),
            {
                "x": numbers("heads", (2, 5, 8)),
                "y": numbers("keys", (2, 6, 6)),
                "z": numbers("values", (2, 6, 5)),
                "mask": numbers("mask", (5, 6), -2, 2),
                "padding": numbers("padding", (2, 6), -2, 2),
            },
        ),
        "lstm": (Rnn(M.LSTM, num_layers=2), {"x": numbers("lstm", (5, 2, 6))}),
        "lstm_both_ways": (
            Rnn(M.LSTM, bidirectional=True, bias=False),
            {"x": numbers("lstm", (5, 2, 6))},
        ),
        # MegEngine keeps the size of the projection and computes without one.
        "lstm_projected": (Rnn(M.LSTM, proj_size=3), {"x": numbers("lstm", (5, 2, 6))}),
        "rnn": (Rnn(M.RNN, nonlinearity="tanh"), {"x": numbers("rnn", (5, 2, 6))}),
    }
