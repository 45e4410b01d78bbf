# SPDX-License-Identifier: Apache-2.0
"""Functions that tests run in several processes of this machine."""

import numpy as np

import megengine as mge
import megengine.distributed as dist


def in_processes(count, work, *arguments):
    """The results of a function in several processes, each on a CPU device."""
    return dist.launcher(work, n_gpus=count, device_type="cpu")(*arguments)


def mine(shape=(6,)):
    """Process r has 10 r, 10 r + 1, …."""
    count = int(np.prod(shape))
    return mge.Tensor(np.arange(count, dtype=np.float32).reshape(shape) + 10 * dist.get_rank())
