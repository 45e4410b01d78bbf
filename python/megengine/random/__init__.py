# SPDX-License-Identifier: Apache-2.0
"""Random numbers. The functions draw from one stream that ``seed`` sets."""

from .rng import RNG, default_rng, get_rng_state, seed, set_rng_state

__all__ = [
    "RNG",
    "beta",
    "exponential",
    "gamma",
    "get_rng_state",
    "multinomial",
    "normal",
    "permutation",
    "poisson",
    "seed",
    "set_rng_state",
    "shuffle",
    "uniform",
]

uniform = default_rng.uniform
normal = default_rng.normal
permutation = default_rng.permutation
shuffle = default_rng.shuffle
exponential = default_rng.exponential
gamma = default_rng.gamma
beta = default_rng.beta
poisson = default_rng.poisson
multinomial = default_rng.multinomial
