# SPDX-License-Identifier: Apache-2.0
"""Options of graph optimisation."""

from dataclasses import dataclass


@dataclass
class GraphOptimizationConfig:
    """Which reorderings elementwise fusion may use; None leaves it to the engine.

    Args:
        jit_fuse_dimshuffle: fuse with transpositions.
        jit_fuse_reduce: fuse with reductions.
    """

    jit_fuse_dimshuffle: bool | None = False
    jit_fuse_reduce: bool | None = False
