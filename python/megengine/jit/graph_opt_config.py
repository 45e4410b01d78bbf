# SPDX-License-Identifier: Apache-2.0
"""Options of graph optimisation."""

from dataclasses import dataclass


@dataclass(repr=False)
class GraphOptimizationConfig:
    """Further operators for elementwise fusion; None leaves the choice to the engine.

    Args:
        jit_fuse_dimshuffle: transpositions that they read.
        jit_fuse_reduce: a reduction that reads them.
    Example:
        >>> GraphOptimizationConfig(jit_fuse_reduce=True)
        GraphOptimizationConfig { jit_fuse_dimshuffle = UNSET, jit_fuse_reduce = ON }
    """

    jit_fuse_dimshuffle: bool | None = None
    jit_fuse_reduce: bool | None = None

    def __repr__(self) -> str:
        words = {None: "UNSET", False: "OFF", True: "ON"}
        moves, reduction = words[self.jit_fuse_dimshuffle], words[self.jit_fuse_reduce]
        return (
            f"GraphOptimizationConfig {{ jit_fuse_dimshuffle = {moves},"
            f" jit_fuse_reduce = {reduction} }}"
        )
