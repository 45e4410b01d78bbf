# SPDX-License-Identifier: Apache-2.0
"""Options of dynamic rematerialisation."""

from dataclasses import dataclass


@dataclass
class DTRConfig:
    """Limits for the values that a ``trace`` evicts and recomputes.

    Args:
        eviction_threshold: bytes of live values above which values are evicted.
        evictee_minimum_size: smaller values are kept, in bytes.
        recomp_memory_factor: no effect, with a warning: values are selected by simulated plans
            instead of weights.
        recomp_time_factor: no effect, with a warning.
    Raises:
        TypeError: one of the four is not a number.
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
