# SPDX-License-Identifier: Apache-2.0
"""Histograms of values: how two are joined, and the range in which quantisation costs least.

A histogram consists of float32 counts over equal bins of a range. When the range grows, bins are
split into parts, and the bins of the wider range consist of whole parts. Three methods find the
range to quantise: omitting outer bins as long as the squared error decreases, keeping a share of
the values, or maximising the similarity of the quantised distribution.
"""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

_QUANTILE_STEP = 1e-5  # the share of values that one step of the search leaves out
_ENDS = 256  # so many ends of a range are tried
_NOTHING = 1e-9  # negligible share of a range


class Range(NamedTuple):
    """A range from the smallest to the largest value."""

    low: float
    high: float


def count(values: np.ndarray, bins: int, within: Range) -> np.ndarray:
    """Number of values in each bin.

    Args:
        values: any shape.
        bins: number of bins.
        within: the range; of zero width where all values are equal.
    Returns:
        float32 vector.
    """
    _require_finite(within)
    return np.histogram(values, bins, range=within)[0].astype(np.float32)


def _require_finite(within: Range) -> None:
    if not np.isfinite(within).all():
        raise ValueError(
            f"[histogram] the values reach from {within.low} to {within.high}, "
            "a histogram needs finite ones"
        )


def joined(
    counts: np.ndarray, old: Range, values: np.ndarray, upsample_rate: int
) -> tuple[np.ndarray, Range]:
    """A histogram with further values.

    Args:
        counts: of the bins.
        old: their range.
        values: any shape.
        upsample_rate: a bin is cut into so many parts where the range grows.
    Returns:
        The counts of as many bins, and the range of all values.
    """
    bins = len(counts)
    low, high = min(old.low, float(values.min())), max(old.high, float(values.max()))
    _require_finite(Range(low, high))
    if old.high - old.low <= (high - low) * _NOTHING:
        # Equivalent to a single value.
        middle = np.full(1, (old.low + old.high) / 2)
        before = np.histogram(middle, bins, range=(low, high), weights=[counts.sum()])[0]
        within = Range(low, high)
    else:
        # A bin of the new range is a whole number of parts. Computed in float32, as in MegEngine:
        # otherwise the start of the old range differs by a part.
        first, last = np.float32(old.low), np.float32(old.high)
        least, most = np.float32(low), np.float32(high)
        part = (last - first) / np.float32(bins * upsample_rate)
        rate = int(np.ceil((most - least) / (np.float32(bins) * part)))
        surplus = np.float32(rate) * (np.float32(bins) * part) - (most - least)
        within = Range(float(least - surplus / 2), float(most + surplus / 2))
        start = int(np.round((first - np.float32(within.low)) / part))
        before = _resampled(counts, upsample_rate, rate, start)
    return (before + count(values, bins, within)).astype(np.float32), within


def _resampled(counts: np.ndarray, upsample_rate: int, rate: int, start: int) -> np.ndarray:
    """Counts in bins of ``rate`` parts, where the old range begins at a part of the new one."""
    below = np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)])
    edges = np.arange(len(below), dtype=np.float64)
    return np.diff(np.interp(edges * rate - start, edges * upsample_rate, below))


def best_range(counts: np.ndarray, within: Range, steps: int) -> Range:
    """The range whose quantisation has the smallest squared error.

    Args:
        counts: of the bins.
        within: their range.
        steps: how many integers there are.
    Returns:
        A part of the range, at the borders of bins.
    """
    bins = len(counts)
    width = (within.high - within.low) / bins
    shares = (np.cumsum(counts, dtype=np.float64) / counts.sum(dtype=np.float64)).tolist()
    first, last, least = 0, bins - 1, np.inf
    low_share, high_share = 0.0, 1.0
    while low_share < high_share:
        # Shares that each side would omit in one more step; the side with more bins advances.
        left = min(max(bisect_left(shares, low_share + _QUANTILE_STEP), first), last)
        right = min(max(bisect_right(shares, high_share - _QUANTILE_STEP) - 1, first), last)
        if left - first > last - right:
            low_share += _QUANTILE_STEP
            attempt = left, last
        else:
            high_share -= _QUANTILE_STEP
            attempt = first, right
        if attempt == (first, last):
            continue
        error = _squared_error(counts, *attempt, width, steps)
        if error > least:
            break
        least, (first, last) = error, attempt
    return Range(within.low + width * first, within.low + width * (last + 1))


