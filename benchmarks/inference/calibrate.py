# SPDX-License-Identifier: Apache-2.0
"""How fast the machine is right now, and who else is using it: decides which rounds count."""

import os
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

CALIBRATION_SECONDS = 0.025  # for each of the two measures
READ_BYTES = 64 << 20
GEMM_SIZE = 320  # fits the second-level cache
TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


@dataclass
class Speed:
    """Median rates over all cores while nothing of ours runs: FMA in GFLOP/s, reads in GB/s."""

    gflops: float
    gigabytes: float


class Calibration:
    """Two short loops on every core: a matrix product in cache, a sum over a large block."""

    def __init__(self, cores):
        self.cores = cores
        self.matrix = np.random.default_rng(0).standard_normal((GEMM_SIZE, GEMM_SIZE), np.float32)
        self.block = np.ones(READ_BYTES // 8, np.int64)

    def measure(self):
        rates = {}
        threads = [threading.Thread(target=self._on_core, args=(c, rates)) for c in self.cores]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        gflops, gigabytes = zip(*rates.values(), strict=True)
        return Speed(sum(gflops), sum(gigabytes))

    def _on_core(self, core, rates):
        os.sched_setaffinity(0, {core})
        flops = 2 * GEMM_SIZE**3
        product = np.empty_like(self.matrix)
        fma = _median_rate(lambda: np.matmul(self.matrix, self.matrix, out=product), flops)
        read = _median_rate(self.block.sum, READ_BYTES)
        rates[core] = (fma, read)


def _median_rate(work, amount):
    times, end = [], time.perf_counter() + CALIBRATION_SECONDS
    while len(times) < 3 or time.perf_counter() < end:
        begin = time.perf_counter()
        work()
        times.append(time.perf_counter() - begin)
    return amount / np.median(times) / 1e9


@dataclass
class CpuTicks:
    """Processor time since boot, in clock ticks, over the whole machine."""

    busy: int
    stolen: int
    at: float

    @staticmethod
    def now():
        first = Path("/proc/stat").read_text().splitlines()[0].split()[1:9]
        user, nice, system, _, _, irq, soft_irq, steal = map(int, first)
        return CpuTicks(user + nice + system + irq + soft_irq, steal, time.monotonic())


def process_ticks(pids):
    """Processor time that these processes have used so far."""
    total = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        total += int(fields[11]) + int(fields[12])
    return total


def shares(before, after, own_ticks):
    """Return (foreign, stolen): parts of the machine's capacity that others had in between."""
    capacity = (after.at - before.at) * TICKS_PER_SECOND * os.cpu_count()
    foreign = (after.busy - before.busy - own_ticks) / capacity
    return max(0.0, foreign), (after.stolen - before.stolen) / capacity
