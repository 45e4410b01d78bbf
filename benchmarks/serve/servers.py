# SPDX-License-Identifier: Apache-2.0
"""Servers and models of the benchmarks."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tritonclient.grpc import InferenceServerClient

import megengine as mge
import megengine.functional as F
from megengine.jit import trace

# Widths of the layers of a model: one with 21 million weights, and a small one.
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


@dataclass
class Server:
    process: subprocess.Popen
    http_port: int
    grpc: str
    log: Path | None = None


def free_ports(count: int) -> list[int]:
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in sockets]


def wait_until_ready(server: Server, model: str = "model") -> None:
    client = InferenceServerClient(server.grpc)
    end = time.monotonic() + 120
    while server.process.poll() is None and time.monotonic() < end:
        with contextlib.suppress(Exception):
            if client.is_model_ready(model):
                return
        time.sleep(0.05)
    raise SystemExit("the server has not started")


@contextlib.contextmanager
def running(command: list[object], ports: list[int], log: Path | None = None):
    """The server that a command starts."""
    with open(log or os.devnull, "w") as stream:
        process = subprocess.Popen(list(map(str, command)), stdout=stream, stderr=stream)
    server = Server(process, ports[0], f"127.0.0.1:{ports[1]}", log)
    try:
        wait_until_ready(server)
        yield server
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


@contextlib.contextmanager
def serving(model: Path, *flags: object, log: Path | None = None):
    """The server that ``megengine.serve`` starts for a model, which is called "model"."""
    ports = free_ports(3)
    names = ("--http-port", "--grpc-port", "--metrics-port")
    command = [sys.executable, "-m", "megengine.serve", model, "--name", "model", *flags]
    command += [word for pair in zip(names, ports, strict=True) for word in pair]
    with running(command, ports, log) as server:
        yield server


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
