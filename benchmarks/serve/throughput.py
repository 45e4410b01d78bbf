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
import contextlib
import json
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from tritonclient.grpc import InferenceServerClient, InferInput, aio

import megengine as mge
import megengine.functional as F
from megengine.jit import trace
from megengine.serving import ServedModel

WIDE, SMALL = (1024, 4096, 4096), (64, 64, 16)


def dump(path: Path, widths: tuple[int, ...]) -> None:
    random = np.random.RandomState(0)
    weights = [
        mge.Tensor((random.randn(k, n) / k**0.5).astype("float32"))
        for k, n in zip(widths, widths[1:], strict=False)
    ]

    @trace(symbolic=True, capture_as_const=True)
    def forward(x):
        for weight in weights:
            x = F.relu(F.matmul(x, weight))
        return x

    forward(mge.Tensor(np.zeros((1, widths[0]), np.float32)))
    forward.dump(str(path), arg_names=["x"], output_names=["y"])


@contextlib.contextmanager
def server(model: Path, *flags: object):
    """A server's address for gRPC, and its port for HTTP."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(3)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        ports = [one.getsockname()[1] for one in sockets]
    names = ("--http-port", "--grpc-port", "--metrics-port")
    command = [sys.executable, "-m", "megengine.serve", model, "--name", "model", *flags]
    command += [word for pair in zip(names, ports, strict=True) for word in pair]
    process = subprocess.Popen(
        list(map(str, command)), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"127.0.0.1:{ports[1]}"
    try:
        client = InferenceServerClient(address)
        end = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < end:
            with contextlib.suppress(Exception):
                if client.is_model_ready("model"):
                    break
            time.sleep(0.1)
        yield address, ports[0]
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


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


@contextlib.contextmanager
def bare_client(port: int):
    """A function that sends one row to the small model."""
    row = {"name": "x", "datatype": "FP32", "shape": [1, SMALL[0]], "data": [0.5] * SMALL[0]}
    body = json.dumps({"inputs": [row]}).encode()
    head = f"POST /v2/models/model/infer HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n"
    request = f"{head}Content-Type: application/json\r\n\r\n".encode() + body
    with socket.create_connection(("127.0.0.1", port)) as connection:

        def request_row() -> None:
            connection.sendall(request)
            answer = connection.recv(1 << 20)
            while b"\r\n\r\n" not in answer or not answer.rstrip().endswith(b"}"):
                answer += connection.recv(1 << 20)
            assert b" 200 " in answer[:20], answer

        request_row()
        yield request_row


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
                with server(wide, *engine, "--max-batch", batch) as (address, _):
                    found.append(requests_per_second(address, arguments.clients, arguments.seconds))
        model = ServedModel(small, max_batch=1)
        row = {"x": np.random.rand(1, SMALL[0]).astype("float32")}
        direct = microseconds(lambda: model.run(row))
        with server(small, *engine) as (_, port), bare_client(port) as request_row:
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
