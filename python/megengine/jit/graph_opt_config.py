# SPDX-License-Identifier: Apache-2.0
"""Options of graph optimisation."""

from dataclasses import dataclass


@dataclass
class GraphOptimizationConfig:
    """What fused elementwise operators may be fused with; None leaves it to the engine.

    Args:
        jit_fuse_dimshuffle: transpositions that they read.
        jit_fuse_reduce: a reduction that reads them.
    Example:
        >>> GraphOptimizationConfig().jit_fuse_dimshuffle
        False
    """

    jit_fuse_dimshuffle: bool | None = False
    jit_fuse_reduce: bool | None = False
