# SPDX-License-Identifier: Apache-2.0
"""How long two processes on CPUs take to sum their float32 numbers, beside PyTorch's gloo.

Prints rows of Markdown: engine, size, least and median of the rounds, in ms.

    all_reduce.py [mge|torch] [--rounds 30]
"""

import argparse
import statistics
import time

import numpy as np

SIZES = {
    "4 KB": 1 << 10,
    "1 MB": 1 << 18,
    "45 MB (ResNet-18)": 11 << 20,
    "102 MB (ResNet-50)": 25 << 20,
}


def times(reduce, count, rounds):
    """Times of one process in ms; the sum is checked."""
    found = []
    for _ in range(rounds + 2):
        begin = time.perf_counter()
        first = reduce(count)
        found.append(1e3 * (time.perf_counter() - begin))
        assert first == 3, first
    return found[2:]


def measure_mge(rounds):
    import megengine as mge
    import megengine.distributed as dist
    from megengine.distributed.functional import all_reduce_sum

    def work():
        ones = {n: mge.Tensor(np.full(n, 1 + dist.get_rank(), np.float32)) for n in SIZES.values()}
        return [times(lambda n: float(all_reduce_sum(ones[n])[0]), n, rounds) for n in ones]

    return dist.launcher(work, n_gpus=2, device_type="cpu")()[0]


def torch_process(rank, port, rounds, found):
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"tcp://127.0.0.1:{port}", rank=rank, world_size=2)
    ones = {n: torch.full((n,), 1.0 + rank) for n in SIZES.values()}

    def reduce(n):
        # It writes over what it is given: a copy, as ours makes a new Tensor.
        result = ones[n].clone()
        dist.all_reduce(result)
        return float(result[0])

    results = [times(reduce, n, rounds) for n in ones]
    if rank == 0:
        found.put(results)
    dist.destroy_process_group()


def measure_torch(rounds):
    import socket

    import torch.multiprocessing as mp

    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    found = mp.get_context("spawn").SimpleQueue()
    mp.spawn(torch_process, args=(port, rounds, found), nprocs=2)
    return found.get()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("engine", nargs="?", choices=("mge", "torch"), default="mge")
    parser.add_argument("--rounds", type=int, default=30)
    arguments = parser.parse_args()
    measure = measure_mge if arguments.engine == "mge" else measure_torch
    for size, found in zip(SIZES, measure(arguments.rounds), strict=True):
        print(
            f"| {arguments.engine} | {size} | {min(found):.3f} | {statistics.median(found):.3f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
