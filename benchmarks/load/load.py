# SPDX-License-Identifier: Apache-2.0
"""How long a model of 100 MB takes to load from a hot page cache.

Makes the model once (one linear layer), then starts load_and_run again and again and takes the
load time from its report. Status 3 when the median is above the limit.

    load.py [--megabytes 100] [--repeats 15]
"""

import argparse
import statistics
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import DEFAULT_MODELS, DEFAULT_TOOL, run_report  # noqa: E402

LIMIT_MS = 5.0
WIDTH = 5000


def make_model(path, megabytes):
    import megengine as mge
    import megengine.module as M
    from megengine.jit import trace

    net = M.Linear(WIDTH, int(megabytes * 1e6 / 4 / WIDTH), bias=False)
    net.eval()

    @trace(symbolic=True, capture_as_const=True)
    def forward(x):
        return net(x)

    forward(mge.Tensor(np.zeros((1, WIDTH), np.float32)))
    path.parent.mkdir(parents=True, exist_ok=True)
    forward.dump(str(path), arg_names=["x"], output_names=["y"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--megabytes", type=float, default=100)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--tool", type=Path, default=DEFAULT_TOOL)
    options = parser.parse_args()
    model = DEFAULT_MODELS / "load" / f"linear_{options.megabytes:g}MB.mge"
    if not model.exists():
        make_model(model, options.megabytes)
    reports = [run_report(options.tool, model, "--iter", 1) for _ in range(options.repeats)]
    print("| part | median ms | min ms |")
    print("|---|---|---|")
    for part in ("load_ms", "compile_ms", "first_run_ms"):
        times = [report[part] for report in reports]
        print(f"| {part[:-3]} | {statistics.median(times):.2f} | {min(times):.2f} |")
    return 3 if statistics.median(r["load_ms"] for r in reports) > LIMIT_MS else 0


if __name__ == "__main__":
    sys.exit(main())
