# SPDX-License-Identifier: Apache-2.0
"""Devices and their memory.

Names: ``"xpux"`` (the default device), ``"cpu0"``, ``"cpu:default"``, ``"multithread4:0"``,
``"multithread:default:4"`` (its number of threads is ignored), ``"gpu0"``.
"""

import contextlib
import enum
import re
from typing import NamedTuple

from . import _mge
from ._mge import Device as CompNode  # noqa: F401

# The default device of all threads as it is called, and as ``set_default_device`` was given it.
_default_names = ("", "")

_KINDS = ("cpu", "gpu", "cuda", "rocm", "cambricon", "atlas", "multithread", "xpu")


def get_device_count(device_type: str) -> int:
    """Number of devices of a type.

    Args:
        device_type: ``"cpu"``, ``"gpu"`` or ``"xpu"`` (the type of the default device).
    Returns:
        Number of devices.
    Raises:
        AssertionError: there is no such type.
    Example:
        >>> get_device_count("cpu") > 0
        True
    """
    kind = str(device_type).lower()
    assert kind in _KINDS, (
        f"[get_device_count] device_type must be in {_KINDS}, got {device_type!r}"
    )
    if kind in ("gpu", "cuda"):
        return _mge.gpus()[0]
    return _mge.usable_cpus() if kind in ("cpu", "xpu", "multithread") else 0


def is_cuda_available() -> bool:
    """Whether there is a CUDA device.

    Example:
        >>> isinstance(is_cuda_available(), bool)
        True
    """
    return get_device_count("gpu") > 0


def is_cambricon_available() -> bool:
    """Whether there is a Cambricon device.

    Example:
        >>> is_cambricon_available()
        False
    """
    return get_device_count("cambricon") > 0


def is_atlas_available() -> bool:
    """Whether there is an Atlas device.

    Example:
        >>> is_atlas_available()
        False
    """
    return get_device_count("atlas") > 0


def is_rocm_available() -> bool:
    """Whether there is a ROCm device.

    Example:
        >>> is_rocm_available()
        False
    """
    return get_device_count("rocm") > 0


def set_default_device(device: str = "xpux") -> None:
    """Set where new Tensors live, in all threads without a ``default_device`` of their own.

    Args:
        device: name of the device.
    Raises:
        AssertionError: ``device`` is not a valid name of a device.
        RuntimeError: there is no such device.
    Example:
        >>> set_default_device("cpu0")
        >>> set_default_device("xpux")
    """
    global _default_names
    try:
        _mge.set_default_device(device)
        _default_names = (str(_mge.Device(device)), str(device))
    except (RuntimeError, TypeError) as error:
        if not re.fullmatch(rf"xpux|({'|'.join(_KINDS)})\d+(:\d+)?", str(device)):
            raise AssertionError(f"[set_default_device] {error}") from error
        raise


class default_device(contextlib.ContextDecorator):
    """Default device of this thread's new Tensors, for a block or a function.

    Blocks nest; other threads and Tensors that exist already are left alone.

    Args:
        device: name of the device.
    Raises:
        RuntimeError: there is no such device.
    Example:
        >>> with default_device("cpu1"):
        ...     get_default_device()
        'cpu1'
    """

    def __init__(self, device: str) -> None:
        self._device = str(_mge.Device(device))
        self._outer: list[str | None] = []

    def __enter__(self) -> "default_device":
        self._outer.append(_mge.exchange_thread_device(self._device))
        return self

    def __exit__(self, *_: object) -> None:
        _mge.exchange_thread_device(self._outer.pop())


def get_default_device() -> str:
    """Name of the device where new Tensors of this thread live.

    Returns:
        The argument of ``set_default_device``; without one, the device's name without the queue.
    Example:
        >>> get_default_device()
        'xpux'
    """
    name, given = _mge.get_default_device(), _default_names
    return given[1] if name == given[0] else name.removesuffix(":0")


def what_is_xpu() -> str:
    """Kind of the default device: ``"cpu"`` or ``"gpu"``.

    Example:
        >>> what_is_xpu()
        'cpu'
    """
    return "gpu" if get_default_device().startswith("gpu") else "cpu"


def get_allocated_memory(device: str | None = None) -> int:
    """Bytes in use by Tensors on a device (None for the default one).

    Example:
        >>> x = F.ones(1000)
        >>> get_allocated_memory("cpu0") >= 4000
        True
    """
    return _mge.memory_stats(device)["allocated"]


def get_reserved_memory(device: str | None = None) -> int:
    """Bytes held from the system for a device, unused ones included.

    Example:
        >>> x = F.ones(1000)
        >>> get_reserved_memory("cpu0") >= 4000
        True
    """
    return _mge.memory_stats(device)["reserved"]


def get_max_allocated_memory(device: str | None = None) -> int:
    """Largest ``get_allocated_memory`` since the last ``reset_max_memory_stats``.

    Example:
        >>> x = F.ones(1000)
        >>> get_max_allocated_memory("cpu0") >= 4000
        True
    """
    return _mge.memory_stats(device)["peak"]


