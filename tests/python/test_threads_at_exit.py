# SPDX-License-Identifier: Apache-2.0
"""Processes that end while daemon threads compute."""

import subprocess
import sys

import pytest

THREADS_AT_EXIT = """
import threading
import time

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.jit import trace

net = M.Sequential(M.Conv2d(3, 8, 3), M.BatchNorm2d(8))
traced = trace(symbolic=True)(lambda x: F.matmul(x, x) * 0)
image = F.ones((2, 3, 16, 16))
square = F.ones((150, 150))


def eager():
    F.matmul(square, square)


def train():
    manager = GradManager().attach(net.parameters(), callbacks=lambda tensor, grad: grad * 1)
    with manager:
        manager.backward(net(image).mean())


def replay():
    traced(square)


def repeat(work):
    while True:
        work()


for _ in range(3):
    threading.Thread(target=repeat, args=({work},), daemon=True).start()
time.sleep(0.3)
print("end")
"""


@pytest.mark.parametrize("work", ["eager", "train", "replay"])
def test_process_ends_while_daemon_threads_compute(work):
    program = THREADS_AT_EXIT.replace("{work}", work)
    for _ in range(3):
        result = subprocess.run(
            [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
        )
        assert (result.returncode, result.stdout) == (0, "end\n"), result.stderr
