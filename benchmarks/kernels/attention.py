#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Attention and its gradients: the operator, the operators that it replaces, and PyTorch's.

In turns, so that other work on the machine meets all of them; minima and medians, float32. The
chain has its heads first, as the others do: transpositions that an exporter writes are not in it.

Usage: MGE_THREADS=2 PYTHONPATH=build/release/python build/peers/bin/python \\
           benchmarks/kernels/attention.py
"""

import math
import statistics
import time

import numpy as np
import torch
import torch.nn.functional as TF

import megengine as mge
import megengine.functional as F
from megengine import _mge

ROUNDS, ROUND_SECONDS = 15, 0.05
# (batch, heads, rows, width, causal)
CASES = [
    (1, 12, 128, 64, False),
    (1, 12, 197, 64, False),
    (8, 12, 128, 64, False),
    (1, 12, 1024, 64, False),
    (1, 12, 1024, 64, True),
]


def ms_of(run):
    """Duration of one call, over as many as fill a moment."""
    begin, calls = time.perf_counter(), 0
    while (spent := time.perf_counter() - begin) < ROUND_SECONDS or calls == 0:
        run()
        calls += 1
    return spent / calls * 1e3


def chain(q, k, v, hidden):
    scores = F.matmul(q, k, transpose_b=True) * (1 / math.sqrt(q.shape[3]))
    if hidden is not None:
        scores = scores + hidden
    return F.matmul(F.softmax(scores, axis=-1), v)


def contestants(arrays, causal):
    """By name, what is timed; all that give y come first, those that give gradients last."""
    q, k, v, dy = (mge.Tensor(a) for a in arrays)
    rows = q.shape[2]
    above = np.triu(np.full((rows, rows), -np.inf, np.float32), 1)
    hidden = mge.Tensor(above) if causal else None
    y, log_sum_exp = _mge.ops.attention(q, k, v, causal=causal)
    theirs = [torch.from_numpy(a).requires_grad_(i < 3) for i, a in enumerate(arrays)]

    def torch_forward():
        with torch.no_grad():
            return TF.scaled_dot_product_attention(*theirs[:3], is_causal=causal)

    def torch_both():
        out = TF.scaled_dot_product_attention(*theirs[:3], is_causal=causal)
        return torch.autograd.grad(out, theirs[:3], theirs[3])

    def both():
        y, log_sum_exp = _mge.ops.attention(q, k, v, causal=causal)
        return _mge.ops.attention_backward(q, k, v, dy, y, log_sum_exp, causal=causal)

    np.testing.assert_allclose(y.numpy(), torch_forward().numpy(), atol=1e-4)
    np.testing.assert_allclose(y.numpy(), chain(q, k, v, hidden).numpy(), atol=1e-4)
    for ours, other in zip(both(), torch_both(), strict=True):
        np.testing.assert_allclose(ours.numpy(), other.numpy(), atol=1e-3)
    return {
        "operator": lambda: _mge.ops.attention(q, k, v, causal=causal)[0].numpy(),
        "chain": lambda: chain(q, k, v, hidden).numpy(),
        "torch": torch_forward,
        "operator, with gradients": lambda: both()[0].numpy(),
        "torch, with gradients": torch_both,
    }


def main():
    threads = _mge.get_threads()
    torch.set_num_threads(threads)
    random = np.random.default_rng(0)
    for batch, heads, rows, width, causal in CASES:
        shape = (batch, heads, rows, width)
        arrays = [random.standard_normal(shape, np.float32) for _ in range(4)]
        runs = contestants(arrays, causal)
        times = {name: [] for name in runs}
        for _ in range(ROUNDS):
            for name, run in runs.items():
                times[name].append(ms_of(run))
        print(f"{shape}{', causal' if causal else ''}, {threads} threads")
        for name, all_of in times.items():
            print(f"  {name:26} {min(all_of):8.3f} {statistics.median(all_of):8.3f} ms")


if __name__ == "__main__":
    main()
