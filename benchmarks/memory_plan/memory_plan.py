# SPDX-License-Identifier: Apache-2.0
"""How close the memory plan comes to its lower bound, for every model of a folder.

The bound is the largest sum of buffers alive at one step, workspaces of the chosen algorithms
included: no plan can be smaller. Prints a Markdown table; status 3 when a plan is above the limit.

    memory_plan.py [--models build/benchmark_models] [--flags=--fast-run]
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import models_parser, run_report  # noqa: E402

LIMIT = 1.02
MEGABYTE = 1e6


def main():
    options = models_parser(__doc__, flags="").parse_args()
    print("| model | plan MB | lower bound MB | plan ÷ bound | weights MB | packed weights MB |")
    print("|---|---|---|---|---|---|")
    worst = 0.0
    for model in sorted(options.models.glob("*.mge")):
        report = run_report(options.tool, model, "--iter", 1, *options.flags.split())
        memory = report["memory_bytes"]
        ratio = memory["plan"] / memory["plan_lower_bound"]
        worst = max(worst, ratio)
        sizes = (memory["plan"], memory["plan_lower_bound"])
        weights = (memory["weights"], memory.get("packed_weights", 0))
        plan, bound, plain, packed = (f"{size / MEGABYTE:.2f}" for size in (*sizes, *weights))
        print(f"| {model.stem} | {plan} | {bound} | {ratio:.3f} | {plain} | {packed} |", flush=True)
    return 3 if worst > LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
