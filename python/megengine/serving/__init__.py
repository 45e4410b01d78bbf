# SPDX-License-Identifier: Apache-2.0
"""Models behind servers and in batch jobs: adapters for MLServer, Triton and Ray.

``python -m megengine.serve`` starts a server with one command. The members are imported when they
are first used, because each needs its server's package.
"""

import importlib

from .model import ServedModel, TensorInfo

# Without MGERuntime: `from megengine.serving import *` works without MLServer.
__all__ = ["ServedModel", "TensorInfo"]

_HOMES = {"MGERuntime": ".mlserver_runtime"}


def __getattr__(name: str):
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name], __name__), name)
