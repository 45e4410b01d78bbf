# SPDX-License-Identifier: Apache-2.0
"""Which rounds count, and what they say: medians of ratios with a bootstrap confidence interval."""

import numpy as np

SPEED_TOLERANCE = 0.07
STEAL_LIMIT = 0.01
BOOTSTRAP_SAMPLES = 4000


def reason_to_discard(before, after, typical, foreign, stolen, foreign_limit):
    """Return why a round is no evidence, or None.

    before, after: (gflops, gigabytes) measured around the round; typical: their median so far.
    """
    for name, index in (("FMA rate", 0), ("read bandwidth", 1)):
        for speed in (before, after):
            moved = abs(speed[index] / typical[index] - 1)
            if moved > SPEED_TOLERANCE:
                return f"{name} moved by {moved:.0%}"
    if stolen > STEAL_LIMIT:
        return f"{stolen:.1%} of the processors stolen"
    if foreign > foreign_limit:
        return f"{foreign:.1%} of the processors used by others"
    return None


def bootstrap_interval(values, confidence=0.95, seed=0):
    """Return the percentile interval of the median under resampling."""
    values = np.asarray(values)
    samples = np.random.default_rng(seed).choice(values, (BOOTSTRAP_SAMPLES, len(values)))
    edge = (1 - confidence) / 2
    low, high = np.quantile(np.median(samples, axis=1), (edge, 1 - edge))
    return float(low), float(high)


def compare(ours, theirs):
    """Return (median, low, high) of ours / theirs; both are lists of round medians."""
    ratios = np.asarray(ours) / np.asarray(theirs)
    return float(np.median(ratios)), *bootstrap_interval(ratios)
