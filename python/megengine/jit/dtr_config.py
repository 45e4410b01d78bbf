# SPDX-License-Identifier: Apache-2.0
"""Options of dynamic rematerialisation."""

from dataclasses import dataclass


@dataclass
class DTRConfig:
    """How far a ``trace`` gives values up and computes them again.

    Args:
        eviction_threshold: bytes alive at once above which values are given up.
        evictee_minimum_size: smaller values stay, in bytes.
        recomp_memory_factor: without effect, which a warning says: what is given up is found by
            simulated plans, not by weighing single values.
        recomp_time_factor: the same.
    Raises:
        TypeError: one of the four is no number.
        AssertionError: the threshold is not positive, or another number is negative.
    Example:
        >>> DTRConfig(eviction_threshold=1024).eviction_threshold
        1024
    """

    eviction_threshold: int = 0
    evictee_minimum_size: int = 1 << 20
    recomp_memory_factor: float = 1
    recomp_time_factor: float = 1

    def __post_init__(self):
        for name, value in vars(self).items():
            if not isinstance(value, (int, float)):
                raise TypeError(f"[dtr_config.{name}] needs a number, got {value!r}")
            assert value >= 0, f"{name} must be greater than or equal to zero"
        assert self.eviction_threshold > 0, "eviction_threshold must be greater than zero"
