# SPDX-License-Identifier: Apache-2.0
"""Writes models whose memory is that of graphs inside of operators, for memory_classes.py.

dump_loops.py --out FOLDER
"""

import argparse
from pathlib import Path

import numpy as np

import megengine as mge
import megengine.functional as F
from megengine.jit import trace

RANDOM = np.random.RandomState(1)


def weight(*shape):
    return mge.Tensor((RANDOM.standard_normal(shape) / shape[0] ** 0.5).astype("float32"))


def lstm():
    """Return an LSTM as a scan, and the shape of an item of its input: 64 steps of 512 numbers."""
    steps, n = 64, 512
    both = weight(2 * n, 4 * n)

    def step(state, x):
        h, c = state[0], state[1]
        gates = F.split(F.matmul(F.concat([x, h], axis=1), both), 4, axis=1)
        c = F.sigmoid(gates[0]) * c + F.sigmoid(gates[1]) * F.tanh(gates[2])
        h = F.sigmoid(gates[3]) * F.tanh(c)
        return F.stack([h, c]), h

    def net(x):
        zero = x[:, 0] * 0
        return F.scan(step, F.stack([zero, zero]), F.transpose(x, (1, 0, 2)))[1]

    return net, (steps, n)


def attention(h, w):
    """Mix the rows of each item by products with each other."""
    mixed = F.softmax(F.matmul(h, F.transpose(h, (0, 2, 1))), axis=2)
    return F.relu(F.matmul(F.matmul(mixed, h), w))


def repeated():
    """Return attention, eight times, as a while loop."""
    rows, n = 512, 256
    w = weight(n, n)

    def net(x):
        body = lambda i, h: (i + 1, attention(h, w))  # noqa: E731
        return F.while_loop(lambda i, h: i < 8, body, (F.sum(x) * 0, x))[1]

    return net, (rows, n)


def branches():
    """Return a choice between attention and much less."""
    rows, n = 512, 256
    w = weight(n, n)

    def net(x):
        return F.cond(F.sum(x) > 0, lambda h: attention(h, w), lambda h: F.relu(h), x) * 2

    return net, (rows, n)


def nested():
    """Return a while loop around a scan over rows, behind attention without one."""
    rows, n = 256, 256
    w, v = weight(n, n), weight(n, n)

    def walk(h):
        return F.scan(lambda s, x: ((y := F.tanh(F.matmul(s, v) + x)), y), h[0] * 0, h)[1]

    def net(x):
        h = F.transpose(attention(x, w), (1, 0, 2))
        return F.while_loop(lambda i, h: i < 4, lambda i, h: (i + 1, walk(h)), (F.sum(x) * 0, h))[1]

    return net, (rows, n)


NETS = {"lstm": lstm, "while": repeated, "cond": branches, "nested": nested}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for name, make in NETS.items():
        net, item = make()
        traced = trace(symbolic=True, capture_as_const=True)(net)
        traced(mge.Tensor(np.ones((1, *item), "float32")))
        traced.dump(str(options.out / f"{name}.mge"), arg_names=["x"])


if __name__ == "__main__":
    main()
