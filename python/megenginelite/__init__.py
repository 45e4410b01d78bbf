# SPDX-License-Identifier: Apache-2.0
"""Networks that load a model and run it; MegEngine Lite's interface.

It needs neither megengine nor NumPy to be imported; arrays of NumPy come in where they are used.

Example:
    >>> network = LiteNetwork()
    >>> network.load(model_path)
    >>> network.get_all_input_name()
    ['data']
"""

from ._layout import MAX_DIM, LiteLayout, lite_dtype_2_numpy
from .base import get_log_level, set_log_level, version
from .global_setting import LiteDecryptionFunc, LiteGlobal, decryption_func
from .network import (
    LiteAsyncCallback,
    LiteConfig,
    LiteExtraConfig,
    LiteFinishCallback,
    LiteIO,
    LiteNetwork,
    LiteNetworkIO,
    LiteOptions,
    LiteStartCallback,
    get_model_io_info,
)
from .struct import (
    LiteAlgoSelectStrategy,
    LiteBackend,
    LiteDataType,
    LiteDeviceType,
    LiteIOType,
    LiteLogLevel,
    LiteTensorPhase,
)
from .tensor import LiteTensor, LiteTensorConcat
from .utils import TensorBatchCollector

__version__ = version

__all__ = [
    "MAX_DIM",
    "LiteAlgoSelectStrategy",
    "LiteAsyncCallback",
    "LiteBackend",
    "LiteConfig",
    "LiteDataType",
    "LiteDecryptionFunc",
    "LiteDeviceType",
    "LiteExtraConfig",
    "LiteFinishCallback",
    "LiteGlobal",
    "LiteIO",
    "LiteIOType",
    "LiteLayout",
    "LiteLogLevel",
    "LiteNetwork",
    "LiteNetworkIO",
    "LiteOptions",
    "LiteStartCallback",
    "LiteTensor",
    "LiteTensorConcat",
    "LiteTensorPhase",
    "TensorBatchCollector",
    "decryption_func",
    "get_log_level",
    "get_model_io_info",
    "lite_dtype_2_numpy",
    "set_log_level",
    "version",
]
