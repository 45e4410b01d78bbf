# SPDX-License-Identifier: Apache-2.0
"""Random numbers. The functions draw from one stream that ``seed`` sets."""

from .rng import (
    RNG,
    beta,
    exponential,
    gamma,
    get_rng_state,
    multinomial,
    normal,
    permutation,
    poisson,
    seed,
    set_rng_state,
    shuffle,
    uniform,
)
from .rng import default_rng as default_rng

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
