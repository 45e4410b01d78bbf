# SPDX-License-Identifier: Apache-2.0
"""Requests that are wrong are refused: no crash, no growing memory."""

import os
import subprocess
from pathlib import Path

from server_processes import direct

CLIENTS = Path(__file__).with_name("hostile_clients.py")
COUNT = 10_000 if os.environ.get("MGE_NIGHTLY") else 200


def resident_bytes(process):
    pages = Path(f"/proc/{process.pid}/statm").read_text().split()[1]
    return int(pages) * os.sysconf("SC_PAGE_SIZE")


def test_wrong_requests_are_refused(models, serve, serve_python):
    server = serve(models["classifier"])

    def attack(count):
        done = subprocess.run(
            [serve_python, CLIENTS, server.http, server.grpc, "classifier", str(count)],
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        return int(done.stdout.split()[0])

    attack(1)
    before = resident_bytes(server.process)
    assert attack(COUNT) >= COUNT
    assert resident_bytes(server.process) < before + (32 << 20)
    arrays, outputs = direct(models["classifier"])
    status, answer = server.infer("classifier", arrays)
    assert status == 200
    assert answer["outputs"][0]["data"] == outputs["score"].ravel().tolist()
