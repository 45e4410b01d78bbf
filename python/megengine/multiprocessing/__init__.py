# SPDX-License-Identifier: Apache-2.0
"""Python's ``multiprocessing``, where Tensors go to other processes by handle.

A Tensor that is put into a queue or pipe, or given to a process, moves to memory that processes
share; the other side gets the same memory. What either writes (``x[...] = 1``, an optimizer's step)
the other sees, with every start method. The process that sent a Tensor has to live until it is
received. Names of ``multiprocessing`` that are not here are where they were.
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
