# SPDX-License-Identifier: Apache-2.0
"""Times the parts of a data-parallel training step in the processes of a launcher.

An MLP of equal layers is trained. Rank 0 prints one object of JSON. It has medians and least times
of the slowest process, in seconds:

- forward, compute: the forward pass; the step without exchanges
- communication: the exchanges of all buckets without computing
- after, overlap: the step with exchanges after the backward pass, and during it
- traced_compute, traced: the traced step without exchanges, and with them during the backward pass
- latency, large: the sum of four bytes, and of 16 MB
"""

import argparse
import json
import os
import time

import numpy as np

import megengine as mge
import megengine.distributed as dist
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.distributed.functional import all_reduce_max, all_reduce_sum
from megengine.optimizer import SGD

LARGE = 4 << 20  # elements


class Net(M.Module):
    """Layers of equal width."""

    def __init__(self, layers: int, width: int) -> None:
        super().__init__()
        self.layers = [M.Linear(width, width) for _ in range(layers)]

    def forward(self, x):
        for layer in self.layers:
            x = F.relu(layer(x))
        return x


class AfterBackward:
    """Exchanges buckets when the backward pass is over."""

    def __init__(self, bucket_bytes: int) -> None:
        self._bytes, self._waiting = bucket_bytes, []

    def __call__(self, param, grad):
        future = dist.helper.TensorFuture(self._exchange)
        self._waiting.append((future, grad))
        return future

    def _exchange(self) -> None:
        waiting, self._waiting = self._waiting, []
        while waiting:
            bucket, size = [], 0
            while waiting and size < self._bytes:
                bucket.append(waiting.pop())
                size += bucket[-1][1].numpy().nbytes
            grads = [grad for _, grad in bucket]
            sums = dist.helper.pack_allreduce_split(
                grads, [g.shape for g in grads], dist.WORLD, "mean"
            )
            for (future, _), value in zip(bucket, sums, strict=True):
                future.set(value)


def let_exchanges_interrupt() -> None:
    """Let the threads that exchange run before the one that computes, as an ordinary scheduler does
    with threads that mostly wait."""
    main, policy = os.getpid(), os.sched_getscheduler(0)
    if policy != os.SCHED_FIFO:
        return
    above = os.sched_param(os.sched_getparam(0).sched_priority + 1)
    for thread in map(int, os.listdir("/proc/self/task")):
        if thread != main:
            os.sched_setscheduler(thread, policy, above)


def timed(work, steps: int) -> tuple[float, float]:
    """Median and least seconds of the slowest process in each step."""
    found = []
    for _ in range(steps + 1):
        dist.group_barrier()
        begin = time.perf_counter()
        work()
        mge._mge.synchronize()
        own = mge.Tensor(np.float32([time.perf_counter() - begin]))
        found.append(float(all_reduce_max(own).numpy()[0]))
    return float(np.median(found[1:])), min(found[1:])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--bucket-bytes", type=int, default=8 << 20)
    parser.add_argument("--compress")
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    dist.init_process_group()
    net = Net(options.layers, options.width)
    dist.bcast_list_(net.tensors())
    x = mge.Tensor(np.ones((options.batch, options.width), np.float32))
    one, large = mge.Tensor(np.float32([1])), mge.Tensor(np.ones(LARGE, np.float32))

    def step(callbacks):
        manager = GradManager().attach(net.parameters(), callbacks=callbacks)
        optimizer = SGD(net.parameters(), lr=1e-6)

        def work():
            with manager:
                manager.backward(net(x).mean())
            optimizer.step().clear_grad()

        return work

    callback = dist.make_allreduce_cb(
        "mean", bucket_bytes=options.bucket_bytes, compress=options.compress
    )
    grads = [mge.Tensor(np.ones(p.shape, np.float32)) for p in net.parameters()]
    weights = GradManager().attach(net.parameters(), callbacks=[callback])

    def exchange():
        with weights:  # a backward pass that computes next to nothing
            ys = [p * 1.0 for p in net.parameters()]
            weights.backward(ys, grads)
        for p in net.parameters():
            p.grad = None

    parts = {
        "latency": (lambda: all_reduce_sum(one).numpy(), 20),
        "large": (lambda: all_reduce_sum(large), 3),
        "forward": (lambda: net(x).numpy(), options.steps),
        "compute": (step([]), options.steps),
        "communication": (exchange, options.steps),
        "after": (step([AfterBackward(options.bucket_bytes)]), options.steps),
        "overlap": (step([callback]), options.steps),
        "traced_compute": (mge.jit.trace(step([]), symbolic=True), options.steps),
        "traced": (mge.jit.trace(step([callback]), symbolic=True), options.steps),
    }
    result = {
        "processes": dist.get_world_size(),
        "engine": dist.get_backend(),
        "bytes": sum(p.numpy().nbytes for p in net.parameters()),
        "layers": options.layers,
    }
    exchange()  # starts the thread of exchanges
    let_exchanges_interrupt()
    for name, (work, steps) in parts.items():
        result[name], result[f"{name}_least"] = timed(work, steps)
    if dist.get_rank() == 0:
        print(json.dumps(result))


if __name__ == "__main__":
    main()
