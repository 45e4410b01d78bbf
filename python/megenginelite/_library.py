# SPDX-License-Identifier: Apache-2.0
"""The library and its functions.

``library.LITE_forward(network)`` calls the C function; a failure raises RuntimeError with the
library's message. Other threads run meanwhile.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    CFUNCTYPE,
    POINTER,
    c_char_p,
    c_int,
    c_size_t,
    c_ubyte,
    c_uint,
    c_void_p,
)

from ._check import Int, Struct
from ._config import LiteConfig, LiteExtraConfig, LiteIO, _LiteNetworkIO
from ._layout import LiteLayout

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# The library for deployment, which the wheel mge-engine-lite contains, and megengine's.
_SONAMES = ("liblite_shared.so.0", "libmge.so.0")
_VARIABLE = "LITE_LIB_PATH"


class _LiteTensorDesc(Struct):
    """Description of a new tensor."""

    _fields_ = [
        ("is_pinned_host", c_int),
        ("layout", LiteLayout),
        ("device_type", c_int),
        ("device_id", c_int),
    ]


# Callbacks; the numbers that they return are looked at for the start callback and the parser only.
LiteAllocate = CFUNCTYPE(c_void_p, c_int, c_int, c_size_t, c_size_t)
LiteFree = CFUNCTYPE(None, c_int, c_int, c_void_p)
LiteThreadAffinityCallback = CFUNCTYPE(c_int, c_int)
LiteAsyncCallback = CFUNCTYPE(c_int)
LiteAsyncCallbackWithData = CFUNCTYPE(c_int, c_void_p)
LiteStartCallback = CFUNCTYPE(c_int, POINTER(LiteIO), POINTER(c_void_p), c_size_t)
LiteStartCallbackWithData = CFUNCTYPE(c_int, POINTER(LiteIO), POINTER(c_void_p), c_size_t, c_void_p)
LiteFinishCallback = LiteStartCallback
LiteFinishCallbackWithData = LiteStartCallbackWithData
LiteDecryptionFunc = CFUNCTYPE(c_size_t, c_void_p, c_size_t, c_void_p, c_size_t, c_void_p)
LiteParseInfoFunc = CFUNCTYPE(
    c_int,
    c_void_p,
    c_size_t,
    c_char_p,
    POINTER(LiteConfig),
    POINTER(_LiteNetworkIO),
    POINTER(c_int),
    POINTER(c_size_t),
    POINTER(c_int),
    POINTER(c_int),
)

_tensor = _network = c_void_p
_enum = c_int
_int_out = POINTER(c_int)
_size_out = POINTER(c_size_t)
_pointer_out = POINTER(c_void_p)
_text_out = POINTER(c_char_p)

# The arguments of each function of lite-c/*.h that returns whether it failed. A test compares.
ARGUMENTS: dict[str, tuple[Any, ...]] = {
    # global_c.h
    "LITE_get_version": (_int_out, _int_out, _int_out),
    "LITE_get_device_count": (_enum, _size_out),
    "LITE_try_coalesce_all_free_memory": (),
    "LITE_register_decryption_and_key": (c_char_p, LiteDecryptionFunc, POINTER(c_ubyte), c_size_t),
    "LITE_update_decryption_or_key": (c_char_p, LiteDecryptionFunc, POINTER(c_ubyte), c_size_t),
    "LITE_register_parse_info_func": (c_char_p, LiteParseInfoFunc),
    "LITE_set_loader_lib_path": (c_char_p,),
    "LITE_set_persistent_cache": (c_char_p, c_int),
    "LITE_dump_persistent_cache": (c_char_p,),
    "LITE_set_tensor_rt_cache": (c_char_p,),
    "LITE_dump_tensor_rt_cache": (),
    "LITE_set_log_level": (_enum,),
    "LITE_get_log_level": (_int_out,),
    "LITE_register_memory_pair": (c_void_p, c_void_p, c_size_t, _enum, _enum),
    "LITE_clear_memory_pair": (c_void_p, c_void_p, _enum, _enum),
    "LITE_lookup_physic_ptr": (c_void_p, _pointer_out, _enum, _enum),
    # tensor_c.h
    "LITE_make_tensor": (_LiteTensorDesc, _pointer_out),
    "LITE_destroy_tensor": (_tensor,),
    "LITE_set_tensor_layout": (_tensor, LiteLayout),
    "LITE_reset_tensor_memory": (_tensor, c_void_p, c_size_t),
    "LITE_reset_tensor": (_tensor, LiteLayout, c_void_p),
    "LITE_tensor_reshape": (_tensor, POINTER(c_int), c_int),
    "LITE_tensor_slice": (_tensor, _size_out, _size_out, _size_out, c_size_t, _pointer_out),
    "LITE_tensor_fill_zero": (_tensor,),
    "LITE_tensor_copy": (_tensor, _tensor),
    "LITE_tensor_share_memory_with": (_tensor, _tensor),
    "LITE_tensor_concat": (_pointer_out, c_int, c_int, _enum, c_int, _pointer_out),
    "LITE_get_tensor_memory": (_tensor, _pointer_out),
    "LITE_get_tensor_memory_with_index": (_tensor, _size_out, c_size_t, _pointer_out),
    "LITE_get_tensor_total_size_in_byte": (_tensor, _size_out),
    "LITE_get_tensor_layout": (_tensor, POINTER(LiteLayout)),
    "LITE_get_tensor_device_type": (_tensor, _int_out),
    "LITE_get_tensor_device_id": (_tensor, _int_out),
    "LITE_is_pinned_host": (_tensor, _int_out),
    "LITE_is_memory_continue": (_tensor, _int_out),
    # network_c.h
    "LITE_make_default_network": (_pointer_out,),
    "LITE_make_network": (_pointer_out, LiteConfig, _LiteNetworkIO),
    "LITE_make_network_config": (_pointer_out, LiteConfig),
    "LITE_destroy_network": (_network,),
    "LITE_load_model_from_mem": (_network, c_void_p, c_size_t),
    "LITE_load_model_from_path": (_network, c_char_p),
    "LITE_compute_only_configured_output": (_network,),
    "LITE_shared_weight_with_network": (_network, _network),
    "LITE_forward": (_network,),
    "LITE_wait": (_network,),
    "LITE_get_io_tensor": (_network, c_char_p, _enum, _pointer_out),
    "LITE_get_discrete_tensor": (_network, c_char_p, c_size_t, _enum, _pointer_out),
    "LITE_get_input_name": (_network, c_size_t, _text_out),
    "LITE_get_input_dimension_name": (_network, c_size_t, c_size_t, _text_out),
    "LITE_get_output_name": (_network, c_size_t, _text_out),
    "LITE_get_all_input_name": (_network, _size_out, _text_out),
    "LITE_get_all_output_name": (_network, _size_out, _text_out),
    "LITE_set_device_id": (_network, c_int),
    "LITE_get_device_id": (_network, _int_out),
    "LITE_set_stream_id": (_network, c_int),
    "LITE_get_stream_id": (_network, _int_out),
    "LITE_get_device_type": (_network, _int_out),
    "LITE_get_model_extra_info": (_network, _text_out, _int_out),
    "LITE_set_cpu_inplace_mode": (_network,),
    "LITE_is_cpu_inplace_mode": (_network, _int_out),
    "LITE_set_cpu_threads_number": (_network, c_size_t),
    "LITE_get_cpu_threads_number": (_network, _size_out),
    "LITE_set_runtime_thread_affinity": (_network, LiteThreadAffinityCallback),
    "LITE_use_tensorrt": (_network,),
    "LITE_set_network_algo_policy": (_network, _enum),
    "LITE_set_network_algo_fastrun_config": (_network, c_uint, c_int),
    "LITE_set_network_algo_workspace_limit": (_network, c_size_t),
    "LITE_set_memory_allocator": (_network, LiteAllocate, LiteFree),
    "LITE_share_runtime_memroy": (_network, _network),
    "LITE_share_runtime_memory": (_network, _network),
    "LITE_extra_configure": (_network, LiteExtraConfig),
    "LITE_set_async_callback": (_network, LiteAsyncCallback),
    "LITE_set_async_callback_with_userdata": (_network, LiteAsyncCallbackWithData, c_void_p),
    "LITE_set_start_callback": (_network, LiteStartCallback),
    "LITE_set_start_callback_with_userdata": (_network, LiteStartCallbackWithData, c_void_p),
    "LITE_set_finish_callback": (_network, LiteFinishCallback),
    "LITE_set_finish_callback_with_userdata": (_network, LiteFinishCallbackWithData, c_void_p),
    "LITE_enable_profile_performance": (_network, c_char_p),
    "LITE_enable_io_txt_dump": (_network, c_char_p),
    "LITE_enable_io_bin_dump": (_network, c_char_p),
    "LITE_get_static_memory_alloc_info": (_network, c_char_p),
    "LITE_enable_global_layout_transform": (_network,),
    "LITE_dump_layout_transform_model": (_network, c_char_p),
    "LITE_get_model_io_info_by_path": (c_char_p, LiteConfig, POINTER(_LiteNetworkIO)),
    "LITE_get_model_io_info_by_memory": (c_void_p, c_size_t, LiteConfig, POINTER(_LiteNetworkIO)),
}


def _places() -> Iterator[str]:
    """Candidate paths of the library when no path is configured."""
    package = os.path.dirname(os.path.abspath(__file__))
    around = os.path.dirname(package)
    yield package
    yield os.path.join(package, "libs")
    yield os.path.join(around, "megengine", "lib")  # the wheel mge-engine
    yield os.path.join(os.path.dirname(around), "lib")  # a build tree


def _open() -> ctypes.CDLL:
    given = os.environ.get(_VARIABLE)
    if given:
        found = given
    else:
        files = [os.path.join(place, name) for place in _places() for name in _SONAMES]
        found = next(filter(os.path.isfile, files), _SONAMES[-1])  # by name: where the system looks
    try:
        opened = ctypes.CDLL(found)
        opened.LITE_get_version  # noqa: B018
        return opened
    except AttributeError:
        reason = f"{found} has no interface of MegEngine Lite (LITE_get_version)"
    except OSError as error:
        reason = str(error)
    if given:
        advice = f"{_VARIABLE} names the library to open; without it the package's own is taken."
    else:
        advice = (
            f"Looked for {' and '.join(_SONAMES)} in {', '.join(_places())} and where the system "
            f"looks. Install mge-engine-lite or mge-engine, put <build tree>/python on "
            f"PYTHONPATH, or name the library in {_VARIABLE}."
        )
    raise ImportError(f"megenginelite cannot open its library: {reason}. {advice}")


class Library:
    """The functions of ARGUMENTS as attributes."""

    def __init__(self, opened: ctypes.CDLL) -> None:
        self._opened = opened
        self._last_error = opened.LITE_get_last_error
        self._last_error.restype = c_char_p

    def _check(self, failed: int, function: Any, arguments: Any) -> int:
        if failed:
            message = (self._last_error() or b"").decode(errors="replace")
            prefix = "Error: "
            raise RuntimeError(message[len(prefix) :] if message.startswith(prefix) else message)
        return failed

    # A function is looked up when it is first called: most programs need few.
    def __getattr__(self, name: str) -> Any:
        if name not in ARGUMENTS:
            raise AttributeError(f"the C interface has no function {name!r}")
        function = getattr(self._opened, name)
        function.argtypes = [Int if kind is c_int else kind for kind in ARGUMENTS[name]]
        function.errcheck = self._check
        setattr(self, name, function)
        return function


library = Library(_open())
