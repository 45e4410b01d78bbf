# SPDX-License-Identifier: Apache-2.0
"""PyTorch's checkpoints (.pt, .pth), read as arrays without PyTorch and without running anything.

Such a file is a zip archive with a pickle and one entry for the memory of each storage. Before
PyTorch 1.6 it was a sequence of pickles, followed by the storages. A pickle is a program: this
reader supports the few names that state dicts need, and refuses all others.
"""

import io
import math
import pickle
import zipfile
from collections import Counter, OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .. import _mge

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
    "UntypedStorage": "u1",  # storage of dtypes without their own storage class
}
_NEWER_DTYPES = ("uint16", "uint32", "uint64")
_BUILTINS: dict[str, Callable] = {
    "bytearray": lambda data=b"": bytearray(memoryview(data)),  # no length
    "complex": complex,
    "set": set,
}
# Functions that a pickle may call, by module, besides those that make tensors.
_PLAIN: dict[str, dict[str, Callable]] = {
    "__builtin__": _BUILTINS,
    "_codecs": {"encode": lambda text, _: text.encode("latin1")},  # bytes of protocol 2
    "builtins": _BUILTINS,
    "collections": {"Counter": Counter, "OrderedDict": OrderedDict},
    "torch": {"Size": tuple},
}
_LEGACY_START = pickle.dumps(0x1950A86A20F9469CFC6C, 2)
_LEGACY_PROTOCOL = 1001
_MOST_EXPANDED = 1 << 28  # largest number of elements of a tensor that repeats those of its storage
_MOST_COPIES = 8  # largest total size of tensors that share storages, in multiples of the file


def is_torch_file(stream) -> bool:
    """Whether a seekable stream contains a PyTorch checkpoint; the position is kept."""
    place = stream.tell()
    try:
        start = stream.read(len(_LEGACY_START))
        if not start.startswith(b"PK\x03\x04"):
            return start == _LEGACY_START
        stream.seek(place)
        with zipfile.ZipFile(stream) as archive:
            return any(name.endswith("/data.pkl") for name in archive.namelist())
    except zipfile.BadZipFile:
        return False
    finally:
        stream.seek(place)


def load_torch_file(stream, label: str) -> Any:
    """The object in a checkpoint of PyTorch's, with arrays for its tensors.

    Args:
        stream: a seekable binary stream.
        label: name of the file in errors.
    Returns:
        The result of ``torch.load(weights_only=True)``, with arrays; bfloat16 becomes float32. An
        array that
        repeats elements of its storage is read-only.
    Raises:
        pickle.UnpicklingError: the file is damaged, or contains more than tensors and plain data.
    """
    try:
        place = stream.tell()
        size = stream.seek(0, io.SEEK_END) - place
        stream.seek(place)
        if stream.read(len(_LEGACY_START)) == _LEGACY_START:
            return _load_legacy(stream, size)
        stream.seek(place)
        with zipfile.ZipFile(stream) as archive:
            return _load_archive(archive, size)
    except Exception as error:
        why = "it is cut off" if isinstance(error, EOFError) else error
        raise pickle.UnpicklingError(
            f"[load] {label} cannot be read as a checkpoint of PyTorch's: {why}"
        ) from None


class _StorageRequest(NamedTuple):
    """A storage that a pickle names."""

    kind: str
    key: str
    count: int

    def values(self, content: bytes, order: str = "<") -> np.ndarray:
        """The elements, which may be more than the pickle declares."""
        values = np.frombuffer(content, np.dtype(_DTYPES[self.kind]).newbyteorder(order))
        if len(values) < self.count:
            raise ValueError(f"storage {self.key} has {len(values)} elements, not {self.count}")
        if self.kind == "BFloat16Storage":
            values = (values.astype(np.uint32) << 16).view(np.float32)
        return values.astype(values.dtype.newbyteorder("="))


class _Reader(pickle._Unpickler):  # the C version allocates memory for the highest number in a memo
    """Reads the pickle of an object.

    Args:
        storage_of: gives its storages.
        file_bytes: the size of the file.
    """

    def __init__(
        self, stream, storage_of: Callable[[_StorageRequest], np.ndarray | None], file_bytes: int
    ) -> None:
        super().__init__(stream)
        self._storage_of = storage_of
        self._free = max(_mge.file_limit(), _MOST_COPIES * file_bytes)

    def _counted(self, array: np.ndarray | None) -> np.ndarray | None:
        if array is not None and array.flags.owndata:
            self._free -= array.nbytes
        if self._free < 0:
            raise ValueError("its tensors share memory and take more than MGE_FILE_LIMIT allows")
        return array

    def find_class(self, module: str, name: str) -> Any:
        if name in _PLAIN.get(module, ()):
            return _maker(_PLAIN[module][name])
        if module in ("torch", "torch.storage") and name in (*_DTYPES, *_NEWER_DTYPES):
            return name
        if (module, name) == ("torch._utils", "_rebuild_tensor_v2"):
            return lambda *values: self._counted(_tensor(*values[:4], *values[6:]))
        if (module, name) == ("torch._utils", "_rebuild_tensor_v3"):
            return lambda *values: self._counted(_tensor_of_bytes(*values[:4], *values[6:]))
        if (module, name) == ("torch._utils", "_rebuild_parameter"):
            return lambda data, *_: data
        is_module = module.startswith(("torch.nn.", "__torch__"))
        advice = ": save the state_dict() of the module instead" if is_module else ""
        raise ValueError(f"it names {module}.{name}, which is not among what may be loaded{advice}")

    def persistent_load(self, pid: Any) -> np.ndarray | None:
        word, kind, key, _, count, *view = pid
        if word != "storage" or kind not in _DTYPES or type(count) is not int:
            raise ValueError(f"it has a {word!r} of the kind {kind!r}")
        if any(view):
            raise ValueError("it has a storage that is part of another one")
        return self._storage_of(_StorageRequest(kind, str(key), count))


