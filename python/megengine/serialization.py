# SPDX-License-Identifier: Apache-2.0
"""Objects with Tensors in them, to files and back: by pickle, or tensors alone as safetensors."""

import contextlib
import os
import pickle
import threading
import traceback
import warnings
from collections.abc import Callable
from typing import Any

from . import _mge
from .device import get_default_device
from .files import safetensors_files, torch_files
from .files.graph_records import record_class
from .files.opening import open_input, rest_of, written_atomically
from .files.plain_arrays import MEGENGINE_DTYPES
from .files.plain_objects import is_plain
from .files.plain_pickle import load_plain
from .tensor import Parameter, Tensor, restoring


class DamagedFileError(pickle.UnpicklingError, EOFError):
    """A file is truncated, corrupt, or has another format.

    Example:
        >>> import io
        >>> load(io.BytesIO(b"no model"))  # doctest: +IGNORE_EXCEPTION_DETAIL
        Traceback (most recent call last):
        DamagedFileError: the file is damaged
    """


class MissingClassError(pickle.UnpicklingError, AttributeError):
    """A file contains an object of a class that its module does not define here."""


class MissingModuleError(pickle.UnpicklingError, ModuleNotFoundError):
    """A file contains an object of a class whose module is not available."""


def save(
    obj,
    f,
    pickle_module=pickle,
    pickle_protocol: int = pickle.DEFAULT_PROTOCOL,
    format: str = "pickle",
) -> None:
    """Write an object to a file.

    Args:
        obj: anything that can be pickled; Tensors are stored with dtype and device. For
            ``"safetensors"`` a dict of Tensors and arrays by their names, such as a state dict.
        f: path, or a binary stream.
        pickle_module: the module that pickles.
        pickle_protocol: its protocol.
        format: ``"pickle"``, or ``"safetensors"``, which many programs read and which contains no
            code.
    Raises:
        OSError: the file cannot be written.
        TypeError: safetensors cannot hold the object.
        ValueError: there is no such format.
    Example:
        >>> import io, megengine as mge
        >>> file = io.BytesIO()
        >>> mge.save({"weight": Tensor([1.0, 2.0])}, file, format="safetensors")
        >>> dict(mge.load(io.BytesIO(file.getvalue())))
        {'weight': Tensor([1. 2.], device=xpux:0)}
    """
    if format not in ("pickle", "safetensors"):
        raise ValueError(f"[save] format is 'pickle' or 'safetensors', got {format!r}")
    with contextlib.ExitStack() as opened:
        is_path = isinstance(f, (str, os.PathLike))
        stream = opened.enter_context(written_atomically(f)) if is_path else f
        if format == "safetensors":
            safetensors_files.write(obj, stream)
        else:
            pickle_module.dump(obj, stream, pickle_protocol)


def _present(device: str) -> str:
    """The device for "xpux" of a file: the number on the default GPU, else the CPU."""
    default = get_default_device()
    is_gpu = not default.startswith(("cpu", "multithread", "xpu"))
    return default if is_gpu and device.startswith("xpux") else device


class _Thread(threading.local):
    place: Callable | None = None  # map of devices for loaded Tensors; None: none is loading


_thread = _Thread()
_lock = threading.Lock()
_loads = 0  # under way, in all threads


def _mapped(device: str) -> str:
    return device if _thread.place is None else _present(_thread.place(device))


def _count_loads(change: int) -> None:
    global _loads
    with _lock:
        _loads += change
        # All threads share one callback; threads that load nothing keep their devices.
        Tensor.dmap_callback = staticmethod(_mapped) if _loads else None


