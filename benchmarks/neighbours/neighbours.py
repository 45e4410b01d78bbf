# SPDX-License-Identifier: Apache-2.0
"""Times MGE and other engines on the example models while busy processes share their processors.

Rounds as in ../inference/run.py: each engine is a process that is stopped while it is not its turn.
A round gives every engine one turn for each number of neighbours, in turns, so that what else the
machine does hits all alike. A neighbour is a loop without pause on the same processors; it ends by
itself. Prints a Markdown table of the mean and the 99th percentile over all runs of all rounds.

    neighbours.py --models DIR --names resnet50,lenet --threads 2 --neighbours 0,1,2
    neighbours.py --models DIR --streams 2             two threads that infer at once
    neighbours.py --models DIR --cpus 0.5              in a container of half a processor (as root)
    neighbours.py --table FILE
"""

import atexit
import json
import os
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "inference"))

import run as inference  # noqa: E402
from machine import describe_machine  # noqa: E402

# MGE with OpenMP's threads instead of its own, and with one thread only.
ON_OPENMP, ONE_THREAD = "mge-openmp", "mge-1-thread"
OURS = (inference.OURS, ON_OPENMP, ONE_THREAD)
inference.CONTESTANTS[ON_OPENMP] = inference.CONTESTANTS[inference.OURS]
inference.CONTESTANTS[ONE_THREAD] = inference.CONTESTANTS[inference.OURS]
LONGEST_NEIGHBOUR = 60  # seconds
QUOTA_PERIOD = 100_000  # microseconds

BUSY_LOOP = (
    f"import time\nend = time.monotonic() + {LONGEST_NEIGHBOUR}\n"
    "while time.monotonic() < end: sum(range(10000))"
)


class Neighbours:
    """So many busy loops on the processors of this process, while the block lasts."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        command = [sys.executable, "-c", BUSY_LOOP]
        self.processes = [subprocess.Popen(command) for _ in range(self.count)]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def make_container(cpus):
    """Make a control group of so many processors; return its folder. It goes with this process."""
    version_1 = Path("/sys/fs/cgroup/cpu")
    root = version_1 if version_1.is_dir() else Path("/sys/fs/cgroup")
    group = root / f"mge-neighbours-{os.getpid()}"
    group.mkdir()
    atexit.register(group.rmdir)
    quota = int(cpus * QUOTA_PERIOD)
    if root is version_1:
        (group / "cpu.cfs_quota_us").write_text(str(quota))
    else:
        (group / "cpu.max").write_text(f"{quota} {QUOTA_PERIOD}")
    return group


@contextmanager
def inside(container):
    """Processes started in the block are in the container, if there is one."""
    if not container:
        yield
        return
    before = own_group(container.parent)
    (container / "cgroup.procs").write_text(str(os.getpid()))
    try:
        yield
    finally:
        (before / "cgroup.procs").write_text(str(os.getpid()))


def own_group(root):
    """The folder of the control group that this process is in."""
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        if not controllers or "cpu" in controllers.split(","):
            found = root / path.lstrip("/")
            if found.is_dir():
                return found
    return root


def start(label, options, model, threads):
    """Start a contestant as ../inference does; ours differ in their threads."""
    os.environ["MGE_THREAD_TEAM"] = "openmp" if label == ON_OPENMP else "own"
    contestant = inference.Contestant(label, options, model, 1 if label == ONE_THREAD else threads)
    # Pinned to as many processors as it has threads; here all have the same ones.
    for task in Path(f"/proc/{contestant.process.pid}/task").iterdir():
        os.sched_setaffinity(int(task.name), options.cores)
    return contestant


def measure(options, model, threads, out):
    contestants = []
    try:
        for label in options.contestants:
            if threads == 1 and label == ONE_THREAD:
                continue
            with inside(options.container):
                contestants.append(start(label, options, model, threads))
        for contestant in contestants:
            contestant.turn(f"hot 0.2 {options.streams}")
        times = {}
        for index in range(options.rounds):
            for count in options.neighbours:
                order = contestants if index % 2 == 0 else contestants[::-1]
                for contestant in order:
                    with Neighbours(count):
                        turn = contestant.turn(f"hot {options.seconds} {options.streams}")
                    times.setdefault((count, contestant.label), []).extend(turn)
    finally:
        for contestant in contestants:
            contestant.leave()
    for (count, label), values in times.items():
        low, median, high = np.quantile(values, (0, 0.5, 0.99))
        line = dict(model=model, threads=threads, neighbours=count, label=label, runs=len(values))
        line.update(min_ms=low, median_ms=median, mean_ms=np.mean(values), p99_ms=high)
        out.write(json.dumps({**line, **options.machine}) + "\n")
        out.flush()


def cell(line):
    if line is None:
        return "–"
    return " / ".join(f"{line[key]:.3g}" for key in ("median_ms", "mean_ms", "p99_ms"))


def ratio(ours, other, key):
    return ours[key] / other[key] if ours and other else float("nan")


def print_tables(lines):
    """One row for each model, number of threads and of neighbours."""
    labels = list(dict.fromkeys(line["label"] for line in lines))
    first = lines[0]
    print(f"{first['cpu']}, {first['isa']}, kernel {first['kernel']}.")
    print("Median / mean / 99th percentile in ms.\n")
    peers = [label for label in labels if label not in OURS]
    head = [
        "model",
        "threads",
        "neighbours",
        *labels,
        "mean, p99 over best peer",
        "mean over 1 thread",
    ]
    print("|", " | ".join(head), "|")
    print("|" + "---|" * len(head))
    groups = {}
    for line in lines:
        key = (line["model"], line["threads"], line["neighbours"])
        groups.setdefault(key, {})[line["label"]] = line
    for (model, threads, count), row in groups.items():
        ours = row.get(inference.OURS)
        present = [row[label] for label in peers if label in row]
        best = [
            min((peer[key] for peer in present), default=float("nan"))
            for key in ("mean_ms", "p99_ms")
        ]
        versus = f"{ours['mean_ms'] / best[0]:.2f}, {ours['p99_ms'] / best[1]:.2f}"
        single = ratio(ours, row.get(ONE_THREAD), "mean_ms")
        cells = [model, threads, count, *(cell(row.get(label)) for label in labels), versus]
        print("|", " | ".join(map(str, cells)), f"| {single:.2f} |")


def parse_arguments():
    contestants = (*OURS, "onnxruntime", "openvino")
    parser = inference.make_parser(
        __doc__, "shufflenet_v2_x1_0", contestants, 5, 0.5, "neighbours.jsonl"
    )
    parser.add_argument("--neighbours", default="0,1,2", help="how many busy loops")
    parser.add_argument("--streams", type=int, default=1, help="threads that infer at once")
    parser.add_argument("--cpus", type=float, help="quota of a container for every engine")
    options = inference.parse(parser)
    options.neighbours = [int(count) for count in options.neighbours.split(",")]
    options.cores = sorted(os.sched_getaffinity(0))[: max(*options.threads, 2)]
    os.sched_setaffinity(0, options.cores)
    options.machine = describe_machine()
    options.container = make_container(options.cpus) if options.cpus else None
    return options


def main():
    options = parse_arguments()
    if not options.table:
        options.out.unlink(missing_ok=True)
        with options.out.open("w") as out:
            for model, threads in inference.combinations(options):
                measure(options, model, threads, out)
    print_tables(
        [json.loads(line) for line in (options.table or options.out).read_text().splitlines()]
    )


if __name__ == "__main__":
    main()
