# SPDX-License-Identifier: Apache-2.0
"""Settings of the process instead of one network."""

from __future__ import annotations

import functools
import operator
import os
import threading
from ctypes import byref, c_size_t, c_ubyte, c_void_p, cast

from . import _callback
from ._config import _bytes_of
from ._layout import MAX_DIM, LiteLayout, lite_dtype_2_numpy  # noqa: F401 - also found here
from ._library import LiteDecryptionFunc, library
from ._numpy import np
from .network import *  # noqa: F403 - scripts find all of them here
from .struct import *  # noqa: F403
from .struct import LiteBackend, LiteDeviceType
from .tensor import LiteTensor, LiteTensorConcat  # noqa: F401

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

__all__ = ["LiteDecryptionFunc", "LiteGlobal", "decryption_func"]


def _key_of(key: Sequence[int]) -> Any:
    # The numbers of an array, not the bytes that it keeps them in.
    values = key if isinstance(key, (bytes, bytearray)) else bytes(map(operator.index, key))
    return (c_ubyte * len(values)).from_buffer_copy(values)


def _path(path: str | os.PathLike[str]) -> bytes:
    return os.fsencode(path)


def _address_of(pointer: Any) -> int | None:
    return pointer if isinstance(pointer, int) else cast(pointer, c_void_p).value


@functools.lru_cache(maxsize=None)
def _bytes_class() -> Any:
    class Bytes(np.ndarray):
        """An array that is true in a condition, whatever its elements are."""

        def __bool__(self) -> bool:
            return True

    return Bytes


def _bytes_at(address: int | None, size: int, is_output: bool = False) -> Any:
    """An array of uint8 over memory of C."""
    memory: Any = (c_ubyte * size).from_address(address) if address and size else b""
    array = np.frombuffer(memory, np.uint8).view(_bytes_class())
    array.flags.writeable = is_output and bool(size)
    return array


def decryption_func(function: Callable[[Any, Any, Any], int]) -> Any:
    """Decorator that converts a function for register_decryption_and_key().

    Args:
        function: gets the encrypted bytes, the key and the output as arrays of uint8. The output is
            None at first: then the function returns how many bytes there will be. The next time it
            fills the output and returns how many bytes there are.
    Example:
        >>> @decryption_func
        ... def xor(in_arr, key_arr, out_arr):
        ...     if not out_arr:
        ...         return in_arr.size
        ...     out_arr[:] = in_arr ^ key_arr[0]
        ...     return out_arr.size
    """
    _callback.check(function, "the decryption function")
    # The output size that the first call on this thread returned.
    thread = threading.local()

    def call_back(
        data: int | None, size: int, key: int | None, key_size: int, output: int | None
    ) -> int:
        try:
            output_bytes = None if output is None else _bytes_at(output, thread.size, True)
            length = function(_bytes_at(data, size), _bytes_at(key, key_size), output_bytes)
            # A negative one would be a large one for C.
            reported = operator.index(length) if length >= 0 else 0
            thread.size = reported
            return reported
        except BaseException as error:  # noqa: BLE001
            _callback.keep(error)
            return 0

    return LiteDecryptionFunc(call_back)


# Alias for functions with an argument named decryption_func.
_as_callback = decryption_func


