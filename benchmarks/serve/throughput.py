#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure servers: requests per second with and without batches, and the overhead of one request.

    throughput.py [--engine mlserver] [--clients 32] [--seconds 5] [--repeat 3]

Run it by the interpreter of build/serve-venv, with the build tree's python folder on PYTHONPATH
and, for Triton, tritonserver on PATH. The first model has 21 million weights, which a run for one
row reads from memory, so rows that run together cost little more. Requests go over gRPC. The second
is small: its time over HTTP, by a client that does nothing but send and receive, less its time
without a server is the overhead. Prints a table in Markdown.
"""

import argparse
import asyncio
import os
import statistics
import tempfile
import time
from pathlib import Path

import numpy as np
from servers import SMALL, WIDE, bare_client, dump, serving
from tritonclient.grpc import InferInput, aio

from megengine.serving import ServedModel


def rows_of(width: int) -> list[InferInput]:
    one = InferInput("x", [1, width], "FP32")
    one.set_data_from_numpy(np.random.rand(1, width).astype("float32"))
    return [one]


def requests_per_second(address: str, clients: int, seconds: float) -> float:
    async def measure() -> float:
        async with aio.InferenceServerClient(address) as client:
            inputs, done, end = rows_of(WIDE[0]), 0, 0.0

            async def loop() -> None:
                nonlocal done
                while time.perf_counter() < end:
                    await client.infer("model", inputs)
                    done += 1

            end = time.perf_counter() + 0.5
            await asyncio.gather(*(loop() for _ in range(clients)))
            done, start = 0, time.perf_counter()
            end = start + seconds
            await asyncio.gather(*(loop() for _ in range(clients)))
            return done / (time.perf_counter() - start)

    return asyncio.run(measure())


def microseconds(call, count: int = 500) -> float:
    """The median time of a call."""
    times = []
    for _ in range(count):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return 1e6 * statistics.median(times[count // 10 :])


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", default="mlserver", choices=["mlserver", "triton"])
    parser.add_argument("--clients", type=int, default=32)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    engine = ("--engine", arguments.engine)
    with tempfile.TemporaryDirectory() as folder:
        wide, small = Path(folder, "wide.mge"), Path(folder, "small.mge")
        dump(wide, WIDE)
        dump(small, SMALL)
        rates: dict[int, list[float]] = {1: [], 32: []}
        for _ in range(arguments.repeat):
            for batch, found in rates.items():
                with serving(wide, *engine, "--max-batch", batch) as server:
                    clients, seconds = arguments.clients, arguments.seconds
                    found.append(requests_per_second(server.grpc, clients, seconds))
        model = ServedModel(small, max_batch=1)
        row = {"x": np.random.rand(1, SMALL[0]).astype("float32")}
        direct = microseconds(lambda: model.run(row))
        with serving(small, *engine) as server, bare_client(server.http_port) as request_row:
            served = microseconds(request_row)
    off, on = (statistics.median(found) for found in rates.values())
    print(f"| {arguments.engine}, {len(os.sched_getaffinity(0))} CPUs | |")
    print("|---|---|")
    print(f"| {arguments.clients} clients, batches off | {off:.0f} requests/s |")
    print(f"| {arguments.clients} clients, batches of up to 32 rows | {on:.0f} requests/s |")
    print(f"| ratio | {on / off:.2f} |")
    print(f"| one client over HTTP, small model, p50 | {served:.0f} µs |")
    print(f"| the same without a server, p50 | {direct:.0f} µs |")


if __name__ == "__main__":
    main()
