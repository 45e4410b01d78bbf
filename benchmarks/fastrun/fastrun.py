# SPDX-License-Identifier: Apache-2.0
"""The cost of fast-run at the start, and of other load for a search.

start: compiles each model with a warm cache and without any, in turns. Status 3 when the warm one
takes longer than 1.05 of the other, by the medians.

neighbour: makes one cache on the machine as it is, which should be quiet, and one beside a busy
loop; then runs the programs that come from the two, and the heuristic's, in turns. Status 3 when
the second takes longer than 1.03 of the first, by the medians.

    fastrun.py start [--models DIR] [--rounds 15] [--names resnet50,…]
    fastrun.py neighbour [--models DIR] [--rounds 15] [--names resnet18,…] [--searches 1]
"""

import statistics
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import models_parser, run_report  # noqa: E402

LIMITS = {"start": 1.05, "neighbour": 1.03}
BUSY = "import time\nend = time.monotonic() + 120\nwhile time.monotonic() < end: pass"


@contextmanager
def busy_loop():
    """Start a process that computes all the time, and ends by itself if it is not stopped."""
    neighbour = subprocess.Popen([sys.executable, "-c", BUSY])
    try:
        yield
    finally:
        neighbour.kill()
        neighbour.wait()


def search(options, model, cache):
    """Fill a cache; return seconds and the share of steps whose times are doubted."""
    flags = (
        "--fast-run",
        "--fast-run-algo-policy",
        cache,
        "--iter",
        1,
        "--threads",
        options.threads,
    )
    report = run_report(options.tool, model, *flags)
    steps = report["algorithms"]
    return report["compile_ms"] / 1e3, sum(s.get("doubtful", False) for s in steps) / len(steps)


def in_turns(options, model, ways, flags, field):
    """By way, the values of a field of the report over all rounds; the order alternates."""
    values = {way: [] for way in ways}
    for turn in range(options.rounds):
        for way in list(ways) if turn % 2 else reversed(ways):
            more = ("--threads", options.threads, *flags, *ways[way])
            values[way].append(field(run_report(options.tool, model, *more)))
    return values


def ratio(values, one, other):
    return statistics.median(values[one]) / statistics.median(values[other])


def compare_start(options, model, folder):
    cache = folder / f"{model.stem}.sqlite"
    search(options, model, cache)
    ways = {"warm": ("--fast-run", "--fast-run-algo-policy", cache), "heuristic": ()}
    values = in_turns(options, model, ways, ("--iter", 1), lambda r: r["compile_ms"])
    found = ratio(values, "warm", "heuristic")
    print(
        f"| {model.stem} | {statistics.median(values['warm']):.1f} "
        f"| {statistics.median(values['heuristic']):.1f} | {found:.3f} |",
        flush=True,
    )
    return found


def compare_neighbour(options, model, folder):
    worst = 0
    for number in range(options.searches):
        quiet, beside = (
            folder / f"{model.stem}.{number}.{way}.sqlite" for way in ("quiet", "beside")
        )
        quiet_s, quiet_doubts = search(options, model, quiet)
        with busy_loop():
            beside_s, beside_doubts = search(options, model, beside)
        ways = {
            "quiet": ("--fast-run-algo-policy", quiet),
            "beside": ("--fast-run-algo-policy", beside),
            "heuristic": (),
        }
        flags = ("--duration", options.seconds, "--warmup-iter", 5)
        values = in_turns(options, model, ways, flags, lambda r: r["latency_ms"]["p50"])
        found = ratio(values, "beside", "quiet")
        worst = max(worst, found)
        times = " | ".join(f"{statistics.median(values[way]):.3f}" for way in ways)
        print(
            f"| {model.stem} | {times} | {found:.3f} | {quiet_s:.1f} | {beside_s:.1f} "
            f"| {quiet_doubts:.0%} | {beside_doubts:.0%} |",
            flush=True,
        )
    return worst


HEADS = {
    "start": "| model | warm cache, ms | heuristic, ms | ratio |\n|---|---|---|---|",
    "neighbour": "| model | quiet, ms | beside, ms | heuristic, ms | beside ÷ quiet "
    "| search, quiet s | beside s | doubtful, quiet | beside |\n" + "|---" * 9 + "|",
}
COMPARISONS = {"start": compare_start, "neighbour": compare_neighbour}


def main():
    parser = models_parser(__doc__, "")
    parser.add_argument("what", choices=LIMITS)
    parser.add_argument("--names", help="of the models in the folder; all unless given")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--searches", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.5, help="of one turn of a program")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    names = options.names.split(",") if options.names else None
    models = [options.models / f"{name}.mge" for name in names or []]
    print(HEADS[options.what])
    with tempfile.TemporaryDirectory() as folder:
        found = [
            COMPARISONS[options.what](options, model, Path(folder))
            for model in models or sorted(options.models.glob("*.mge"))
        ]
    return 3 if max(found) > LIMITS[options.what] else 0


if __name__ == "__main__":
    sys.exit(main())