class LiteGlobal:
    """Settings of the process; all are static."""

    @staticmethod
    def register_decryption_and_key(
        decryption_name: str | bytes, decryption_func: Any, key: Sequence[int]
    ) -> None:
        """Add a cipher that models may name.

        Args:
            decryption_name: its name, for LiteConfig.bare_model_cryption_name and packed models.
            decryption_func: a function with the decorator of that name.
            key: bytes, or numbers from 0 to 255.
        Raises:
            RuntimeError: there is a cipher of that name.
            TypeError: ``decryption_func`` cannot be called.
        """
        function = decryption_func
        if not isinstance(function, LiteDecryptionFunc):
            function = _as_callback(function)
        values = _key_of(key)
        name = _bytes_of(decryption_name)
        library.LITE_register_decryption_and_key(name, function, values, len(values))
        _callback.forever(function)

    @staticmethod
    def update_decryption_key(decryption_name: str | bytes, key: Sequence[int]) -> None:
        """Give a cipher another key.

        Args:
            decryption_name: ``"AES_default"``, ``"RC4_default"``,
                ``"SIMPLE_FAST_RC4_default"`` or one that was registered.
            key: bytes, or numbers from 0 to 255; 32 for AES, 16 for the other two.
        Raises:
            RuntimeError: there is no such cipher, or the key has the wrong length.
        """
        values = _key_of(key)
        name = _bytes_of(decryption_name)
        library.LITE_update_decryption_or_key(name, LiteDecryptionFunc(), values, len(values))

    @staticmethod
    def set_loader_lib_path(path: str | os.PathLike[str]) -> None:
        """Load a library of operators.

        Args:
            path: path of the shared library.
        Raises:
            RuntimeError: it cannot be opened, or is not such a library.
        """
        library.LITE_set_loader_lib_path(_path(path))

    @staticmethod
    def set_persistent_cache(path: str | os.PathLike[str], always_sync: bool = False) -> None:
        """Use and extend a file with measured times of algorithms, for networks loaded from now on.

        Args:
            path: of the file, which is made if it is not there.
            always_sync: each measurement is in the file before the next one begins.
        """
        library.LITE_set_persistent_cache(_path(path), int(always_sync))

    @staticmethod
    def dump_persistent_cache(path: str | os.PathLike[str]) -> None:
        """Write the measured times to a file; without any, the file is valid and empty.

        Args:
            path: of the file.
        """
        library.LITE_dump_persistent_cache(_path(path))

    @staticmethod
    def set_tensorrt_cache(path: str | os.PathLike[str]) -> None:
        """Set the file for the engines that TensorRT builds.

        Args:
            path: path of the file.
        Raises:
            RuntimeError: this build has no TensorRT.
        """
        library.LITE_set_tensor_rt_cache(_path(path))

    @staticmethod
    def dump_tensorrt_cache() -> None:
        """Write the engines that TensorRT built.

        Raises:
            RuntimeError: this build has no TensorRT.
        """
        library.LITE_dump_tensor_rt_cache()

    @staticmethod
    def get_device_count(device_type: LiteDeviceType) -> int:
        """Return how many devices of a kind there are.

        Args:
            device_type: the kind.
        Example:
            >>> LiteGlobal.get_device_count(LiteDeviceType.LITE_CPU) > 0
            True
        """
        count = c_size_t()
        library.LITE_get_device_count(device_type, byref(count))
        return count.value

    @staticmethod
    def try_coalesce_all_free_memory() -> None:
        """Give memory that is cached and not in use back to the system."""
        library.LITE_try_coalesce_all_free_memory()

    @staticmethod
    def register_memory_pair(
        vir_ptr: Any,
        phy_ptr: Any,
        length: int,
        device: LiteDeviceType,
        backend: LiteBackend = LiteBackend.LITE_DEFAULT,
    ) -> None:
        """Register the physical address of virtual memory on a device.

        Args:
            vir_ptr: address of the piece; a number or a pointer of ctypes.
            phy_ptr: its physical address.
            length: bytes.
            device: kind of the device.
            backend: a LiteBackend.
        Raises:
            RuntimeError: a part of it is registered.
        """
        library.LITE_register_memory_pair(
            _address_of(vir_ptr), _address_of(phy_ptr), length, device, backend
        )

    @staticmethod
    def clear_memory_pair(
        vir_ptr: Any,
        phy_ptr: Any,
        device: LiteDeviceType,
        backend: LiteBackend = LiteBackend.LITE_DEFAULT,
    ) -> None:
        """Undo register_memory_pair().

        Args:
            vir_ptr: virtual address of the memory.
            phy_ptr: its physical address.
            device: kind of the device.
            backend: a LiteBackend.
        Raises:
            RuntimeError: there is no such pair.
        """
        library.LITE_clear_memory_pair(_address_of(vir_ptr), _address_of(phy_ptr), device, backend)

    @staticmethod
    def lookup_physic_ptr(
        vir_ptr: Any,
        device: LiteDeviceType,
        backend: LiteBackend = LiteBackend.LITE_DEFAULT,
    ) -> c_void_p:
        """Return the physical address of memory in a registered piece.

        Args:
            vir_ptr: an address in the piece.
            device: kind of the device.
            backend: a LiteBackend.
        Raises:
            RuntimeError: no piece has the address.
        Example:
            >>> cpu = LiteDeviceType.LITE_CPU
            >>> LiteGlobal.register_memory_pair(4096, 81920, 256, cpu)
            >>> LiteGlobal.lookup_physic_ptr(4096 + 8, cpu)
            c_void_p(81928)
            >>> LiteGlobal.clear_memory_pair(4096, 81920, cpu)
        """
        found = c_void_p()
        library.LITE_lookup_physic_ptr(_address_of(vir_ptr), byref(found), device, backend)
        return found
