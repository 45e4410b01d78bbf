# SPDX-License-Identifier: Apache-2.0
"""Runs load_and_run and reads its JSON report."""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_TOOL = ROOT / "build/release/bin/load_and_run"
DEFAULT_MODELS = ROOT / "build/benchmark_models"


def models_parser(description, flags):
    """Return a parser of the options that all comparisons over a folder of models have."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", type=Path, default=DEFAULT_MODELS)
    parser.add_argument("--tool", type=Path, default=DEFAULT_TOOL)
    parser.add_argument("--flags", default=flags, help="further flags for load_and_run")
    return parser


def run_report(tool, model, *flags):
    """Return the report of one run as a dictionary; RuntimeError with the tool's last words."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        command = [str(tool), str(model), "--json", str(report), *map(str, flags)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(
                f"{' '.join(command)}: status {done.returncode}: {done.stderr[-500:]}"
            )
        return json.loads(report.read_text())
