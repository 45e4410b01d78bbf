# SPDX-License-Identifier: Apache-2.0
"""Groups of processes that train one net.

``launcher`` starts processes, and ``init_process_group`` joins one to them; ``functional`` has the
collective operators, and ``make_allreduce_cb`` reduces gradients. Data goes through host memory and
an engine that is installed separately: Gloo, Open MPI or MPICH.
"""

import sys
import types
import warnings

if "megengine.distributed.launch" in sys.orig_argv:  # python -m: the module runs, though imported
    warnings.filterwarnings("ignore", "'megengine.distributed.launch' found in sys.modules")

from . import functional, group, helper  # noqa: F401
from .buckets import no_sync
from .group import (
    WORLD,
    Group,
    get_backend,
    get_client,
    get_local_device_id,
    get_mm_server_addr,
    get_py_server_addr,
    get_rank,
    get_world_size,
    group_barrier,
    group_end,
    group_start,
    init_process_group,
    is_distributed,
    new_group,
    override_backend,
)
from .helper import bcast_list_, make_allreduce_cb, synchronized
from .launcher import launcher
from .run import get_restart_count
from .server import Client, Server
from .sharded_optimizer import ShardedOptimizer

__all__ = [
    "WORLD",
    "Client",
    "Group",
    "Server",
    "ShardedOptimizer",
    "bcast_list_",
    "get_backend",
    "get_client",
    "get_local_device_id",
    "get_mm_server_addr",
    "get_py_server_addr",
    "get_rank",
    "get_restart_count",
    "get_world_size",
    "group_barrier",
    "group_end",
    "group_start",
    "init_process_group",
    "is_distributed",
    "launcher",
    "make_allreduce_cb",
    "new_group",
    "no_sync",
    "override_backend",
    "synchronized",
]


class _Distributed(types.ModuleType):
    """The module itself, with a property."""

    @property
    def backend(self) -> str:
        """Name of the engine that carries the data; a single process can set it."""
        return get_backend()

    @backend.setter
    def backend(self, value: str) -> None:
        group._this().backend = value


sys.modules[__name__].__class__ = _Distributed
