# SPDX-License-Identifier: Apache-2.0
"""Data-parallel training steps: measured under a limited link, and modelled for many processes.

    simulate.py table [--bytes 1e8 --gbit 10 --latency 43e-6 --compute 1]
    simulate.py check [--processes 2 4 8] [--rates 1gbit] [--batches 32 128]

`table` prints steps for up to 1,024 processes; all of it is modelled. `check` runs steps in network
namespaces of this machine (root), prints rows of Markdown with measured and modelled seconds, and
the step over the larger of computing and communication.
"""

import argparse
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from links import namespaces, run_in
from model import ALGORITHMS, Layer, Link, Step, even_step

STEP = Path(__file__).resolve().parent / "step.py"
LARGE_BYTES = 16 << 20


def print_row(*cells) -> None:
    """Print a row of Markdown."""
    print("|", " | ".join(map(str, cells)), "|", flush=True)


def print_table(options: argparse.Namespace) -> None:
    """Print modelled steps."""
    link = Link(options.latency, 8 / (options.gbit * 1e9), options.message)
    step = even_step(options.compute, options.bytes)
    print(
        f"Modelled, not measured: {options.bytes / 1e6:g} MB of gradients, {options.compute:g} s "
        f"of computing, {options.gbit:g} Gbit/s, latency {options.latency * 1e6:g} µs, buckets of "
        f"{options.bucket_bytes / 1e6:g} MB.\n"
    )
    print_row("processes", "algorithm", "exchange s", "step s", "efficiency", "without overlap")
    print_row(*["---"] * 6)
    n = 2
    while n <= 1024:
        for algorithm in ALGORITHMS:
            arguments = (link, n, options.bucket_bytes, algorithm)
            seconds, after = step.seconds(*arguments), step.seconds(*arguments, overlap=False)
            print_row(
                n,
                algorithm,
                f"{step.communication(*arguments):.3f}",
                f"{seconds:.3f}",
                f"{100 * step.compute / seconds:.0f} %",
                f"{100 * step.compute / after:.0f} %",
            )
        n *= 2


def fitted(found: dict) -> tuple[Link, Step]:
    """The link and the step that explain measured parts."""
    n = found["processes"]
    # A small sum is two exchanges, of an announcement each.
    latency = found["latency"] / 2
    data = 2 * (n - 1) / n * LARGE_BYTES
    blocks = LARGE_BYTES / (4 << 20)
    byte = max(0.0, found["large"] - blocks * 4 * latency) / data
    backward = found["compute"] - found["forward"]
    layer = Layer(backward / found["layers"], found["bytes"] / found["layers"])
    return Link(latency, byte), Step(found["forward"], [layer] * found["layers"])


def check(options: argparse.Namespace) -> None:
    """Measure steps and compare them with the model."""
    print_row(
        "processes",
        "rate",
        "batch",
        "compute s",
        "communication s (model)",
        "step after s (model)",
        "step overlapped s (model)",
        "model off by",
        "step / max",
    )
    print_row(*["---"] * 9)
    for n in options.processes:
        for rate in options.rates:
            with namespaces(n, None if rate == "none" else rate) as names:
                for batch in options.batches:
                    check_one(n, rate, batch, names, options)


def check_one(n: int, rate: str, batch: int, names: list[str], options) -> None:
    """Measure one case."""
    command = [sys.executable, str(STEP), "--batch", str(batch), "--layers", str(options.layers)]
    command += ["--bucket-bytes", str(int(options.bucket_bytes)), "--steps", str(options.steps)]
    found = json.loads(run_in(names, command).splitlines()[-1])
    link, step = fitted(found)
    # The rule of make_allreduce_cb.
    bucket_bytes = min(options.bucket_bytes, max(step.size / 8, 1 << 20))
    arguments = (link, n, bucket_bytes)
    modelled = step.seconds(*arguments)
    bound = max(found["compute"], found["communication"])
    print_row(
        n,
        rate,
        batch,
        f"{found['compute']:.3f}",
        f"{found['communication']:.3f} ({step.communication(*arguments):.3f})",
        f"{found['after']:.3f} ({step.seconds(*arguments, overlap=False):.3f})",
        f"{found['overlap']:.3f} ({modelled:.3f})",
        f"{100 * (modelled / found['overlap'] - 1):+.0f} %",
        f"{found['overlap'] / bound:.2f}",
    )


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("table", "check"))
    parser.add_argument("--bytes", type=float, default=1e8)
    parser.add_argument("--gbit", type=float, default=10)
    parser.add_argument("--latency", type=float, default=43e-6)
    parser.add_argument("--message", type=float, default=5e-6)
    parser.add_argument("--compute", type=float, default=1)
    parser.add_argument("--bucket-bytes", type=float, default=25e6)
    parser.add_argument("--processes", type=int, nargs="+", default=[2, 4, 8])
    parser.add_argument("--rates", nargs="+", default=["1gbit"])
    parser.add_argument("--batches", type=int, nargs="+", default=[32, 128])
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--steps", type=int, default=5)
    options = parser.parse_args()
    if options.what == "table":
        print_table(options)
    else:
        check(options)


if __name__ == "__main__":
    main()
