# SPDX-License-Identifier: Apache-2.0
"""Compares MGE with other engines on the example models, in interleaved rounds on one machine.

Every contestant is a process that loads one model and waits on a pipe, stopped (SIGSTOP) while it
is not its turn, so that idle workers that spin do not affect the others. A round gives each a hot
and a cold turn; the order is reversed from round to round. Short calibration loops run around each
round. A round is discarded and repeated if the speed of the machine changed or other processes used
it.

    run.py --models DIR --names resnet50,lenet --threads 1,2 --out results.jsonl
    run.py --table results.jsonl
"""

import argparse
import datetime
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

# The calibration has a thread per core already; read when NumPy is imported.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
import numpy as np  # noqa: E402

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE))

import ratios  # noqa: E402
from calibrate import Calibration, CpuTicks, process_ticks, shares  # noqa: E402
from machine import describe_machine  # noqa: E402
from table import print_tables, threads_text  # noqa: E402

OURS = "mge"
OURS_IN_BF16 = "mge-fast"  # compared with the others if it takes part
ROUNDS_PER_VALID = 3  # how many rounds may be tried for each that is wanted

# label: (interpreter, script, arguments); {peers} and {build} are folders
CONTESTANTS = {
    OURS: ("{build}/bin/benchmark_inference_child", []),
    "onnxruntime": ("{peers}/bin/python", [HERE / "contestants/onnxruntime_child.py"]),
    "openvino": ("{peers}/bin/python", [HERE / "contestants/openvino_child.py"]),
    "ncnn": ("{peers}/bin/python", [HERE / "contestants/ncnn_child.py"]),
    "torch": ("{peers}/bin/python", [HERE / "contestants/torch_child.py"]),
    "torch-compile": (
        "{peers}/bin/python",
        [HERE / "contestants/torch_child.py", "--variant", "compile"],
    ),
}
# Only by name.
IN_BF16 = {
    OURS_IN_BF16: ("{build}/bin/benchmark_inference_child", ["--variant", "fast"]),
    "openvino-bf16": (
        "{peers}/bin/python",
        [HERE / "contestants/openvino_child.py", "--variant", "bf16"],
    ),
}


