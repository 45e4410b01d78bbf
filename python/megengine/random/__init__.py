# SPDX-License-Identifier: Apache-2.0
"""Random numbers. The functions draw from one stream that ``seed`` sets."""

from .rng import RNG, default_rng, seed

__all__ = ["RNG", "normal", "permutation", "seed", "shuffle", "uniform", "exponential"]

uniform = default_rng.uniform
normal = default_rng.normal
permutation = default_rng.permutation
shuffle = default_rng.shuffle
exponential = default_rng.exponential