class _DeviceMap:
    """Maps the devices of Tensors that this thread loads."""

    def __init__(self, map_location):
        if isinstance(map_location, str):
            self.place: Callable = lambda device: map_location
        elif isinstance(map_location, dict):
            # Keys are the first four characters: "cpu0", "gpu1".
            table = {key[:4]: value for key, value in map_location.items()}
            self.place = lambda device: table.get(device[:4], device)
        elif callable(map_location):
            self.place = map_location
        elif map_location is None:
            self.place = lambda device: device
        else:
            raise TypeError(
                "[load] map_location is None, a device, a dict or a function,"
                f" got {type(map_location).__name__}"
            )

    def __enter__(self) -> None:
        self._before, _thread.place = _thread.place, self.place
        _count_loads(1)

    def __exit__(self, *exc) -> None:
        _count_loads(-1)
        _thread.place = self._before


_TENSORS = {("megengine.tensor", cls.__name__): restoring(cls) for cls in (Tensor, Parameter)}


class _OtherDtype(Exception):
    """A file names a dtype as MegEngine does, which NumPy would give the state that is there."""


class _Watching:
    """Common part of the unpicklers: one warning if a file names more than data."""

    _has_warned = False
    _frames = 0  # stack frames of pickle between the call of load() and find_class

    def find_class(self, module: str, name: str):
        if not self._has_warned and not is_plain(module, name):
            self._has_warned = True
            warnings.warn(
                f"[load] the file names {module}.{name}: loading it runs what it names. Load only"
                " files that you trust this way, or give weights_only=True",
                stacklevel=5 + self._frames,
            )
        if (module, name) in _TENSORS:
            return _TENSORS[module, name]
        if (module, name) in MEGENGINE_DTYPES:
            return self._dtype(MEGENGINE_DTYPES[module, name])
        # Objects of MegEngine's traced modules; files of this package contain none.
        return record_class(module, name) or self._found(module, name)

    def _found(self, module: str, name: str):
        advice = "import what defines it under that name, or save and load a state dict"
        try:
            return super().find_class(module, name)
        except ModuleNotFoundError as error:
            raise MissingModuleError(
                f"[load] the file needs {module}.{name}, and {error}; {advice}"
            ) from error
        except AttributeError as error:
            raise MissingClassError(
                f"[load] the file needs {name}, which module {module} does not have; {advice}"
            ) from error


class _WatchingUnpickler(_Watching, pickle.Unpickler):
    """Pickle's own."""

    def _dtype(self, dtype):
        raise _OtherDtype


class _PatientUnpickler(_Watching, pickle._Unpickler):
    """The same in Python; MegEngine's dtypes map to those of this package."""

    dispatch = dict(pickle._Unpickler.dispatch)
    _frames = 2

    def _dtype(self, dtype):
        return dtype

    def load_build(self) -> None:
        if any(self.stack[-2] is dtype for dtype in MEGENGINE_DTYPES.values()):
            self.stack.pop()
        else:
            super().load_build()

    dispatch[pickle.BUILD[0]] = load_build


# First bytes of files of other programs.
_FOREIGN = {
    b"PK\x03\x04": "a zip archive, as NumPy writes them (.npz), or a checkpoint that is cut off",
    b"\x93NUMPY": "an array of NumPy's (.npy)",
    b"\x89HDF": "an HDF5 file",
    b"\x1f\x8b": "compressed by gzip",
}


def _damage(start: bytes, error: Exception) -> DamagedFileError:
    kind = next((kind for magic, kind in _FOREIGN.items() if start.startswith(magic)), None)
    if _mge.starts_like_model(start):
        kind = (
            "a model, as the dump of a traced function writes it, which"
            " megengine.utils.network.Network.load and megenginelite read"
        )
    if kind:
        return DamagedFileError(f"[load] the file is {kind}, nothing that megengine.save wrote")
    what = str(error) or type(error).__name__
    return DamagedFileError(
        f"[load] the file is damaged, or was not written by megengine.save: {what}"
    )


_READERS = (__file__, pickle.__file__)


