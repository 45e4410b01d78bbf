# SPDX-License-Identifier: Apache-2.0
"""Options of dynamic rematerialisation."""

from dataclasses import dataclass


@dataclass
class DTRConfig:
    """When values would be dropped and computed again. Kept and compared, without effect: the
    memory of a compiled graph is planned ahead.

    Args:
        eviction_threshold: bytes in use from which on values are dropped.
        evictee_minimum_size: smaller values stay, in bytes.
        recomp_memory_factor: exponent of memory in the cost of a value.
        recomp_time_factor: exponent of computing time in it.
    """

    eviction_threshold: int = 0
    evictee_minimum_size: int = 1 << 20
    recomp_memory_factor: float = 1
    recomp_time_factor: float = 1