def _squared_error(counts: np.ndarray, first: int, last: int, width: float, steps: int) -> float:
    """The squared error if the bins from first to last are divided into steps."""
    step = width * (last - first + 1) / steps
    if step == 0:
        return 0.0
    begin = (np.arange(len(counts)) - first) * width
    end = begin + width
    step_of_begin = np.clip(np.floor(begin / step), 0, steps - 1)
    step_of_end = np.clip(np.floor(end / step), 0, steps - 1)
    # Distances from the centres of the steps; whole steps are between the two.
    from_begin = begin - (step_of_begin + 0.5) * step
    from_end = end - (step_of_end + 0.5) * step
    within_one = from_end**3 - from_begin**3
    half = (step / 2) ** 3
    over_several = half - from_begin**3 + (step_of_end - step_of_begin - 1) * 2 * half
    over_several += from_end**3 + half
    cubes = np.where(step_of_begin == step_of_end, within_one, over_several)
    return float((counts / width * cubes / 3).sum())


def range_of_share(counts: np.ndarray, within: Range, share: float) -> Range:
    """The range that contains a share of all values, with equal shares omitted at each end.

    Args:
        counts: of the bins.
        within: their range.
        share: from 0 to 1.
    Returns:
        A part of the range.
    """
    below = np.concatenate([[0.0], np.cumsum(counts, dtype=np.float64)]) / counts.sum()
    edges = np.linspace(within.low, within.high, len(below))
    outside = (1 - share) / 2
    return Range(*(float(edge) for edge in np.interp([outside, 1 - outside], below, edges)))


def range_of_least_divergence(counts: np.ndarray, within: Range, steps: int) -> Range:
    """The range around zero in which quantisation keeps the distribution of magnitudes best.

    Args:
        counts: of the bins.
        within: their range.
        steps: how many integers there are.
    Returns:
        A part of the range: the one of the least Kullback-Leibler divergence between magnitudes
        cut off at its end and the same on half the steps.
    """
    bins = len(counts)
    largest = max(-within.low, within.high)
    middles = np.linspace(within.low, within.high, 2 * bins + 1)[1::2]
    sizes = np.histogram(np.abs(middles), bins, range=(0, largest), weights=counts)[0]
    # Zeros are exact on all steps, and many of them would dominate.
    sizes[0] = sizes[1]
    levels = max(steps // 2, 1)
    ends = range(bins, min(levels, bins) - 1, -max(bins // _ENDS, 1))
    best = min(ends, key=lambda end: _divergence(sizes, end, levels))
    limit = largest * best / bins
    return Range(max(within.low, -limit), min(within.high, limit))


def _divergence(sizes: np.ndarray, end: int, levels: int) -> float:
    """Divergence of the distribution clipped at a bin from its quantised form, whose levels are
    spread over their bins in use."""
    whole = sizes[:end].astype(np.float64)
    level = np.arange(end) * levels // end
    is_used = whole > 0
    in_use = np.maximum(np.bincount(level, is_used, levels), 1)
    spread = (np.bincount(level, whole, levels) / in_use)[level] * is_used
    whole[-1] += sizes[end:].sum()
    if not spread.any():
        return np.inf
    p, q = whole / whole.sum(), spread / spread.sum()
    # A bin with only clipped values has no level.
    q = np.where(q > 0, q, 1e-10)
    is_used = p > 0
    return float((p[is_used] * np.log(p[is_used] / q[is_used])).sum())