def _unpickle(unpickler: _Watching, start: bytes):
    """Return the loaded value. Errors of functions that the file names are passed on; any other
    error means a damaged file, such as a length that exceeds the memory.
    """
    try:
        return unpickler.load()
    except (_OtherDtype, OSError, Warning, MissingClassError, MissingModuleError):
        raise
    except Exception as error:
        frames = traceback.walk_tb(error.__traceback__)
        if any(frame.f_code.co_filename not in _READERS for frame, _ in frames):
            raise
        raise _damage(start, error) from error


def _load_any(stream, pickle_module, start: bytes):
    if pickle_module is not pickle:
        return pickle_module.load(stream)
    if not getattr(stream, "seekable", bool)():
        return _unpickle(_PatientUnpickler(stream), start)
    place = stream.tell()
    quick = _WatchingUnpickler(stream)
    try:
        return _unpickle(quick, start)
    except _OtherDtype:
        stream.seek(place)
        patient = _PatientUnpickler(stream)
        patient._has_warned = quick._has_warned
        return _unpickle(patient, start)


def _load_plain(stream, label: str):
    content, place = rest_of(stream)
    found, count = load_plain(content, label)
    # Leaves the stream positioned after the object, as pickle does.
    if stream.seekable():
        stream.seek(place + count)
    return found


def _first_bytes(stream) -> bytes:
    """The first bytes of a stream, as far as they are available without reading further."""
    if hasattr(stream, "peek"):
        return stream.peek(16)[:16]
    if not getattr(stream, "seekable", bool)():
        return b""
    place = stream.tell()
    start = stream.read(16)
    stream.seek(place)
    return start


def load(f, map_location=None, pickle_module=pickle, weights_only: bool = False) -> Any:
    """Read an object that ``save`` wrote, in whatever format.

    A pickle is a program: its author decides what loading it does. With ``weights_only`` only
    numbers, text, containers, arrays, Tensors and the modules of ``megengine.module`` are read, and
    no code of the file runs.

    Args:
        f: path, or a binary stream. For safetensors also the path of an ``….index.json``, which
            names several files.
        map_location: devices of the Tensors: None: those in the file; a device for all, a dict of
            devices, or a function of the device's name. ``xpux`` is the default device if that is a
            GPU, else the CPU.
        pickle_module: the module that reads the pickle.
        weights_only: read only data. Without it, a file that names anything else is read with a
            warning.
    Returns:
        The object. For a PyTorch checkpoint (.pt), only plain data, with arrays for its tensors.
        For safetensors, a mapping with ``metadata`` that reads each Tensor on access; float64
        becomes float32, and wide integers int32.
    Raises:
        OSError: the file cannot be read.
        TypeError: ``map_location`` has another type.
        ValueError: ``weights_only`` with another ``pickle_module``, or a damaged safetensors file.
        pickle.UnpicklingError: the file is damaged, has another format, or names something
            unavailable or not allowed with ``weights_only``.
    Example:
        >>> import io, megengine as mge
        >>> file = io.BytesIO()
        >>> mge.save({"step": 3}, file)
        >>> mge.load(io.BytesIO(file.getvalue()), weights_only=True)
        {'step': 3}
    """
    if weights_only and pickle_module is not pickle:
        raise ValueError("[load] weights_only reads files itself; leave pickle_module out")
    devices = _DeviceMap(map_location)
    with devices, contextlib.ExitStack() as opened:
        is_path = isinstance(f, (str, os.PathLike))
        label = f"'{os.fsdecode(f)}'" if is_path else "the file"
        if is_path and os.fsdecode(f).endswith(".json"):
            return safetensors_files.Shards(f, devices.place)
        stream = opened.enter_context(open_input(f)) if is_path else f
        start = _first_bytes(stream)
        if safetensors_files.is_safetensors(start[:9]):
            return safetensors_files.SafetensorsFile(rest_of(stream)[0], label, devices.place)
        if getattr(stream, "seekable", bool)() and torch_files.is_torch_file(stream):
            return torch_files.load_torch_file(stream, label)
        if weights_only:
            return _load_plain(stream, label)
        return _load_any(stream, pickle_module, start)
