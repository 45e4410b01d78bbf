# SPDX-License-Identifier: Apache-2.0
"""Files of safetensors: a length, a header in JSON, and the bytes of tensors behind it.

The rules are those of the ``safetensors`` package, but stricter where that accepts ambiguous files:
a name occurs once, the header has no leading spaces, a bool is 0 or 1. No code in a file is run.
Tensors of quantised dtypes are integers with scale and zero point in the metadata.
"""

import json
import os
import struct
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

from .. import _mge
from ..core.counted import counted
from ..core.tensor import dtype as dtypes
from ..tensor import Tensor
from .opening import open_input, rest_of

MOST_HEADER_BYTES = 100_000_000
_MOST_RANK = 7
_BYTES_OF_VALUE = 128  # that a value in a header takes as objects, on top of its text
# The bits of an element. Tensors cannot have all of these dtypes.
_BITS = {"F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "C64": 64}
_BITS |= dict.fromkeys("BOOL U8 I8 F8_E4M3 F8_E5M2 F8_E8M0 F8_E4M3FNUZ F8_E5M2FNUZ".split(), 8)
_BITS |= dict.fromkeys("U16 I16 F16 BF16".split(), 16)
_BITS |= dict.fromkeys("U32 I32 F32".split(), 32)
_BITS |= dict.fromkeys("U64 I64 F64".split(), 64)
_NUMPY = {"BOOL": "bool", "BF16": "<u2"}
_NUMPY |= {f"{kind}{8 * n}": f"<{kind.lower()}{n}" for kind in "UI" for n in (1, 2, 4, 8)}
_NUMPY |= {f"F{8 * n}": f"<f{n}" for n in (2, 4, 8)}
_QUANTISED = {"I8": "qint8", "U8": "quint8", "I32": "qint32"}
_NAME_OF = {np.dtype(code): name for name, code in _NUMPY.items() if name != "BF16"}


class SafetensorsError(ValueError):
    """A file that breaks the rules of safetensors, or a tensor in one that cannot be had."""


def _check(condition: bool, label: str, what: str) -> None:
    if not condition:
        raise SafetensorsError(f"[load] {label} is not a valid safetensors file: {what}")


def is_safetensors(start: bytes) -> bool:
    """Whether a file that begins so can be one: a pickle cannot.

    Args:
        start: its first nine bytes.
    """
    return len(start) == 9 and start[8:] == b"{" and _header_length(start) <= MOST_HEADER_BYTES


def _header_length(content) -> int:
    return struct.unpack("<Q", content[:8])[0]


def _is_count(value) -> bool:
    return type(value) is int and 0 <= value < 1 << 63


def _check_memory(text: bytes, limit: int, label: str) -> None:
    """Refuse a header that needs more memory than allowed."""
    values = sum(text.count(sign) for sign in (b",", b":", b"[", b"{"))
    needed = 4 * len(text) + _BYTES_OF_VALUE * values  # a character takes up to four bytes
    limit = max(limit, _mge.file_limit())
    _check(
        needed <= limit,
        label,
        f"its header would take {needed} bytes of memory, more than {limit} (MGE_FILE_LIMIT)",
    )


def _parsed_header(text: bytes, limit: int, label: str) -> dict:
    _check_memory(text, limit, label)

    def once(pairs):
        found = dict(pairs)
        _check(len(found) == len(pairs), label, "a name is in the header twice")
        return found

    def refused(constant):
        _check(False, label, f"{constant} stands in the header")

    try:
        found = json.loads(text.decode(), object_pairs_hook=once, parse_constant=refused)
    except SafetensorsError:
        raise
    except (ValueError, RecursionError) as error:
        raise SafetensorsError(
            f"[load] {label} is not a valid safetensors file: its header is not JSON ({error})"
        ) from None
    _check(type(found) is dict, label, "the header is not an object")
    return found


def _count(shape: list[int]) -> int:
    """The number of elements of a shape; for one that exceeds every file, a number that is too
    large.

    The product itself would take hours for a header of many dimensions.
    """
    count = 1
    for extent in shape:
        count = min(count * extent, 1 << 64)
    return count


class _Entry:
    """The header entry of a tensor."""

    def __init__(self, name: str, declared, label: str):
        what = f"the entry of tensor {name!r}"
        _check(type(declared) is dict, label, f"{what} is not an object")
        self.dtype = declared.get("dtype")
        shape, offsets = declared.get("shape"), declared.get("data_offsets")
        _check(type(self.dtype) is str, label, f"{what} has no dtype")
        _check(type(shape) is list and all(map(_is_count, shape)), label, f"{what} has no shape")
        _check(type(offsets) is list and len(offsets) == 2, label, f"{what} has no place")
        _check(all(map(_is_count, offsets)), label, f"{what} has no place")
        self.shape = tuple(shape)
        self.begin, self.end = offsets
        # An unknown dtype only has a size; reading the tensor is an error.
        bits = _count(shape) * _BITS.get(self.dtype, 0)
        _check(
            self.dtype not in _BITS or bits == 8 * (self.end - self.begin),
            label,
            f"tensor {name!r} of {self.dtype} and shape {self.shape} does not take"
            f" {counted(self.end - self.begin, 'byte')}",
        )


class SafetensorsFile(Mapping):
    """The tensors of a file by name; each is read on access.

    Args:
        content: content of the file.
        label: name of the file in errors.
        place: maps the default device to that of a tensor; None: the default device.
    Raises:
        SafetensorsError: the file is damaged.
    """

    def __init__(self, content: bytes | memoryview, label: str, place=None):
        self._label, self._place = label, place
        _check(len(content) >= 8, label, f"it has {counted(len(content), 'byte')}")
        length = _header_length(content)
        _check(length <= MOST_HEADER_BYTES, label, f"its header has {length} bytes")
        _check(length <= len(content) - 8, label, "it is shorter than its header says")
        text = bytes(content[8 : 8 + length])
        _check(text[:1] == b"{", label, "its header does not begin with '{'")
        header = _parsed_header(text, len(content), label)
        self.metadata: dict[str, str] = header.pop("__metadata__", {})
        _check(
            type(self.metadata) is dict and all(type(v) is str for v in self.metadata.values()),
            label,
            "its metadata is more than texts",
        )
        self._entries = {name: _Entry(name, declared, label) for name, declared in header.items()}
        self._data = content[8 + length :]
        self._check_that_all_is_covered()

    def _check_that_all_is_covered(self) -> None:
        at = 0
        for name, entry in sorted(
            self._entries.items(), key=lambda item: (item[1].begin, item[1].end)
        ):
            _check(entry.begin == at, self._label, f"tensor {name!r} does not begin at byte {at}")
            at = entry.end
        _check(
            at == len(self._data),
            self._label,
            f"its tensors have {at} bytes, after the header there are {len(self._data)}",
        )

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, name: str) -> Tensor:
        entry = self._entries[name]
        array = self._array(name, entry)
        dtype = dtypes.bfloat16 if entry.dtype == "BF16" else self._quantised(name, entry)
        device = self._place(_mge.get_default_device()) if self._place else None
        return Tensor(array, dtype=dtype, device=device)

    def _quantised(self, name: str, entry: _Entry) -> np.dtype | None:
        scale, zero_point = (self.metadata.get(f"{name}.{key}") for key in ("scale", "zero_point"))
        kind = _QUANTISED.get(entry.dtype)
        if scale is None or kind is None:
            return None
        points = () if zero_point is None else (zero_point,)
        try:
            return getattr(dtypes, kind)(float(scale), *map(int, points))
        except (TypeError, ValueError, AssertionError) as error:
            raise SafetensorsError(
                f"[load] the metadata of {self._label} makes no {kind} of tensor {name!r}: {error}"
            ) from None

    def _array(self, name: str, entry: _Entry) -> np.ndarray:
        code = _NUMPY.get(entry.dtype)
        self._allow(code is not None, name, f"has the dtype {entry.dtype}")
        rank = len(entry.shape)
        self._allow(rank <= _MOST_RANK, name, f"has rank {rank}, more than {_MOST_RANK}")
        data = self._data[entry.begin : entry.end]
        if entry.dtype == "BOOL":
            known = not np.frombuffer(data, np.uint8).max(initial=0) > 1
            self._allow(known, name, "has truth values other than 0 and 1")
        array = np.frombuffer(data, code).reshape(entry.shape)
        if entry.dtype == "BF16":
            return array.view(dtypes.bfloat16)
        if entry.dtype in ("I64", "U32", "U64"):
            narrow = array.astype(np.int32)
            self._allow((narrow == array).all(), name, "has numbers beyond int32")
            return narrow
        return array

    def _allow(self, condition: bool, name: str, what: str) -> None:
        if not condition:
            raise SafetensorsError(
                f"[load] tensor {name!r} of {self._label} {what}; Tensors cannot hold it"
            )


