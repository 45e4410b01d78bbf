# SPDX-License-Identifier: Apache-2.0
"""Python's ``multiprocessing``, where Tensors go to other processes by handle.

A Tensor that is put into a queue or pipe, or passed to a process, moves to shared memory; the
receiver gets the same memory. Writes of one side (``x[...] = 1``, an optimizer's step) are visible
to the other, with every start method. The sending process must live until the Tensor is received.
Tensors on a GPU are sent by CUDA IPC handles: both processes use the same GPU memory, the sender
must live as long as others use it, and processes must start by ``spawn`` or ``forkserver``, because
a child of ``fork`` cannot use a GPU. Other names of ``multiprocessing`` are re-exported.
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
