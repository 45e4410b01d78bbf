# SPDX-License-Identifier: Apache-2.0
"""Times training steps (forward, backward, update) beside PyTorch.

The contestants of a task are processes that stay and take turns in rounds, so that whatever else
the machine does meets all of them. Prints a Markdown table: the median step of each, the median of
its ratios to the best of PyTorch in the same round, its memory, and its deviation: how far its
losses of the first steps are from those that PyTorch finds in float64, at most and relatively. A
PyTorch in float32 deviates by rounding alone; who deviates much more has a defect.

    training.py [--tasks lenet,mlp,resnet18,transformer] [--rounds 7] [--seconds 0.5] [--half]
                [--steps 100] [--contestants mge:eager,mge:trace,...] [--peers build/peers]
                [--device gpu]
"""

import argparse
import datetime
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "benchmarks/inference")]
from engines import ENGINES  # noqa: E402 - a script of this folder
from machine import describe_machine  # noqa: E402
from nets import TASKS  # noqa: E402

REFERENCE = "torch:float64"
WARM_UP = 10


def contest(options):
    """The work of a contestant: warm up, report its losses, then time steps on request."""
    engine_name, variant = options.contestant.split(":")
    engine = ENGINES[engine_name](options.device)
    step = engine.trainer(options.tasks, variant, options.half)
    losses = [step() for _ in range(max(options.steps, WARM_UP))]
    print(json.dumps({"losses": losses, "version": engine.version}), flush=True)
    for line in sys.stdin:
        times, end = [], time.perf_counter() + float(line)
        while len(times) < 3 or time.perf_counter() < end:
            begin = time.perf_counter()
            step()
            times.append((time.perf_counter() - begin) * 1e3)
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({"ms": float(np.median(times)), "peak_mib": peak}), flush=True)


class Contestant:
    def __init__(self, name, task, options):
        is_torch = name.startswith("torch")
        python = options.peers / "bin/python" if is_torch else Path(sys.executable)
        command = [python, __file__, "--as", name, "--tasks", task]
        command += ["--steps", steps_of(task, options)]
        command += ["--half"] if options.half else []
        command += ["--device", options.device]
        self.process = subprocess.Popen(
            list(map(str, command)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.name, self.peak, self.ms = name, 0.0, []
        self.start = self._answer()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"{self.name} ended with status {self.process.wait()}")
        return json.loads(line)

    def turn(self, seconds):
        print(seconds, file=self.process.stdin, flush=True)
        answer = self._answer()
        self.ms.append(answer["ms"])
        self.peak = answer["peak_mib"]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


def steps_of(task, options):
    return TASKS[task].comparable_steps if options.steps is None else options.steps


def reference_losses(task, options):
    """The losses in float64, where PyTorch is at hand to find them."""
    if not (options.peers / "bin/python").exists():
        return None
    reference = Contestant(REFERENCE, task, options)
    reference.end()
    return np.array(reference.start["losses"])


def contestants_of(task, options):
    wanted = [f"{engine}:{variant}" for engine in ENGINES for variant in ENGINES[engine].variants]
    wanted.remove(REFERENCE)
    if options.contestants:
        wanted = options.contestants.split(",")
    return [w for w in wanted if TASKS[task].image or not w.endswith("channels_last")]


def print_row(task, contestant, best, reference):
    ms, losses = np.array(contestant.ms), np.array(contestant.start["losses"])
    ratio = f"{np.median(ms / best):.2f}" if best is not None else "-"
    deviation = "-"
    if reference is not None:
        deviation = f"{np.abs(losses / reference - 1).max():.1e}"
    print(
        f"| {task} | {contestant.name} | {np.median(ms):.2f} | {ratio} | {contestant.peak:.0f} "
        f"| {losses[-1]:.5f} | {deviation} |",
        flush=True,
    )


def compare(task, options):
    reference = reference_losses(task, options)
    contestants = [Contestant(name, task, options) for name in contestants_of(task, options)]
    for index in range(options.rounds):
        for contestant in contestants if index % 2 == 0 else contestants[::-1]:
            contestant.turn(options.seconds)
    peers = [c.ms for c in contestants if c.name.startswith("torch")]
    best = np.min(peers, axis=0) if peers else None
    for contestant in contestants:
        contestant.end()
        print_row(task, contestant, best, reference)
    return {c.name.split(":")[0]: c.start["version"] for c in contestants}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", default=",".join(TASKS))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each contestant in a round")
    parser.add_argument("--half", action="store_true", help="bf16 by automatic mixed precision")
    parser.add_argument("--steps", type=int, help="whose losses are compared (by default a task's)")
    parser.add_argument("--contestants", help="by default all, as engine:variant")
    parser.add_argument("--peers", type=Path, default=ROOT / "build/peers")
    parser.add_argument(
        "--device", choices=("cpu", "gpu"), default="cpu", help="where the steps run"
    )
    parser.add_argument("--as", dest="contestant", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        contest(options)
        return
    print(f"{datetime.date.today()}, {describe_machine()}, load {os.getloadavg()[0]:.1f}\n")
    print("| task | contestant | step, ms | over PyTorch's best | peak, MiB | loss | deviation |")
    print("|---|---|---|---|---|---|---|")
    versions = {}
    for task in options.tasks.split(","):
        versions.update(compare(task, options))
    print("\n" + ", ".join(f"{name} {version}" for name, version in versions.items()))


if __name__ == "__main__":
    main()
