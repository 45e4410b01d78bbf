# SPDX-License-Identifier: Apache-2.0
"""Runs load_and_run and reads its JSON report."""

import json
import subprocess
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DEFAULT_TOOL = ROOT / "build/release/bin/load_and_run"
DEFAULT_MODELS = ROOT / "build/benchmark_models"


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
