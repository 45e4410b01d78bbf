# SPDX-License-Identifier: Apache-2.0
"""How often --baseline with --fail-if is wrong: the same binary twice, and with a planted slowdown.

Each pair is two processes, one after the other: the first writes the baseline, the second is
compared with it. Without a slowdown every verdict of exit code 3 is a false alarm; with one every
other verdict is a miss. Status 3 when there are more false alarms or misses than allowed.

With --in-turns the second process runs the first one's command again, in turns with its own runs
(--baseline-tool), so that what else the machine does hits both.

    verdict.py MODEL [--in-turns] [--pairs 100] [--slowdown 5] [--flags='--threads 1']
"""

import argparse
import json
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from report import DEFAULT_TOOL  # noqa: E402

FALSE_ALARMS, FOUND = 0.01, 0.95
REGRESSION = 3


def run(options, *flags):
    command = [str(options.tool), str(options.model), "--duration", str(options.duration)]
    command += [*options.flags, *flags]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def pair(options, folder, slowdown):
    """Whether the second run of two is called slower, and the change that was seen."""
    base, now = folder / "base.json", folder / "now.json"
    first = run(options, "--json", str(base))
    if first.returncode:
        sys.exit(first.stderr)
    flags = ["--baseline", str(base), "--fail-if", options.condition, "--json", str(now)]
    if options.in_turns:
        flags += ["--baseline-tool", str(options.tool)]
    done = run(options, *flags, "--plant-slowdown", str(slowdown))
    if done.returncode not in (0, REGRESSION):
        sys.exit(done.stderr)
    change = json.loads(now.read_text())["result"]["baseline"][0]["change_percent"]
    return done.returncode == REGRESSION, change


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=Path)
    parser.add_argument("--tool", type=Path, default=DEFAULT_TOOL)
    parser.add_argument("--in-turns", action="store_true")
    parser.add_argument("--pairs", type=int, default=100)
    parser.add_argument("--slowdown", type=float, default=5.0)
    parser.add_argument("--duration", type=float, default=1.0, help="seconds per run")
    parser.add_argument("--condition", default="p50>+3%")
    parser.add_argument(
        "--flags", type=shlex.split, default=[], help="of load_and_run, for both sides"
    )
    options = parser.parse_args()
    shares = {}
    with tempfile.TemporaryDirectory() as folder:
        for slowdown in (0.0, options.slowdown):
            verdicts = [pair(options, Path(folder), slowdown) for _ in range(options.pairs)]
            shares[slowdown] = sum(v for v, _ in verdicts) / options.pairs
            changes = sorted(c for _, c in verdicts)
            print(
                f"slowdown {slowdown:g} %: {100 * shares[slowdown]:.0f} % of {options.pairs} pairs "
                f"called slower; change seen {changes[0]:+.2f} … {changes[len(changes) // 2]:+.2f} "
                f"… {changes[-1]:+.2f} %",
                flush=True,
            )
    is_good = shares[0.0] <= FALSE_ALARMS and shares[options.slowdown] >= FOUND
    return 0 if is_good else REGRESSION


if __name__ == "__main__":
    sys.exit(main())
