# SPDX-License-Identifier: Apache-2.0
"""Memory by class: predicted, given out, and seen by the system, for every model of a folder.

A figure is near when it differs from the prediction by at most 5 % or 2 MiB. Prints a Markdown
table of the totals and of the largest difference in any class; status 3 when one is not near.

    memory_classes.py [--models build/benchmark_models] [--batches 1,4] [--flags='--threads 1']
"""

import shlex
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import models_parser, run_report  # noqa: E402

RELATIVE, ABSOLUTE = 0.05, 2 << 20
MEBIBYTE = 1 << 20


def differences(figures):
    """Bytes between the prediction and what was measured and seen, and whether both are near."""
    predicted = figures["predicted"]
    largest = max(abs(figures[key] - predicted) for key in ("measured", "system"))
    return largest, largest <= max(RELATIVE * predicted, ABSOLUTE)


def main():
    parser = models_parser(__doc__, flags="--threads 1")
    parser.add_argument("--batches", default="1,4", help="batch sizes, by commas")
    options = parser.parse_args()
    print("| model | batch | predicted MiB | measured MiB | system MiB | difference MiB | in |")
    print("|---|---|---|---|---|---|---|")
    all_near = True
    for model in sorted(options.models.glob("*.mge")):
        for batch in options.batches.split(","):
            flags = ["--batch-size", batch, "--iter", 2, *shlex.split(options.flags)]
            try:
                memory = run_report(options.tool, model, *flags)["result"]["memory"]
            except RuntimeError as error:  # a model of one batch size, such as those in int8
                print(f"# {model.stem}, batch {batch}: {error}", file=sys.stderr)
                continue
            found = {name: differences(memory[name]) for name in memory if name != "process"}
            all_near = all_near and all(is_near for _, is_near in found.values())
            name, (largest, _) = max(found.items(), key=lambda item: item[1][0])
            total = memory["total"]
            sizes = [total["predicted"], total["measured"], total["system"], largest]
            cells = [model.stem, batch, *(f"{size / MEBIBYTE:.2f}" for size in sizes), name]
            print("| " + " | ".join(cells) + " |", flush=True)
    return 0 if all_near else 3


if __name__ == "__main__":
    sys.exit(main())
