# SPDX-License-Identifier: Apache-2.0
"""The benchmark's statistics: which rounds count, and what they say."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "benchmarks/inference"))
import ratios  # noqa: E402
import run  # noqa: E402
import table  # noqa: E402

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


def test_one_thread_is_one_thread(capsys):
    line = dict(cpu="A", isa="avx2", cores=1, date="2026-01-01", threads=1, mode="hot", model="m")
    line.update(engine="MGE", version="1", label="mge", median_ms=1, p90_ms=1, min_ms=1)
    line.update(load_ms=1, start_ms=1, peak_mb=1, error=0, rounds=1, quiet=True)
    table.print_tables([line])
    shown = capsys.readouterr().out
    assert "### 1 thread, hot caches" in shown and "1 core, avx2" in shown
    assert table.threads_text(2) == "2 threads"


def test_benchmark_contestants_get_equal_settings(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "argv", ["x", "--table", str(tmp_path), "--threads", "2,1"])
    options = run.parse(run.make_parser("x", "a,b", ["mge", "other"], 3, 0.5, "x.jsonl"))
    assert options.names == ["a", "b"] and options.contestants == ["mge", "other"]
    assert list(run.combinations(options)) == [("a", 2), ("b", 2), ("a", 1), ("b", 1)]
    monkeypatch.setattr(sys, "argv", ["x"])
    with pytest.raises(SystemExit):
        run.parse(run.make_parser("x", "a", ["mge"], 3, 0.5, "x.jsonl"))
