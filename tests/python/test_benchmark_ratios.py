# SPDX-License-Identifier: Apache-2.0
"""The benchmark's statistics: which rounds count, and what they say."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks/inference"))
import ratios  # noqa: E402

QUIET = dict(before=(100, 20), after=(101, 20), typical=(100, 20), foreign=0.0, stolen=0.0)


@pytest.mark.parametrize(
    "change, word",
    [
        ({"after": (92, 20)}, "FMA"),
        ({"before": (100, 22)}, "bandwidth"),
        ({"stolen": 0.02}, "stolen"),
        ({"foreign": 0.1}, "others"),
    ],
)
def test_a_disturbed_round_is_discarded(change, word):
    assert word in ratios.reason_to_discard(**{**QUIET, **change}, foreign_limit=0.03)


def test_a_quiet_round_counts():
    assert ratios.reason_to_discard(**QUIET, foreign_limit=0.03) is None


def test_ratio_pairs_the_rounds():
    slow_and_fast_rounds = np.array([10.0, 20.0, 40.0])
    assert ratios.compare(0.5 * slow_and_fast_rounds, slow_and_fast_rounds) == (0.5, 0.5, 0.5)


def test_interval_covers_the_true_median():
    random = np.random.default_rng(1)
    trials = [ratios.bootstrap_interval(random.normal(1, 0.1, 15)) for _ in range(60)]
    covering = sum(low <= 1 <= high for low, high in trials)
    assert covering >= 50  # 95 % of 60 is 57; fewer than 50 has a chance below 1e-4
