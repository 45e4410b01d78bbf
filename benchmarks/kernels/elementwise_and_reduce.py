#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The cases of benchmark_elementwise for NumPy and, where it is installed, PyTorch.

Usage: elementwise_and_reduce.py [THREADS]
"""

import sys
import time

import numpy as np

ROUNDS = 25
ROUND_SECONDS = 0.004


def least_us(run):
    """CPU time, the least of several rounds: other work on the machine disturbs it little."""
    run()
    times = []
    for _ in range(ROUNDS):
        begin, repeats = time.process_time(), 0
        while time.process_time() - begin < ROUND_SECONDS:
            run()
            repeats += 1
        times.append((time.process_time() - begin) / repeats * 1e6)
    return min(times)


def report(who, name, size, run):
    us = least_us(run)
    print(f"{who:8} {name:14} {size:10} B {us:10.2f} us {size / us * 1e6 / 2**30:8.1f} GiB/s")


def numpy_cases(x, y, row, column, out):
    return {
        "add": (3 * x.nbytes, lambda: np.add(x, y, out=out)),
        "add row": (2 * x.nbytes, lambda: np.add(x, row, out=out)),
        "add column": (2 * x.nbytes, lambda: np.add(x, column, out=out)),
        "relu": (2 * x.nbytes, lambda: np.maximum(x, 0, out=out)),
        "exp": (2 * x.nbytes, lambda: np.exp(x, out=out)),
        "tanh": (2 * x.nbytes, lambda: np.tanh(x, out=out)),
        "sum all": (x.nbytes, lambda: x.sum()),
        "sum axis 1": (x.nbytes, lambda: x.sum(1)),
        "sum axis 0": (x.nbytes, lambda: x.sum(0)),
        "max axis 1": (x.nbytes, lambda: x.max(1)),
    }


def torch_cases(torch, x, y, row, column, out):
    size = x.numel() * 4
    return {
        "add": (3 * size, lambda: torch.add(x, y, out=out)),
        "add row": (2 * size, lambda: torch.add(x, row, out=out)),
        "add column": (2 * size, lambda: torch.add(x, column, out=out)),
        "relu": (2 * size, lambda: torch.clamp(x, min=0, out=out)),
        "exp": (2 * size, lambda: torch.exp(x, out=out)),
        "tanh": (2 * size, lambda: torch.tanh(x, out=out)),
        "gelu": (2 * size, lambda: torch.nn.functional.gelu(x)),
        "sum all": (size, lambda: x.sum()),
        "sum axis 1": (size, lambda: x.sum(1)),
        "sum axis 0": (size, lambda: x.sum(0)),
        "max axis 1": (size, lambda: x.amax(1)),
    }


def main():
    threads = int(sys.argv[1]) if len(sys.argv) > 1 else 1
    try:
        import torch

        torch.set_num_threads(threads)
        torch.set_grad_enabled(False)
    except ImportError:
        torch = None
    for shape in ((256, 1024), (4096, 4096)):
        x = (0.5 + np.arange(np.prod(shape)) % 1000 * 1e-3).astype("float32").reshape(shape)
        arrays = x, x.copy(), x[0].copy(), x[:, :1].copy(), np.empty_like(x)
        for name, (size, run) in numpy_cases(*arrays).items():
            report("numpy", name, size, run)
        if torch:
            tensors = [torch.from_numpy(a) for a in arrays]
            for name, (size, run) in torch_cases(torch, *tensors).items():
                report("torch", name, size, run)


if __name__ == "__main__":
    main()
