# SPDX-License-Identifier: Apache-2.0
"""Histograms of values: how two are joined, and the range in which quantisation costs least.

A histogram is float32 counts over equal bins of a range. When the range grows, the counts are cut
into finer bins, laid into the wider range and summed up again. The range to quantise is found by
leaving out outer bins step by step as long as the squared error becomes smaller.
"""

from bisect import bisect_left, bisect_right
from typing import NamedTuple

import numpy as np

_QUANTILE_STEP = 1e-5  # the share of values that one step of the search leaves out


class Range(NamedTuple):
    """From the least to the largest value."""

    low: float
    high: float


def count(values: np.ndarray, bins: int, within: Range) -> np.ndarray:
    """How many values lie in each bin.

    Args:
        values: any shape.
        bins: number of bins.
        within: the range; of zero width where all values are equal.
    Returns:
        float32 vector.
    """
    return np.histogram(values, bins, range=within)[0].astype(np.float32)


def widened(old: Range, new: Range, bins: int, upsample_rate: int) -> tuple[Range, int, int]:
    """A range over two others whose bins are made of whole fine bins of the old one.

    Args:
        old: range of the histogram.
        new: range of further values.
        bins: number of bins, before and after.
        upsample_rate: fine bins in one of the old.
    Returns:
        The range, the number of fine bins in one of its bins, and the fine bin where the old range
        begins.
    """
    low, high = min(old.low, new.low), max(old.high, new.high)
    fine_width = (old.high - old.low) / (bins * upsample_rate)
    rate = int(np.ceil((high - low) / (bins * fine_width)))
    surplus = rate * bins * fine_width - (high - low)
    low, high = low - surplus / 2, high + surplus / 2
    return Range(low, high), rate, int(np.round((old.low - low) / fine_width))


def resampled(counts: np.ndarray, upsample_rate: int, rate: int, start: int) -> np.ndarray:
    """The counts of a histogram in the bins of a wider range; see ``widened``.

    Args:
        counts: of the old bins.
        upsample_rate: fine bins in one of them.
        rate: fine bins in one of the new.
        start: the fine bin where the old range begins.
    Returns:
        float32 vector of the same length.
    """
    bins = len(counts)
    fine = np.zeros(bins * rate)
    fine[start : start + bins * upsample_rate] = np.repeat(counts, upsample_rate)
    return (fine.reshape(bins, rate).sum(1) / upsample_rate).astype(np.float32)


def best_range(counts: np.ndarray, within: Range, steps: int) -> Range:
    """The range whose quantisation has the least squared error.

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
        # What each side would leave out for one step more; the side of more bins goes on.
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
    # Distances from the middles of the steps; whole steps lie between the two.
    from_begin = begin - (step_of_begin + 0.5) * step
    from_end = end - (step_of_end + 0.5) * step
    within_one = from_end**3 - from_begin**3
    half = (step / 2) ** 3
    over_several = half - from_begin**3 + (step_of_end - step_of_begin - 1) * 2 * half
    over_several += from_end**3 + half
    cubes = np.where(step_of_begin == step_of_end, within_one, over_several)
    return float((counts / width * cubes / 3).sum())
