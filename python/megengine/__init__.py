# SPDX-License-Identifier: Apache-2.0
"""A deep-learning engine: tensors, networks, gradients, optimizers, and dumping of models.

Example:
    >>> import megengine as mge
    >>> mge.Tensor([1.0, 2.0]) * 2
    Tensor([2. 4.], device=xpux:0)
"""

from atexit import register as _atexit  # noqa: F401
from sys import exit as _exit  # noqa: F401
from typing import TYPE_CHECKING

from . import _other_engine  # noqa: F401

# isort: split
# Load the library.
from . import _environment, _mge  # noqa: F401
from ._mge import InternalError
from .tensor import Parameter, Tensor
from .version import __version__, engine_version  # noqa: F401

# isort: split
# Needs Tensor.
from . import config, core, device, functional
from .compat.missing_names import watch
from .core.lazy_import import lazy_getattr
from .core.not_available import NotAvailableError
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
    from . import (  # noqa: F401
        autodiff,
        data,
        hub,
        jit,
        module,
        optimizer,
        quantization,
        random,
        serialization,
        traced_module,
        utils,
        version,
    )
    from .serialization import load, save

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
    "engine_version",
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


# Names that are imported on first use: half of the package's import time.
_LATER = {
    "autodiff": "autodiff",
    "cgtools": "utils.comp_graph_tools",
    "data": "data",
    "hub": "hub",
    "jit": "jit",
    "load": "serialization:load",
    "module": "module",
    "optimizer": "optimizer",
    "quantization": "quantization",
    "random": "random",
    "save": "serialization:save",
    "serialization": "serialization",
    "traced_module": "traced_module",
    "utils": "utils",
    "version": "version",
}
__getattr__ = lazy_getattr(__name__, _LATER)

watch(__name__)
