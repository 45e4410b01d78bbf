# SPDX-License-Identifier: Apache-2.0
"""Starting the processes that train together."""

import functools
from collections.abc import Callable

from . import group


class launcher:
    """Make a function run in several processes, each with a rank and a device of its own.

    There is one process: the function runs in this one, after ``init_process_group``.

    Args:
        func: the function; without it, what is made is a decorator.
        n_gpus: processes on this machine; None: one.
        world_size: processes on all machines; None: those of this machine.
        rank_start: rank of the first process here.
        master_ip: machine of the first process.
        port: of that machine.
        device_type: kind of the devices.
        backend: what carries the data.
    Raises:
        NotAvailableError: when it is called, if there is more than one process.
    Example:
        >>> import megengine.distributed as dist
        >>> dist.launcher(lambda x: (dist.get_rank(), x))(3)
        [(0, 3)]
    """

    def __new__(cls, *args, **kwargs):
        if not args:
            return functools.partial(cls, **kwargs)
        return super().__new__(cls)

    def __init__(
        self,
        func: Callable,
        n_gpus: int | None = None,
        world_size: int | None = None,
        rank_start: int = 0,
        master_ip: str = "localhost",
        port: int = 0,
        device_type: str = "xpu",
        backend: str = "auto",
    ) -> None:
        self._func = func
        here = 1 if n_gpus is None else n_gpus
        self._world_size = here if world_size is None else world_size
        self._arguments = rank_start, master_ip, port, device_type, backend
        functools.update_wrapper(self, func)

    def __call__(self, *args, **kwargs) -> list:
        """What the function returned, in each process of this machine."""
        group.refuse_several("launcher", self._world_size)
        rank, master_ip, port, device_type, backend = self._arguments
        group.init_process_group(master_ip, port, self._world_size, rank, 0, backend, device_type)
        return [self._func(*args, **kwargs)]
