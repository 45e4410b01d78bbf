# SPDX-License-Identifier: Apache-2.0
"""Overhead of load_and_run's measuring: the part of the timed period that is in no run.

The tool notes the time before and after each run; what it does in between, and the notes
themselves, should be lost beside a model of one millisecond. Prints a Markdown table; status 3
when the share is above the limit for the model whose runs are nearest to one millisecond.

    overhead.py [--models build/benchmark_models] [--iter 2000]
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import DEFAULT_MODELS, DEFAULT_TOOL, run_report  # noqa: E402

LIMIT = 0.01
NANOSECONDS = 1e6


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, default=DEFAULT_MODELS)
    parser.add_argument("--tool", type=Path, default=DEFAULT_TOOL)
    parser.add_argument("--iter", type=int, default=2000)
    options = parser.parse_args()
    print("| model | run ms | overhead ns per run | share % |")
    print("|---|---|---|---|")
    found = []
    for model in sorted(options.models.glob("*.mge")):
        test = run_report(options.tool, model, "--iter", options.iter)["result"]["tests"][0]
        total, inside = test["seconds"] * 1000, sum(test["times_ms"])
        each, share = inside / test["runs"], (total - inside) / total
        found.append((abs(each - 1), share))
        outside = (total - inside) / test["runs"] * NANOSECONDS
        print(f"| {model.stem} | {each:.3f} | {outside:.0f} | {100 * share:.3f} |", flush=True)
    return 3 if found and min(found)[1] > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
