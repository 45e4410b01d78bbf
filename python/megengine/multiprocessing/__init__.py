# SPDX-License-Identifier: Apache-2.0
"""Python's ``multiprocessing``, where Tensors go to other processes by handle.

A Tensor that is put into a queue or pipe, or given to a process, moves to memory that processes
share; the other side gets the same memory. What either writes (``x[...] = 1``, an optimizer's step)
the other sees, with every start method. The process that sent a Tensor has to live until it is
received. Tensors on a GPU go by CUDA's handles: both processes use the same memory of that GPU, the
sender has to live for as long as others have it, and processes start by ``spawn`` or
``forkserver``, since a child of ``fork`` cannot use a GPU. Names of ``multiprocessing`` that are
not here are where they were.
"""

import multiprocessing as _python
from multiprocessing import *  # noqa: F403

from .shared_tensors import SenderGoneError, register
from .spawning import ProcessContext, ProcessExitedError, ProcessRaisedError, spawn

__all__ = [
    *_python.__all__,
    "ProcessContext",
    "ProcessExitedError",
    "ProcessRaisedError",
    "SenderGoneError",
    "spawn",
]

register()
