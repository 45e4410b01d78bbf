# SPDX-License-Identifier: Apache-2.0
"""Checks that operators do not change their inputs."""

from ..core.input_check import TensorSanityCheckImpl


class TensorSanityCheck:
    """A block in which each operator is watched: an input that it changes is an error at the end.

    It costs two checksums of each input. Memory of GPUs is not looked at, nor are the operators
    inside of traced functions that have been compiled.

    Raises:
        RuntimeError: at the end of the block, with the operators that have changed an input; at
            its beginning, where a profiler runs.
    Example:
        >>> with TensorSanityCheck():
        ...     c = Tensor([1, 2]) + Tensor([3, 4])
        >>> c
        Tensor([4 6], dtype=int32, device=xpux:0)
    """

    def __init__(self):
        self.impl = TensorSanityCheckImpl()

    def __enter__(self) -> "TensorSanityCheck":
        self.impl.enable()
        return self

    def __exit__(self, *exc) -> None:
        self.impl.disable()