def open_file(path: str | os.PathLike, place=None) -> SafetensorsFile:
    """Map a file: only its header is read until a tensor is.

    Args:
        path: of the file.
        place: as for ``SafetensorsFile``.
    Raises:
        OSError: it cannot be opened.
        SafetensorsError: it is damaged.
    """
    with open_input(path) as stream:
        content, _ = rest_of(stream)
    return SafetensorsFile(content, f"'{os.fspath(path)}'", place)


class Shards(Mapping):
    """The tensors of several files that an index names.

    Args:
        index: path of a file in JSON.
        place: as for ``SafetensorsFile``.
    Raises:
        SafetensorsError: one of the files is damaged, or lacks a tensor of the index.
    """

    def __init__(self, index, place=None):
        index = Path(os.fspath(index))
        label = f"'{index}'"
        with open_input(index) as stream:
            declared = _parsed_header(stream.read(MOST_HEADER_BYTES), 0, label)
        self._homes = declared.get("weight_map")
        self.metadata = declared.get("metadata", {})
        _check(type(self._homes) is dict, label, "the index has no weight_map")
        self._files = {}
        for home in dict.fromkeys(map(str, self._homes.values())):
            is_beside = home not in ("", "..") and Path(home).name == home
            _check(is_beside, label, f"the index names {home!r}, which is not a file next to it")
            self._files[home] = open_file(index.parent / home, place)
        for name, home in self._homes.items():
            _check(name in self._files[home], label, f"'{home}' has no tensor {name!r}")

    def __iter__(self) -> Iterator[str]:
        return iter(self._homes)

    def __len__(self) -> int:
        return len(self._homes)

    def __getitem__(self, name: str) -> Tensor:
        return self._files[self._homes[name]][name]


