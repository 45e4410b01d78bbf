# SPDX-License-Identifier: Apache-2.0
"""A script for several processes that exchange until one fails.

    exchange_until_failure.py HOW OUTPUT [BACKEND]

Each process writes OUTPUT.RANK.json with its error and when it was raised.
"""

import json
import os
import signal
import sys
import time

import numpy as np

import megengine as mge
import megengine.distributed as dist
import megengine.distributed.functional as F


def all_reduce(shape=(3,), dtype="float32", group=None):
    F.all_reduce_sum(mge.Tensor(np.ones(shape, dtype)), group).numpy()


def forever(shape=(3,)):
    while True:
        all_reduce(shape)


def begin():
    print("exchanging", flush=True)
    all_reduce()


def killed(rank):
    if rank == 1:
        all_reduce((1 << 18,))
        os.kill(os.getpid(), signal.SIGKILL)
    forever((1 << 18,))


def killed_with_children(rank):
    if rank == 1 and os.fork() == 0:
        time.sleep(60)
        os._exit(0)
    killed(rank)


def silent(rank):
    if rank == 1:
        print("silent", flush=True)
        time.sleep(20)
    all_reduce()


def fails(rank):
    if rank == 1:
        raise KeyError("out of luck")
    all_reduce()


def by_rank(first, others):
    return lambda rank: (first if rank == 0 else others)()


HOW = {
    "killed": killed,
    "killed_with_children": killed_with_children,
    "silent": silent,
    "fails": fails,
    "cut": lambda rank: forever(),
    "cut_long": lambda rank: forever((4 << 20,)),
    "shapes": by_rank(lambda: all_reduce((2, 3)), lambda: all_reduce((3, 2))),
    "sizes": by_rank(lambda: all_reduce((100_000,)), lambda: all_reduce((7,))),
    "dtypes": by_rank(lambda: all_reduce((2,), "float32"), lambda: all_reduce((2,), "int32")),
    "operations": by_rank(all_reduce, lambda: F.all_gather(mge.Tensor(np.ones(3, "float32")))),
    "groups": by_rank(
        lambda: all_reduce(group=dist.new_group([0, 1])),
        lambda: all_reduce(group=dist.new_group(range(dist.get_world_size()))),
    ),
}


def main(how, output, backend="auto"):
    dist.init_process_group(backend=backend)
    rank = dist.get_rank()
    try:
        begin()
        HOW[how](rank)
        error = ""
    except RuntimeError as raised:
        error = str(raised)
    with open(f"{output}.{rank}.json", "w") as file:
        json.dump({"error": error, "time": time.time()}, file)


if __name__ == "__main__":
    main(*sys.argv[1:])
