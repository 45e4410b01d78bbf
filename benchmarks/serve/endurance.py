#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measure servers over time: memory under load, reloads and hostile requests; killed workers.

    endurance.py [--engine mlserver] [--minutes 10] [--reloads 100] [--hostile 10000] [--kills 5]

Run it by the interpreter of build/serve-venv, as throughput.py. 0 leaves a part out. Memory is the
resident set of all processes of the server, without a first part of each measurement, in which
memory grows to its working size. Prints a table in Markdown; ends with status 3 if a limit is
missed: 5 % of memory, answers of class 4xx, 5 seconds until a killed worker is back.
"""

import argparse
import asyncio
import contextlib
import http.client
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from servers import SMALL, WIDE, Server, bare_client, dump, free_ports, running, serving
from tritonclient.grpc import InferInput, aio

import megengine as mge
import megengine.functional as F
from megengine.jit import trace
from megengine.serve import find_triton
from megengine.serving.repository import Service, write_triton

HOSTILE = Path(__file__).resolve().parents[2] / "tests/serving/hostile_clients.py"
GRPC_CLIENTS = 8
MOST_GROWTH = 0.05
MOST_SECONDS = 5.0  # until a killed worker is back


@dataclass
class Report:
    """Rows of the table, and whether all limits are met."""

    engine: str
    rows: list[str] = field(default_factory=list)
    is_met: bool = True

    def add(self, what: str, value: str, is_met: bool = True) -> None:
        self.rows.append(f"| {what} | {value}{'' if is_met else ' (missed)'} |")
        self.is_met &= is_met
        print(f"{self.engine}: {self.rows[-1]}", file=sys.stderr)

    def add_growth(self, what: str, before: "Resources", after: "Resources") -> None:
        growth = after.resident / before.resident - 1
        self.add(
            what,
            f"{before.resident / 2**20:.0f} MiB to {after.resident / 2**20:.0f} MiB"
            f" ({100 * growth:+.1f} %), descriptors {before.descriptors} to {after.descriptors},"
            f" threads {before.threads} to {after.threads}",
            growth < MOST_GROWTH,
        )


@dataclass
class Resources:
    """The resources of all processes of a server."""

    resident: int = 0
    descriptors: int = 0
    threads: int = 0


def children_of(parent: int) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if int(entry.joinpath("stat").read_text().rpartition(")")[2].split()[1]) == parent:
                found.append(int(entry.name))
    return found


def resources(process: int) -> Resources:
    """Those of a process and all below it."""
    home, total = Path(f"/proc/{process}"), Resources()
    with contextlib.suppress(OSError):  # it may end meanwhile
        pages = int((home / "statm").read_text().split()[1])
        total = Resources(
            pages * os.sysconf("SC_PAGE_SIZE"),
            len(os.listdir(home / "fd")),
            len(os.listdir(home / "task")),
        )
    for child in children_of(process):
        below = resources(child)
        total.resident += below.resident
        total.descriptors += below.descriptors
        total.threads += below.threads
    return total


def dump_classifier(path: Path) -> None:
    """The model that hostile_clients.py expects."""
    weight = mge.Tensor(np.random.RandomState(0).randn(3, 10).astype("float32"))

    @trace(symbolic=True, capture_as_const=True)
    def forward(data):
        return F.softmax(F.matmul(data.mean(-1).mean(-1), weight), 1)

    forward(mge.Tensor(np.zeros((1, 3, 16, 16), np.float32)))
    forward.dump(str(path), arg_names=["data"], output_names=["score"])


def post(server: Server, path: str, body: object = None) -> int:
    """The status of a request."""
    connection = http.client.HTTPConnection("127.0.0.1", server.http_port, timeout=60)
    with contextlib.closing(connection):
        connection.request(
            "POST", path, json.dumps(body or {}), {"Content-Type": "application/json"}
        )
        answer = connection.getresponse()
        answer.read()
        return answer.status


def row_of(width: int) -> dict:
    return {"name": "x", "datatype": "FP32", "shape": [1, width], "data": [0.5] * width}


def load(server: Server, seconds: float) -> tuple[Resources, Resources, int]:
    """Resources of the server after a tenth of the time and at the end, and the number of answers.

    Clients send batches of one to four rows over gRPC, another one rows over HTTP.
    """
    answers, end, found = 0, time.monotonic() + seconds, []

    def send_over_http() -> None:
        nonlocal answers
        with bare_client(server.http_port) as request_row:
            while time.monotonic() < end:
                request_row()
                answers += 1

    async def send_over_grpc(client: aio.InferenceServerClient, number: int) -> None:
        nonlocal answers
        rows = np.random.RandomState(number).rand(1 + number % 4, SMALL[0]).astype("float32")
        tensor = InferInput("x", rows.shape, "FP32")
        tensor.set_data_from_numpy(rows)
        while time.monotonic() < end:
            await client.infer("model", [tensor])
            answers += 1

    async def watch() -> None:
        await asyncio.sleep(seconds / 10)
        found.append(resources(server.process.pid))
        await asyncio.sleep(end - time.monotonic() - 1)
        found.append(resources(server.process.pid))

    async def send() -> None:
        async with aio.InferenceServerClient(server.grpc) as client:
            senders = (send_over_grpc(client, number) for number in range(GRPC_CLIENTS))
            await asyncio.gather(watch(), *senders)

    thread = threading.Thread(target=send_over_http)
    thread.start()
    asyncio.run(send())
    thread.join()
    return *found, answers


def measure_load(report: Report, folder: Path, minutes: float) -> None:
    small = folder / "small.mge"
    dump(small, SMALL)
    with serving(small, "--engine", report.engine) as server:
        before, after, answers = load(server, 60 * minutes)
    rate = answers / (60 * minutes)
    report.add_growth(f"{minutes:g} minutes of load, {rate:.0f} answers/s", before, after)


@contextlib.contextmanager
def reloadable(engine: str, model: Path, folder: Path):
    """A server whose model clients may unload and load."""
    if engine == "mlserver":
        with serving(model) as server:
            yield server
        return
    triton, backends = find_triton()
    write_triton(Service(model, "model"), folder / "repository", copy_model=True)
    ports = free_ports(3)
    command = [triton, "--model-repository", folder / "repository"]
    command += ["--backend-directory", backends, "--model-control-mode=explicit"]
    command += ["--load-model=model"]
    for kind, port in zip(("http", "grpc", "metrics"), ports, strict=True):
        command += [f"--{kind}-port", port, f"--{kind}-address", "127.0.0.1"]
    with running(command, ports) as server:
        yield server


def measure_reloads(report: Report, folder: Path, count: int) -> None:
    wide = folder / "wide.mge"
    dump(wide, WIDE)
    body = {"inputs": [row_of(WIDE[0])]}
    with reloadable(report.engine, wide, folder) as server:
        for number in range(count):
            for action in ("unload", "load"):
                status = post(server, f"/v2/repository/models/model/{action}")
                assert status == 200, (action, status)
            assert post(server, "/v2/models/model/infer", body) == 200
            if number == count // 10:
                before = resources(server.process.pid)
        after = resources(server.process.pid)
    report.add_growth(f"{count} loads of a model of 84 MB", before, after)


def measure_hostile(report: Report, folder: Path, count: int) -> None:
    model = folder / "model.mge"
    dump_classifier(model)
    flags = ["--triton"] if report.engine == "triton" else []

    def attack(requests: int) -> str:
        url = f"http://127.0.0.1:{server.http_port}"
        command = [sys.executable, HOSTILE, url, server.grpc, "model", requests, *flags]
        return subprocess.run(
            list(map(str, command)), check=True, capture_output=True, text=True
        ).stdout.strip()

    with serving(model, "--engine", report.engine) as server:
        attack(count // 10)
        before = resources(server.process.pid)
        printed = attack(count)
        report.add_growth(f"hostile requests: {printed}", before, resources(server.process.pid))


def measure_kills(report: Report, folder: Path, count: int) -> None:
    small, log = folder / "small.mge", folder / "log"
    dump(small, SMALL)
    body = {"inputs": [row_of(SMALL[0])]}
    statuses: list[int] = []
    seconds = []
    is_over = threading.Event()

    def send() -> None:
        while not is_over.is_set():
            statuses.append(post(server, "/v2/models/model/infer", body))

    def is_worker(process: int) -> bool:
        return b"spawn_main" in Path(f"/proc/{process}/cmdline").read_bytes()

    with serving(small, "--instances", 2, log=log) as server:
        threads = [threading.Thread(target=send) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(count):
            time.sleep(1)
            worker = next(filter(is_worker, children_of(server.process.pid)))
            ready = log.read_text().count("is now ready")
            os.kill(worker, signal.SIGKILL)
            start = time.monotonic()
            while log.read_text().count("is now ready") == ready:
                assert time.monotonic() < start + 60, "the worker does not come back"
                time.sleep(0.02)
            seconds.append(time.monotonic() - start)
        is_over.set()
        for thread in threads:
            thread.join()
    report.add(
        f"{count} workers killed: until one is back, median and most",
        f"{statistics.median(seconds):.1f} s, {max(seconds):.1f} s",
        max(seconds) <= MOST_SECONDS,
    )
    failed = sum(status != 200 for status in statuses)
    most = len(threads) * count
    report.add("failed of all requests meanwhile", f"{failed} of {len(statuses)}", failed <= most)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--engine", default="mlserver", choices=["mlserver", "triton"])
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--reloads", type=int, default=100)
    parser.add_argument("--hostile", type=int, default=10_000)
    parser.add_argument("--kills", type=int, default=5)
    arguments = parser.parse_args()
    report = Report(arguments.engine)
    parts = [(measure_load, arguments.minutes), (measure_reloads, arguments.reloads)]
    parts.append((measure_hostile, arguments.hostile))
    if arguments.engine == "mlserver":  # Triton's instances are threads
        parts.append((measure_kills, arguments.kills))
    for measure, size in parts:
        if size:
            with tempfile.TemporaryDirectory() as folder:
                measure(report, Path(folder), size)
    print(f"| {arguments.engine}, {len(os.sched_getaffinity(0))} CPUs | |\n|---|---|")
    print("\n".join(report.rows))
    return 0 if report.is_met else 3


if __name__ == "__main__":
    sys.exit(main())
