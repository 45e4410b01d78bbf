# SPDX-License-Identifier: Apache-2.0
"""Options of recomputation for less memory."""

from dataclasses import dataclass, field

from ..device import get_device_count


@dataclass
class SublinearMemoryConfig:
    """How hard to search for values to compute twice instead of keeping them. Kept and compared,
    without effect in this version.

    Args:
        thresh_nr_try: trials per threshold.
        genetic_nr_iter: iterations of the genetic search.
        genetic_pool_size: its pool.
        lb_memory_mb: stop below this many megabytes.
        num_worker: threads that search.
    """

    thresh_nr_try: int = 10
    genetic_nr_iter: int = 0
    genetic_pool_size: int = 20
    lb_memory_mb: int = 0
    num_worker: int = field(default_factory=lambda: max(1, get_device_count("cpu") // 2))