def _maker(make: Callable) -> Callable:
    """Wraps a function. A pickle can set attributes of the objects that it names, so each has
    its own wrapper."""

    def call(*arguments):
        # An expanded tensor has more elements than the file has bytes.
        if any(isinstance(argument, np.ndarray) for argument in arguments):
            raise ValueError("it makes plain data of a tensor")
        return make(*arguments)

    return call


def _load_archive(archive: zipfile.ZipFile, size: int) -> Any:
    folder = next(
        name.removesuffix("data.pkl") for name in archive.namelist() if name.endswith("/data.pkl")
    )

    def read(name: str) -> bytes:
        entry = archive.getinfo(folder + name)
        if entry.compress_type != zipfile.ZIP_STORED:
            raise ValueError(f"{name} is compressed, which PyTorch's are not")
        return archive.read(entry)

    is_big = folder + "byteorder" in archive.NameToInfo and read("byteorder") == b"big"
    storages: dict[str, np.ndarray] = {}

    def storage_of(wanted: _StorageRequest) -> np.ndarray:
        if wanted.key not in storages:
            content = read(f"data/{wanted.key}")
            storages[wanted.key] = wanted.values(content, ">" if is_big else "<")
        return storages[wanted.key]

    return _Reader(io.BytesIO(read("data.pkl")), storage_of, size).load()


def _load_legacy(stream, size: int) -> Any:
    """Reads the part after the magic number. The storages are last, so the object is read twice."""

    def refuse(wanted: _StorageRequest) -> None:
        raise ValueError(f"storage {wanted.key} is where none is expected")

    protocol = _Reader(stream, refuse, size).load()
    if protocol != _LEGACY_PROTOCOL:
        raise ValueError(f"its protocol is {protocol!r}, not {_LEGACY_PROTOCOL}")
    about = _Reader(stream, refuse, size).load()
    place, found = stream.tell(), {}
    _Reader(stream, lambda wanted: found.setdefault(wanted.key, wanted) and None, size).load()
    storages = {}
    for key in _Reader(stream, refuse, size).load():
        content = stream.read(8)
        count = int.from_bytes(content, "little")
        if str(key) not in found or len(content) < 8 or count < found[str(key)].count:
            raise ValueError(f"storage {key} is damaged, or no tensor has it")
        wanted = found[str(key)]
        content = stream.read(count * np.dtype(_DTYPES[wanted.kind]).itemsize)
        storages[wanted.key] = wanted.values(content, "<" if about["little_endian"] else ">")
    stream.seek(place)
    return _Reader(stream, lambda wanted: storages[wanted.key], size).load()


def _tensor(
    storage: np.ndarray | None, offset: int, size: tuple, stride: tuple, flags: Any = None
) -> np.ndarray | None:
    """A part of a storage as a separate array; None before the storages are read."""
    if storage is None:
        return None
    whole = [offset, *size, *stride]
    if not isinstance(storage, np.ndarray) or len(size) != len(stride) or len(size) > 64:
        raise ValueError("a tensor has no storage, or its strides do not fit its shape")
    if any(type(number) is not int or number < 0 for number in whole):
        raise ValueError("a tensor's shape and strides are not numbers")
    if not math.prod(size):
        return np.empty(size, storage.dtype)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if last >= len(storage) or math.prod(size) > max(len(storage), _MOST_EXPANDED):
        raise ValueError(
            f"a tensor of shape {tuple(size)} is outside of its storage of {len(storage)}"
            " elements, or repeats them too often"
        )
    steps = [step * storage.itemsize for step in stride]
    found = np.lib.stride_tricks.as_strided(storage[offset:], size, steps, writeable=False)
    if math.prod(size) <= len(storage):
        return _changed_by(flags, found).copy()
    # An expanded tensor: a small file must not fill the memory.
    if flags:
        raise ValueError("an expanded tensor is conjugated or negated")
    return found


def _changed_by(flags: dict | None, values: np.ndarray) -> np.ndarray:
    """Apply the conjugation and negation that PyTorch delays until a tensor is read."""
    flags = flags or {}
    if not flags.keys() <= {"conj", "neg"}:
        raise ValueError(f"a tensor has {sorted(flags)}, which is not known")
    values = values.conj() if flags.get("conj") else values
    return -values if flags.get("neg") else values


def _tensor_of_bytes(
    storage: np.ndarray | None, offset: int, size: tuple, stride: tuple, dtype: str, flags=None
) -> np.ndarray | None:
    if dtype not in _NEWER_DTYPES:
        raise ValueError(f"it has a tensor of {dtype!r}")
    if isinstance(storage, np.ndarray):
        storage = storage.view(dtype)
    return _tensor(storage, offset, size, stride, flags)