def get_max_reserved_memory(device: str | None = None) -> int:
    """Largest ``get_reserved_memory`` since the last ``reset_max_memory_stats``.

    Example:
        >>> x = F.ones(1000)
        >>> get_max_reserved_memory("cpu0") >= 4000
        True
    """
    return _mge.memory_stats(device)["peak_reserved"]


def reset_max_memory_stats(device: str | None = None) -> None:
    """Start the largest figures again.

    Example:
        >>> reset_max_memory_stats("cpu0")
        >>> get_max_allocated_memory("cpu0") == get_allocated_memory("cpu0")
        True
    """
    _mge.reset_peak_memory(device)


def get_mem_status_bytes(device: str | None = None) -> tuple[int, int]:
    """Total and free bytes of a device's memory; in a container, of the container's.

    Example:
        >>> total, free = get_mem_status_bytes()
        >>> total >= free > 0
        True
    """
    return _mge.memory_status(device)


def coalesce_free_memory() -> None:
    """Return unused memory to the system; for a GPU also memory that other processes have released.

    Example:
        >>> coalesce_free_memory()
    """
    _mge.collect_loans()
    _mge.release_cached_memory(None)


def set_prealloc_config(
    alignment: int = 1,
    min_req: int = 32 * 1024 * 1024,
    max_overhead: int = 0,
    growth_factor: float = 2.0,
    device_type="cuda",
) -> None:
    """Set how CUDA memory is preallocated. No effect: memory is allocated on demand and cached.

    Args:
        alignment: alignment of every block, in bytes.
        min_req: smallest request to the driver, in bytes.
        max_overhead: largest unused part of a request, in bytes.
        growth_factor: ratio of a request to the previous one.
        device_type: type of device.
    Example:
        >>> set_prealloc_config(min_req=64 * 1024 * 1024)
    """


def get_cuda_compute_capability(device: int, device_type="cuda") -> int:
    """The compute capability of a CUDA device, ten times its version.

    Args:
        device: number of the device.
        device_type: type of device.
    Raises:
        RuntimeError: there is no such device.
    Example:
        >>> if is_cuda_available():
        ...     assert get_cuda_compute_capability(0) >= 50
    """
    return _mge.compute_capability(_gpu(device, device_type))


class DeviceType(enum.IntEnum):
    """Kinds of devices, with MegEngine's numbers.

    Example:
        >>> DeviceType.CUDA.name
        'CUDA'
    """

    UNSPEC = 0
    CUDA = 1
    CPU = 2
    CAMBRICON = 3
    ROCM = 8
    ATLAS = 9
    MULTITHREAD = 11
    MAX_DEVICE_ID = 12


class DeviceProperties(NamedTuple):
    """Properties of a GPU: name, bytes of memory, and the two parts of its compute capability."""

    name: str
    total_memory: int
    major: int
    minor: int


def get_cuda_device_property(device: int, device_type=DeviceType.CUDA) -> DeviceProperties:
    """Return the properties of a CUDA device.

    Args:
        device: number of the device.
        device_type: type of device, ``"cuda"`` or ``DeviceType.CUDA``.
    Raises:
        RuntimeError: there is no such device, or it has another type.
    Example:
        >>> if is_cuda_available():
        ...     assert get_cuda_device_property(0).total_memory > 0
    """
    name = _gpu(device, device_type)
    capability = _mge.compute_capability(name)
    return DeviceProperties(
        _mge.model(name), _mge.memory_status(name)[0], capability // 10, capability % 10
    )


def _gpu(device: int, device_type) -> str:
    if str(getattr(device_type, "name", device_type)).lower() not in ("cuda", "gpu"):
        raise RuntimeError(f"[device] only CUDA devices are supported, got {device_type!r}")
    return f"gpu{int(device)}"


def get_cuda_version() -> int:
    """The version of CUDA with which this build was made: 1000 times the major one and ten times
    the minor one; 0 for a build without CUDA.

    Example:
        >>> get_cuda_version() == 0 or get_cuda_version() >= 12000
        True
    """
    return _mge.cuda_version("cuda")


def get_cuda_driver_version() -> int:
    """The newest CUDA version that the driver supports, in the format of ``get_cuda_version``; 0
    without a driver.

    Example:
        >>> get_cuda_driver_version() > 0 or not is_cuda_available()
        True
    """
    return _mge.cuda_version("driver")


def get_cudnn_version() -> int:
    """The version of the cuDNN that is found, as cuDNN counts: 90100 for 9.1.0; 0 without one.

    Example:
        >>> get_cudnn_version() >= 0
        True
    """
    return _mge.cuda_version("cudnn")


def get_tensorrt_version() -> int:
    """0: this engine does not use TensorRT.

    Example:
        >>> get_tensorrt_version()
        0
    """
    return 0
