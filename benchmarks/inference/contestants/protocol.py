# SPDX-License-Identifier: Apache-2.0
"""The protocol between a contestant and the driver: a line of JSON in answer to each line.

(start)       {"engine", "version", "load_ms", "first_ms", "start_ms", "error"}
hot SECONDS   {"ms": [...]}   single runs back to back
hot SECONDS STREAMS           the same by so many threads at once, each with a load of its own
cold COUNT    {"ms": [...]}   before each run every core's caches are filled with other data
memory        {"peak_mb"}
(end of input) leaves
"""

import argparse
import json
import os
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np

# Twice the last-level cache of the machines this was made for.
EVICT_BYTES = 64 << 20
LONGEST_SERIES = 2000


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--model", required=True)
    parser.add_argument("--threads", type=int, required=True)
    parser.add_argument("--variant", default="")
    return parser.parse_args()


def load_case(options):
    """Return the model's input and its f64 reference output."""
    with np.load(options.models / f"{options.model}.case.npz") as case:
        return case["x"], case["y"]


def _evict_on(core, block):
    os.sched_setaffinity(0, {core})
    block += 1


def evict_caches(blocks):
    """Walk through a large block on each core, so that nothing of the model stays in a cache."""
    walkers = [
        threading.Thread(target=_evict_on, args=(core, block)) for core, block in blocks.items()
    ]
    for walker in walkers:
        walker.start()
    for walker in walkers:
        walker.join()


def _timed(run):
    begin = time.perf_counter_ns()
    run()
    return (time.perf_counter_ns() - begin) / 1e6


def hot_series(run, seconds):
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < end and len(times) < LONGEST_SERIES):
        times.append(_timed(run))
    return times


def parallel_series(runs, seconds):
    """Each of the runs in a thread of its own."""
    if len(runs) == 1:
        return hot_series(runs[0], seconds)
    with ThreadPoolExecutor(len(runs)) as pool:
        return sum(pool.map(lambda run: hot_series(run, seconds), runs), [])


def cold_series(run, count, blocks):
    times = []
    for _ in range(count):
        evict_caches(blocks)
        times.append(_timed(run))
    return times


def _peak_mb():
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM"):
            return int(line.split()[1]) / 1024
    return None


def _error(output, reference):
    output = np.asarray(output, np.float64).reshape(reference.shape)
    return float(np.abs(output - reference).max() / np.abs(reference).max())


def serve(engine, version, load, options):
    """Answer the driver until it closes the pipe.

    load: returns (run, read): one inference without arguments, and its output as array.
    """
    reference = load_case(options)[1]
    begin = time.perf_counter()
    run, read = load()
    load_ms = (time.perf_counter() - begin) * 1e3
    first_ms = _timed(run)
    spawned = int(os.environ.get("SPAWNED_AT_NS", time.monotonic_ns()))
    start_ms = (time.monotonic_ns() - spawned) / 1e6
    peak_mb = _peak_mb()
    _respond(
        engine=engine,
        version=version,
        load_ms=load_ms,
        first_ms=first_ms,
        start_ms=start_ms,
        error=_error(read(), reference),
    )
    blocks, runs = {}, [run]
    for line in sys.stdin:
        command, *values = line.split()
        if command == "hot":
            streams = int(values[1]) if len(values) > 1 else 1
            while len(runs) < streams:
                runs.append(load()[0])
            _respond(ms=parallel_series(runs[:streams], float(values[0])))
        elif command == "cold":
            if not blocks:
                cores = sorted(os.sched_getaffinity(0))
                blocks = {core: np.zeros(EVICT_BYTES, np.uint8) for core in cores}
            _respond(ms=cold_series(run, int(values[0]), blocks))
        elif command == "memory":
            _respond(peak_mb=peak_mb)


def _respond(**values):
    print(json.dumps(values), flush=True)
