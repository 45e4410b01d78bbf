# SPDX-License-Identifier: Apache-2.0
"""The comparison at the end of the quickstart must be able to fail."""

import importlib.util
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = importlib.util.spec_from_file_location("check", ROOT / "examples/quickstart/check.py")
check = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(check)

PREDICTIONS = np.array([[0.4, 0.6], [0.50002, 0.49998]], dtype=np.float32)


def test_equal_outputs_pass():
    assert check.compare_outputs("run", {"probability": PREDICTIONS}, PREDICTIONS) == 0


@pytest.mark.parametrize(
    "outputs, message",
    [
        ({"other": PREDICTIONS}, "no output 'probability'"),
        ({"probability": PREDICTIONS[:1]}, "shape"),
        ({"probability": PREDICTIONS + np.float32(2e-4)}, "differ by"),
        ({"probability": PREDICTIONS * np.float32("nan")}, "differ by nan"),
        ({"probability": np.array([[0.4, 0.6], [0.49997, 0.50003]])}, "1 of 2 images"),
    ],
)
def test_different_outputs_are_refused(outputs, message):
    with pytest.raises(ValueError, match=message):
        check.compare_outputs("run", outputs, PREDICTIONS)


@pytest.mark.parametrize("sources", [[], ["cache", "measured"], ["heuristic"]])
def test_second_run_must_use_only_the_cache(sources):
    with pytest.raises(ValueError, match="second run"):
        check.check_sources({"algorithms": [{"source": source} for source in sources]})
    assert check.check_sources({"algorithms": [{"source": "cache"}] * 3}) == 3
