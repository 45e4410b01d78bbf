# SPDX-License-Identifier: Apache-2.0
"""PyTorch's checkpoints (.pt, .pth), read as arrays without PyTorch and without running anything.

Such a file is a zip archive with a pickle and one entry for the memory of each storage. A pickle is
a program: this reader knows the few names that state dicts need, and refuses all others.
"""

import io
import math
import pickle
import zipfile
from collections import OrderedDict
from typing import Any

import numpy as np

_DTYPES = {
    "BFloat16Storage": "u2",  # becomes float32
    "BoolStorage": "?",
    "ByteStorage": "u1",
    "CharStorage": "i1",
    "ComplexDoubleStorage": "c16",
    "ComplexFloatStorage": "c8",
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "IntStorage": "i4",
    "LongStorage": "i8",
    "ShortStorage": "i2",
}


def is_torch_file(stream) -> bool:
    """Whether a seekable stream holds a checkpoint of PyTorch's; the stream stays where it is."""
    place = stream.tell()
    try:
        with zipfile.ZipFile(stream) as archive:
            return any(name.endswith("/data.pkl") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False
    finally:
        stream.seek(place)


def load_torch_file(stream, label: str) -> Any:
    """The object in a checkpoint of PyTorch's, with arrays for its tensors.

    Args:
        stream: seekable, binary.
        label: names the file in errors.
    Returns:
        As ``torch.load(weights_only=True)`` gives it; bfloat16 becomes float32.
    Raises:
        pickle.UnpicklingError: the file is damaged, or names something else than tensors and plain
            data.
    """
    try:
        with zipfile.ZipFile(stream) as archive:
            return _Reader(archive).load()
    except Exception as error:
        raise pickle.UnpicklingError(
            f"[load] {label} cannot be read as a checkpoint of PyTorch's: {error}"
        ) from None


class _Reader(pickle.Unpickler):
    """Reads the pickle of one archive."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._folder = next(
            name.removesuffix("data.pkl")
            for name in archive.namelist()
            if name.endswith("/data.pkl")
        )
        self._storages: dict[str, np.ndarray] = {}
        is_big = self._has("byteorder") and self._read("byteorder") == b"big"
        self._order = ">" if is_big else "<"
        super().__init__(io.BytesIO(self._read("data.pkl")))

    def _has(self, name: str) -> bool:
        return self._folder + name in self._archive.NameToInfo

    def _read(self, name: str) -> bytes:
        entry = self._archive.getinfo(self._folder + name)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} is compressed, which PyTorch's are not")
        return self._archive.read(entry)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("collections", "OrderedDict"):
            return OrderedDict
        if module in ("torch", "torch.storage") and name in _DTYPES:
            return name
        if (module, name) == ("torch", "Size"):
            return tuple
        # Made anew for each file, which cannot reach what another one uses.
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda *arguments: _tensor(*arguments[:4])
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda data, *_: data
        raise ValueError(f"it names {module}.{name}, which is not among what may be loaded")

    def persistent_load(self, pid: Any) -> np.ndarray:
        word, kind, key, _, count = pid
        if word != "storage" or kind not in _DTYPES:
            raise ValueError(f"it has a {word!r} of the kind {kind!r}")
        if key not in self._storages:
            dtype = np.dtype(_DTYPES[kind]).newbyteorder(self._order)
            values = np.frombuffer(self._read(f"data/{key}"), dtype)
            if len(values) < count:
                raise ValueError(f"storage {key} has {len(values)} elements, not {count}")
            if kind == "BFloat16Storage":
                values = (values.astype(np.uint32) << 16).view(np.float32)
            self._storages[key] = values.astype(values.dtype.newbyteorder("="))
        return self._storages[key]


def _tensor(storage: np.ndarray, offset: int, size: tuple, stride: tuple) -> np.ndarray:
    """A part of a storage, as an array of its own."""
    whole = [offset, *size, *stride]
    if not isinstance(storage, np.ndarray) or len(size) != len(stride) or len(size) > 64:
        raise ValueError("a tensor has no storage, or its strides do not fit its shape")
    if any(type(number) is not int or number < 0 for number in whole):
        raise ValueError("a tensor's shape and strides are no numbers")
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if math.prod(size) and (last >= len(storage) or math.prod(size) > len(storage)):
        raise ValueError(f"a tensor of shape {tuple(size)} lies outside of its storage")
    if not math.prod(size):
        return np.empty(size, storage.dtype)
    steps = [step * storage.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(storage[offset:], size, steps).copy()
