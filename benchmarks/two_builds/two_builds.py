# SPDX-License-Identifier: Apache-2.0
"""Compares two builds of MGE, for instance of two commits: prints the ratios of the new one's times
to the old one's.

Both do the same in turns, the order alternating, until the seconds of each group are over; the
ratio is that of the medians. Needs in both the targets load_and_run, mge_python, benchmark_eager
and benchmark_compile (-DMGE_BENCHMARKS=ON). Everything runs on one thread.

    two_builds.py OLD/build/release NEW/build/release --models DIR [--groups eager,nets,…]
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import DEFAULT_MODELS, run_report  # noqa: E402

EAGER_SCRIPT = Path(__file__).resolve().parents[1] / "eager/eager.py"
MOST_NODES = 10_000
# The nets that examples/models/dump.py writes.
RUNS = {"lenet": 2000, "mlp": 2000, "lstm": 100} | dict.fromkeys(
    (
        "shufflenet_v2_x1_0",
        "mobilenet_v2",
        "mobilenet_v3_large",
        "efficientnet_b0",
        "unet_small",
        "resnet18",
        "resnet50",
        "bert_base",
        "vit_b_16",
        "vgg16",
    ),
    5,
)


def output_of(*command, **environment):
    done = subprocess.run(
        list(map(str, command)),
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def python_of(build, bytecode, *arguments):
    # As for an installed package, Python's bytecode is kept.
    package = {"PYTHONPATH": str(build / "python"), "MGE_BUILD_DIR": str(build)}
    return output_of(
        sys.executable,
        *arguments,
        **package,
        PYTHONPYCACHEPREFIX=str(bytecode),
        PYTHONDONTWRITEBYTECODE="",
    )


def milliseconds(action):
    begin = time.perf_counter()
    action()
    return (time.perf_counter() - begin) * 1e3


def eager(build, options):
    report = json.loads(
        output_of(
            build / "bin/benchmark_eager",
            "--benchmark_format=json",
            "--benchmark_min_time=0.15",
        )
    )
    times = {f"C++ {row['name']}, ns": row["cpu_time"] for row in report["benchmarks"]}
    table = python_of(build, options.bytecode, EAGER_SCRIPT, "mge")
    for name, ns in re.findall(r"\| mge \| ([^|]*) \| (\d+) ns", table):
        times[f"Python {name}, ns"] = float(ns)
    return times


def of_model(name, runs):
    def run(build, options):
        model = options.models / f"{name}.mge"
        flags = ("--cpu-default", "--iter", runs, "--warmup-iter", 3)
        report = run_report(build / "bin/load_and_run", model, *flags)
        return {
            f"{name} latency, ms": report["latency_ms"]["p50"],
            f"{name} compiling, ms": report["compile_ms"],
        }

    return run


def start(build, options):
    """Processes of the tool from start to end, and the import of the package."""
    tool = build / "bin/load_and_run"
    flags = ("--cpu-default", "--iter", 1, "--warmup-iter", 0)
    times = {
        f"process of {name}, ms": milliseconds(
            lambda name=name: output_of(tool, options.models / f"{name}.mge", *flags)
        )
        for name in ("lenet", "mobilenet_v2")
    }
    times["import megengine, ms"] = milliseconds(
        lambda: python_of(build, options.bytecode, "-c", "import megengine")
    )
    return times


def compiling(build, _):
    table = output_of(build / "bin/benchmark_compile", MOST_NODES)
    rows = re.findall(r"\| (\w+) \| (\d+) \| \d+ \| [\d.]+ \| ([\d.]+)", table)
    return {f"compiling {net} of {nodes} nodes, us/node": float(us) for net, nodes, us in rows}


GROUPS = {
    "eager": (eager,),
    "nets": tuple(of_model(net, runs) for net, runs in RUNS.items()),
    "start": (start,),
    "compile": (compiling,),
}


def compare(options, measures):
    """Return the pairs of times, old and new, by what was measured."""
    pairs = {}
    end = time.monotonic() + options.seconds
    turn = 0
    while time.monotonic() < end or turn < 2:
        for measure in measures:
            found = {}
            for build in options.builds if turn % 2 == 0 else reversed(options.builds):
                found[build] = measure(build, options)
            old, new = (found[build] for build in options.builds)
            for name in old.keys() & new.keys():
                pairs.setdefault(name, []).append((old[name], new[name]))
        turn += 1
    return pairs


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("builds", nargs=2, type=lambda path: Path(path).resolve())
    parser.add_argument("--models", type=Path, default=DEFAULT_MODELS)
    parser.add_argument("--groups", default=",".join(GROUPS))
    parser.add_argument("--seconds", type=float, default=40, help="of a group")
    return parser.parse_args()


def main():
    options = parse_arguments()
    print("| | old | new | ratio | pairs |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as options.bytecode:
        for group in options.groups.split(","):
            for name, pairs in sorted(compare(options, GROUPS[group]).items()):
                old, new = (statistics.median(times) for times in zip(*pairs, strict=True))
                print(f"| {name} | {old:.4g} | {new:.4g} | {new / old:.3f} | {len(pairs)} |")


if __name__ == "__main__":
    main()