class Contestant:
    """One engine in a process of its own, stopped except during its turns."""

    def __init__(self, label, options, model, threads):
        self.label = label
        program, arguments = {**CONTESTANTS, **IN_BF16}[label]
        program = program.format(peers=options.peers, build=options.build)
        command = [program, *arguments, "--models", options.models, "--model", model]
        command += ["--threads", str(threads)]
        environment = dict(
            os.environ,
            OMP_NUM_THREADS=str(threads),
            SPAWNED_AT_NS=str(time.monotonic_ns()),
        )
        environment.pop("OPENBLAS_NUM_THREADS", None)
        cores = sorted(os.sched_getaffinity(0))[:threads]
        self.process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL if not options.verbose else None,
            text=True,
            bufsize=1,
            env=environment,
            preexec_fn=lambda: os.sched_setaffinity(0, cores),
        )
        self.facts = self._answer()
        self.facts.update(self._request("memory"))
        self.stop()

    def _answer(self):
        line = self.process.stdout.readline()
        while line and not line.startswith("{"):  # libraries that print on their own
            line = self.process.stdout.readline()
        if not line:
            raise RuntimeError(f"{self.label} ended with status {self.process.wait()}")
        return json.loads(line)

    def _request(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self._answer()

    def stop(self):
        os.kill(self.process.pid, signal.SIGSTOP)

    def turn(self, command):
        """Let it run one command alone; return the times of the single runs in ms."""
        os.kill(self.process.pid, signal.SIGCONT)
        times = self._request(command)["ms"]
        self.stop()
        return times

    def leave(self):
        if self.process.poll() is None:
            os.kill(self.process.pid, signal.SIGCONT)
            self.process.kill()
        self.process.wait()


def start_contestants(options, model, threads):
    started = []
    for label in options.contestants:
        try:
            started.append(Contestant(label, options, model, threads))
        except (OSError, RuntimeError) as error:
            print(f"# {model}: {label} does not take part: {error}", file=sys.stderr, flush=True)
    return started


class Series:
    """The rounds of one model at one number of threads."""

    def __init__(self, contestants, calibration, options):
        self.contestants = contestants
        self.calibration = calibration
        self.options = options
        self.speeds = []
        self.rounds = []  # one dictionary each: {(label, mode): times}, and "discarded"

    def _measure_speed(self):
        speed = self.calibration.measure()
        self.speeds.append((speed.gflops, speed.gigabytes))
        return self.speeds[-1]

    def run_round(self):
        order = self.contestants if len(self.rounds) % 2 == 0 else self.contestants[::-1]
        pids = [os.getpid(), *(c.process.pid for c in order)]
        before = self._measure_speed()
        begin, own = CpuTicks.now(), process_ticks(pids)
        times = {}
        for contestant in order:
            for mode, command in (
                ("hot", f"hot {self.options.seconds}"),
                ("cold", f"cold {self.options.cold_runs}"),
            ):
                times[contestant.label, mode] = contestant.turn(command)
        end, own = CpuTicks.now(), process_ticks(pids) - own
        foreign, stolen = shares(begin, end, own)
        after = self._measure_speed()
        self.rounds.append(
            dict(times=times, before=before, after=after, foreign=foreign, stolen=stolen)
        )

    def _judge(self):
        if not self.rounds:
            return
        typical = np.median(self.speeds, axis=0)
        for entry in self.rounds:
            entry["discarded"] = ratios.reason_to_discard(
                entry["before"],
                entry["after"],
                typical,
                entry["foreign"],
                entry["stolen"],
                self.options.foreign_limit,
            )

    def valid(self):
        self._judge()
        return [entry for entry in self.rounds if not entry["discarded"]]

    def run(self):
        for contestant in self.contestants:  # warm-up, not counted
            contestant.turn(f"hot {self.options.seconds}")
        wanted = self.options.rounds
        while len(self.valid()) < wanted and len(self.rounds) < wanted * ROUNDS_PER_VALID:
            self.run_round()

    def results(self, model, threads):
        """Return a dictionary per contestant and mode; too few quiet rounds: all count, marked."""
        valid = self.valid()
        quiet = len(valid) >= min(self.options.rounds, 3)
        counted = valid if quiet else self.rounds
        reasons = sorted({entry["discarded"] for entry in self.rounds if entry["discarded"]})
        labels = [contestant.label for contestant in self.contestants]
        ours = next((label for label in (OURS_IN_BF16, OURS) if label in labels), None)
        lines = []
        for mode in ("hot", "cold"):
            medians = {
                c.label: [float(np.median(r["times"][c.label, mode])) for r in counted]
                for c in self.contestants
            }
            peers = {k: float(np.median(v)) for k, v in medians.items() if k != ours}
            best = min(peers, key=peers.get, default=None)
            for contestant in self.contestants:
                label = contestant.label
                every = np.concatenate([r["times"][label, mode] for r in counted])
                line = dict(model=model, threads=threads, mode=mode, label=label)
                line.update(contestant.facts)
                line.update(
                    median_ms=float(np.median(medians[label])),
                    p90_ms=float(np.quantile(every, 0.9)),
                    min_ms=float(every.min()),
                    rounds=len(counted),
                    rounds_tried=len(self.rounds),
                    quiet=quiet,
                    discarded=reasons,
                    is_best_peer=label == best,
                )
                if ours and label != ours:
                    ratio, low, high = ratios.compare(medians[ours], medians[label])
                    line.update(ours_over_this=ratio, ci_low=low, ci_high=high)
                lines.append(line)
        return lines


def benchmark(options, model, threads, calibration, machine):
    contestants = start_contestants(options, model, threads)
    try:
        series = Series(contestants, calibration, options)
        series.run()
        lines = series.results(model, threads)
    finally:
        for contestant in contestants:
            contestant.leave()
    with options.out.open("a") as out:
        for line in lines:
            out.write(json.dumps({**line, **machine}) + "\n")
    return lines


def make_parser(description, names, contestants, rounds, seconds, out):
    """The options of every benchmark of contestants, with its own defaults; read them with
    `parse`."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, help="folder that benchmarks/inference/run fills")
    parser.add_argument("--names", default=names)
    parser.add_argument("--threads", default="2")
    parser.add_argument("--contestants", default=",".join(contestants))
    parser.add_argument("--rounds", type=int, default=rounds, help="rounds wanted")
    parser.add_argument("--seconds", type=float, default=seconds, help="length of a hot turn")
    parser.add_argument("--peers", type=Path, default=ROOT / "build/peers")
    parser.add_argument("--build", type=Path, default=ROOT / "build/release")
    parser.add_argument("--out", type=Path, default=ROOT / "build" / out)
    parser.add_argument("--table", type=Path, help="only print the tables of an earlier run")
    parser.add_argument("--verbose", action="store_true", help="show what contestants print")
    return parser


def parse(parser):
    options = parser.parse_args()
    if not options.table and not options.models:
        parser.error("--models or --table is needed")
    options.names = options.names.split(",")
    options.threads = [int(count) for count in options.threads.split(",")]
    options.contestants = options.contestants.split(",")
    return options


def combinations(options):
    """Each model at each number of threads, said on stderr when it begins."""
    for threads in options.threads:
        for model in options.names:
            print(f"# {model}, {threads_text(threads)}", file=sys.stderr, flush=True)
            yield model, threads


def parse_arguments():
    parser = make_parser(
        __doc__, "resnet50,resnet18,lenet", CONTESTANTS, 9, 0.25, "benchmark_inference.jsonl"
    )
    parser.add_argument("--cold-runs", type=int, default=4, help="in a cold turn, at least 1")
    parser.add_argument("--foreign-limit", type=float, default=0.03)
    options = parse(parser)
    if options.cold_runs < 1:
        parser.error("--cold-runs: a cold turn has at least one run")
    return options


def main():
    options = parse_arguments()
    if options.table:
        print_tables([json.loads(line) for line in options.table.read_text().splitlines()])
        return
    machine = describe_machine()
    machine["date"] = datetime.date.today().isoformat()
    calibration = Calibration(sorted(os.sched_getaffinity(0)))
    calibration.measure()
    results = []
    for model, threads in combinations(options):
        results += benchmark(options, model, threads, calibration, machine)
    print_tables([{**line, **machine} for line in results])


if __name__ == "__main__":
    main()