class _Described:
    """A tensor as it is written."""

    def __init__(self, name, value):
        if type(name) is not str or name == "__metadata__":
            raise TypeError(f"[save] safetensors names tensors by texts, got {name!r}")
        if isinstance(value, Tensor):
            value = value.numpy()
        if not isinstance(value, np.ndarray):
            raise TypeError(
                f"[save] safetensors holds tensors and arrays only; {name!r} is a"
                f" {type(value).__name__}"
            )
        meta = dtypes.quantised_meta(value.dtype)
        is_half = dtypes.is_bfloat16(value.dtype)
        if is_half:
            value = value.astype(dtypes.bfloat16, copy=False).view(np.uint16)
        plain = np.dtype(value.dtype.str.replace(">", "<"))
        if plain not in _NAME_OF or (meta and meta.name not in _QUANTISED.values()):
            kind = meta.name if meta else value.dtype
            raise TypeError(f"[save] safetensors has no dtype for {name!r}, which is {kind}")
        self.dtype = "BF16" if is_half else _NAME_OF[plain]
        self.array = np.ascontiguousarray(value.astype(plain, copy=False)).reshape(value.shape)
        self.metadata = {f"{name}.scale": repr(dtypes.get_scale(value.dtype))} if meta else {}
        if meta and meta.is_unsigned:
            self.metadata[f"{name}.zero_point"] = str(dtypes.get_zero_point(value.dtype))


def write(tensors: Mapping, stream) -> None:
    """Write tensors by their names.

    Args:
        tensors: Tensors and arrays.
        stream: a binary stream.
    Raises:
        TypeError: a value is something else, or has a dtype that the format does not support.
    """
    if not isinstance(tensors, Mapping):
        raise TypeError(
            f"[save] safetensors takes a dict of tensors, got a {type(tensors).__name__}"
        )
    described = {name: _Described(name, value) for name, value in tensors.items()}
    # Wide elements first, so that all are aligned.
    order = sorted(described, key=lambda name: (-_BITS[described[name].dtype], name))
    metadata = {key: text for name in order for key, text in described[name].metadata.items()}
    header: dict = {"__metadata__": metadata} if metadata else {}
    at = 0
    for name in order:
        array = described[name].array
        offsets = [at, at + array.nbytes]
        header[name] = {
            "dtype": described[name].dtype,
            "shape": list(array.shape),
            "data_offsets": offsets,
        }
        at = offsets[1]
    text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
    text += b" " * (-len(text) % 8)
    stream.write(struct.pack("<Q", len(text)) + text)
    for name in order:
        stream.write(described[name].array.reshape(-1).view(np.uint8).data)
