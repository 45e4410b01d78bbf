# SPDX-License-Identifier: Apache-2.0
"""Options of recomputation for less memory."""

from dataclasses import dataclass, field

from ..device import get_device_count


@dataclass
class SublinearMemoryConfig:
    """Effort of a ``trace`` in its search for values to recompute instead of keeping.

    Args:
        thresh_nr_try: number of piece sizes to try around the best initial one.
        genetic_nr_iter: number of rounds of random changes to the best cuts.
        genetic_pool_size: number of sets of cuts kept for the next round, at least 2.
        lb_memory_mb: recompute only as much as needed for a peak below this many megabytes.
        num_worker: number of threads that search.
    Example:
        >>> SublinearMemoryConfig(thresh_nr_try=5).thresh_nr_try
        5
    """

    thresh_nr_try: int = 10
    genetic_nr_iter: int = 0
    genetic_pool_size: int = 20
    lb_memory_mb: int = 0
    num_worker: int = field(default_factory=lambda: max(1, get_device_count("cpu") // 2))

    def __post_init__(self):
        for name in ("thresh_nr_try", "genetic_nr_iter", "genetic_pool_size"):
            value = getattr(self, name)
            assert value >= 0, f"[SublinearMemoryConfig] {name} must not be negative, got {value}"
        assert self.num_worker > 0, (
            f"[SublinearMemoryConfig] num_worker must be positive, got {self.num_worker}"
        )
