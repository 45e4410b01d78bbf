# SPDX-License-Identifier: Apache-2.0
"""A deep-learning engine: tensors, networks, gradients, optimizers, and dumping of models.

Example:
    >>> import megengine as mge
    >>> mge.Tensor([1.0, 2.0]) * 2
    Tensor([2. 4.], device=xpux:0)
"""

import importlib
from typing import TYPE_CHECKING

from . import _environment, _mge  # noqa: F401
from ._mge import InternalError
from .tensor import Parameter, Tensor

# isort: split
# Needs Tensor.
from . import config, core, device, functional
from .core.not_available import NotAvailableError, missing, watch
from .core.printing import set_printoptions
from .device import (
    coalesce_free_memory,
    get_allocated_memory,
    get_cuda_compute_capability,
    get_cuda_device_property,
    get_cuda_driver_version,
    get_cuda_version,
    get_cudnn_version,
    get_default_device,
    get_device_count,
    get_max_allocated_memory,
    get_max_reserved_memory,
    get_mem_status_bytes,
    get_reserved_memory,
    get_tensorrt_version,
    is_atlas_available,
    is_cambricon_available,
    is_cuda_available,
    is_rocm_available,
    reset_max_memory_stats,
    set_default_device,
    set_prealloc_config,
)
from .functional.utils import _sync as _full_sync  # noqa: F401
from .logger import (
    enable_debug_log,
    get_logger,
    set_log_file,
    set_log_level,
    set_mgb_log_level,
)

if TYPE_CHECKING:
    from . import autodiff, data, jit, module, optimizer, random, utils
    from .serialization import load, save

__version__ = _mge.__version__
tensor = Tensor  # the class; the module of this name is imported by its path

__all__ = [
    "InternalError",
    "NotAvailableError",
    "Parameter",
    "Tensor",
    "autodiff",
    "coalesce_free_memory",
    "config",
    "core",
    "data",
    "device",
    "enable_debug_log",
    "functional",
    "get_allocated_memory",
    "get_cuda_compute_capability",
    "get_cuda_device_property",
    "get_cuda_driver_version",
    "get_cuda_version",
    "get_cudnn_version",
    "get_default_device",
    "get_device_count",
    "get_logger",
    "get_max_allocated_memory",
    "get_max_reserved_memory",
    "get_mem_status_bytes",
    "get_reserved_memory",
    "get_tensorrt_version",
    "is_atlas_available",
    "is_cambricon_available",
    "is_cuda_available",
    "is_rocm_available",
    "jit",
    "load",
    "module",
    "optimizer",
    "random",
    "reset_max_memory_stats",
    "save",
    "set_default_device",
    "set_log_file",
    "set_log_level",
    "set_mgb_log_level",
    "set_prealloc_config",
    "set_printoptions",
    "tensor",
    "utils",
]


# What is imported when somebody first asks for it: half of the time that all of it would take.
_ROOMS = ("autodiff", "data", "jit", "module", "optimizer", "random", "utils")
_NAMES = {"load": "serialization", "save": "serialization"}


def __getattr__(name: str):
    """The rooms above, and MegEngine's short name for ``utils.comp_graph_tools``."""
    if name in _ROOMS:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _NAMES:
        globals()[name] = getattr(importlib.import_module(f"{__name__}.{_NAMES[name]}"), name)
        return globals()[name]
    if name == "cgtools":
        return importlib.import_module(f"{__name__}.utils.comp_graph_tools")
    return missing(__name__, name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


watch(__name__)
