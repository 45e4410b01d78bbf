# SPDX-License-Identifier: Apache-2.0
"""The cost of one small operator from Python, in nanoseconds: the median of repeated loops.

eager.py [mge|torch]      torch: the same operators in PyTorch, where it is installed
"""

import argparse
import statistics
import time

import numpy as np

CHAIN = 16
REPEATS = 15


def nanoseconds(body, operators, loops):
    """Run body(loops) again and again; return the median time per operator."""
    body(max(1, loops // 10))
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter_ns()
        body(loops)
        times.append((time.perf_counter_ns() - begin) / loops / operators)
    return statistics.median(times)


def add_loop(a, b):
    def body(loops):
        for _ in range(loops):
            a + b

    return body


def matmul_loop(a, b):
    def body(loops):
        for _ in range(loops):
            a @ b

    return body


def measure_mge():
    import megengine as mge
    from megengine.autodiff import GradManager

    a, b = (mge.Tensor(np.ones((4, 4), np.float32)) for _ in range(2))
    parameter = mge.Parameter(np.ones((4, 4), np.float32))
    manager = GradManager().attach([parameter])

    def train(loops):
        for _ in range(loops):
            with manager:
                x = parameter
                for _ in range(CHAIN):
                    x = x + b
                manager.backward(x.sum())
            parameter.grad = None

    yield "add 4x4", nanoseconds(add_loop(a, b), 1, 100_000)
    yield "matmul 4x4", nanoseconds(matmul_loop(a, b), 1, 50_000)
    yield f"{CHAIN} adds, sum, backward; per add", nanoseconds(train, CHAIN, 2_000)


def measure_torch():
    import torch

    torch.set_num_threads(1)
    a, b = torch.ones(4, 4), torch.ones(4, 4)
    parameter = torch.ones(4, 4, requires_grad=True)

    def train(loops):
        for _ in range(loops):
            x = parameter
            for _ in range(CHAIN):
                x = x + b
            x.sum().backward()
            parameter.grad = None

    with torch.inference_mode():
        yield "add 4x4", nanoseconds(add_loop(a, b), 1, 100_000)
        yield "matmul 4x4", nanoseconds(matmul_loop(a, b), 1, 50_000)
    yield f"{CHAIN} adds, sum, backward; per add", nanoseconds(train, CHAIN, 2_000)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("engine", nargs="?", choices=("mge", "torch"), default="mge")
    engine = parser.parse_args().engine
    for name, ns in (measure_mge if engine == "mge" else measure_torch)():
        print(f"| {engine} | {name} | {ns:.0f} ns |", flush=True)


if __name__ == "__main__":
    main()
