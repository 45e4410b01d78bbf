# SPDX-License-Identifier: Apache-2.0
"""Objects with Tensors in them, to files and back, by pickle."""

import os
import pickle
from collections.abc import Callable

from .tensor import Tensor


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
        # A name of its own first, so that a file is never half written.
        temporary = f"{os.fspath(f)}.{os.getpid()}.partial"
        try:
            with open(temporary, "wb") as stream:
                pickle_module.dump(obj, stream, pickle_protocol)
            os.replace(temporary, f)
        finally:
            if os.path.exists(temporary):
                os.unlink(temporary)
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


def load(f, map_location=None, pickle_module=pickle):
    """Read an object that ``save`` wrote. Only files that can be trusted: pickles can run code.

    Args:
        f: path, or a binary stream.
        map_location: where Tensors go: None for where they were, a device for all, a dict of
            devices, or a function of the device's name.
        pickle_module: what reads the pickle.
    Returns:
        The object.
    Raises:
        OSError: the file cannot be read.
        TypeError: ``map_location`` is something else.
    """
    with _DeviceMap(map_location):
        if isinstance(f, (str, os.PathLike)):
            with open(f, "rb") as stream:
                return pickle_module.load(stream)
        return pickle_module.load(f)
