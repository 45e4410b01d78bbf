# SPDX-License-Identifier: Apache-2.0
"""Objects with Tensors in them, to files and back, by pickle."""

import contextlib
import io
import mmap
import os
import pickle
import warnings
from collections.abc import Callable

from .core.files import open_input, written_whole
from .core.graph_records import record_class
from .core.plain_pickle import is_plain, load_plain
from .tensor import Parameter, Tensor, restoring


def save(obj, f, pickle_module=pickle, pickle_protocol: int = pickle.DEFAULT_PROTOCOL) -> None:
    """Write an object to a file.

    Args:
        obj: anything that can be pickled; Tensors are stored with dtype and device.
        f: path, or a binary stream.
        pickle_module: what pickles.
        pickle_protocol: its protocol.
    Raises:
        OSError: the file cannot be written.
    """
    if isinstance(f, (str, os.PathLike)):
        with written_whole(f) as stream:
            pickle_module.dump(obj, stream, pickle_protocol)
    else:
        pickle_module.dump(obj, f, pickle_protocol)


class _DeviceMap:
    """Where Tensors go when they are loaded."""

    def __init__(self, map_location):
        if isinstance(map_location, str):
            self._place: Callable = lambda device: map_location
        elif isinstance(map_location, dict):
            # Keys are the first four characters: "cpu0", "gpu1".
            table = {key[:4]: value for key, value in map_location.items()}
            self._place = lambda device: table.get(device[:4], device)
        elif callable(map_location):
            self._place = map_location
        elif map_location is None:
            self._place = lambda device: device
        else:
            raise TypeError(
                "[load] map_location is None, a device, a dict or a function,"
                f" got {type(map_location).__name__}"
            )

    def __enter__(self) -> None:
        self._before = Tensor.dmap_callback
        Tensor.dmap_callback = staticmethod(self._place)

    def __exit__(self, *exc) -> None:
        Tensor.dmap_callback = self._before


_TENSORS = {("megengine.tensor", cls.__name__): restoring(cls) for cls in (Tensor, Parameter)}


class _WatchingUnpickler(pickle.Unpickler):
    """Pickle's own, with one warning when a file names more than data."""

    _has_warned = False

    def find_class(self, module: str, name: str):
        if not self._has_warned and not is_plain(module, name):
            self._has_warned = True
            warnings.warn(
                f"[load] the file names {module}.{name}: loading it runs what it names. Load only"
                " files that you trust this way, or give weights_only=True",
                stacklevel=4,
            )
        if (module, name) in _TENSORS:
            return _TENSORS[module, name]
        # Objects of MegEngine's traced modules; this package's files hold none of them.
        return record_class(module, name) or super().find_class(module, name)


def _load_any(stream, pickle_module):
    if pickle_module is pickle:
        return _WatchingUnpickler(stream).load()
    return pickle_module.load(stream)


def _load_plain(stream, label: str):
    # As pickle does it leaves a stream behind the object. A file is mapped, not copied.
    place = stream.tell() if stream.seekable() else None
    is_file = type(stream) is io.BufferedReader and os.fstat(stream.fileno()).st_size > 0
    content = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) if is_file else stream.read()
    found, count = load_plain(memoryview(content)[place if is_file else 0 :], label)
    if place is not None:
        stream.seek(place + count)
    return found


def load(f, map_location=None, pickle_module=pickle, weights_only: bool = False):
    """Read an object that ``save`` wrote.

    A pickle is a program: who wrote the file decides what loading it does. With ``weights_only``
    that cannot be: only numbers, text, containers, arrays, Tensors and the modules of
    ``megengine.module`` are read, and nothing of the file is run.

    Args:
        f: path, or a binary stream.
        map_location: where Tensors go: None for where they were, a device for all, a dict of
            devices, or a function of the device's name.
        pickle_module: what reads the pickle.
        weights_only: read nothing but data. Without it a file that names anything else is read too,
            with a warning.
    Returns:
        The object.
    Raises:
        OSError: the file cannot be read.
        TypeError: ``map_location`` is something else.
        ValueError: ``weights_only`` with another ``pickle_module``.
        pickle.UnpicklingError: the file is damaged, or names what ``weights_only`` does not allow.
    Example:
        >>> import io, megengine as mge
        >>> file = io.BytesIO()
        >>> mge.save({"step": 3}, file)
        >>> mge.load(io.BytesIO(file.getvalue()), weights_only=True)
        {'step': 3}
    """
    if weights_only and pickle_module is not pickle:
        raise ValueError("[load] weights_only reads files itself; leave pickle_module out")
    with _DeviceMap(map_location), contextlib.ExitStack() as opened:
        is_path = isinstance(f, (str, os.PathLike))
        stream = opened.enter_context(open_input(f)) if is_path else f
        if weights_only:
            return _load_plain(stream, f"'{os.fspath(f)}'" if is_path else "the file")
        return _load_any(stream, pickle_module)
