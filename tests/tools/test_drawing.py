# SPDX-License-Identifier: Apache-2.0
"""Functions of the pages' drawings, in Node."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

DRAWING = Path(__file__).resolve().parents[2] / "apps/page/drawing.js"
FAR = "2 ** 60"

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="no Node: apt-get install nodejs")


def value_of(expression):
    code = f"{DRAWING.read_text()}; console.log(JSON.stringify({expression}))"
    done = subprocess.run(
        ["node", "-e", code], capture_output=True, text=True, timeout=60, check=True
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "arguments, ticks",
    [
        ("0, 10, 5", [0, 2, 4, 6, 8, 10]),
        ("-5, 5, 4", [-5, 0, 5]),
        ("7, 7, 5", [7]),
        ("NaN, 1, 5", []),
        ("0, NaN, 5", [0]),
        ("0, Infinity, 5", [0]),
        ("-Infinity, 0, 5", []),
        ("0, 5e-324, 5", [0]),
    ],
)
def test_ticks(arguments, ticks):
    assert value_of(f"niceTicks({arguments})") == ticks


def test_ticks_closer_than_their_rounding_error():
    assert 0 < len(value_of(f"niceTicks({FAR}, {FAR} + 300, 5)")) <= 8
