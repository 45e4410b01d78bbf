# SPDX-License-Identifier: Apache-2.0
"""The model that a network is loaded from: a path or bytes."""

from __future__ import annotations

import os
from ctypes import c_char_p, c_void_p, cast

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    ModelFile = str | os.PathLike[str] | bytes | bytearray | memoryview | IO[bytes]


class Model:
    """A model file: a path, or contents in memory.

    Args:
        file: a ModelFile.
    Attributes:
        path: None: the model is in memory.
        address, size: the model's memory, which lives as long as this object.
    Raises:
        OSError: there is no such file.
        AssertionError: it is something else.
    """

    def __init__(self, file: ModelFile) -> None:
        self.path: bytes | None = None
        self._memory: Any = None
        if isinstance(file, (str, os.PathLike)):
            self.path = _local(os.fspath(file))
            return
        if isinstance(file, (bytes, bytearray, memoryview)):
            contents: Any = file
        elif hasattr(file, "read"):
            contents = file.read()
        else:
            contents = None
        if not isinstance(contents, (bytes, bytearray, memoryview)):
            raise AssertionError(
                "[LiteNetwork] a model is a path, bytes, or a file that was opened to read bytes; "
                f"got {type(file).__name__}"
            )
        # Bytes are used where they are; they do not change.
        self._memory = contents if isinstance(contents, bytes) else bytes(contents)
        self.size = len(self._memory)
        self.address = cast(c_char_p(self._memory), c_void_p).value


def _local(path: str | bytes) -> bytes:
    """The path of a file on this machine, which is there."""
    text = os.fsdecode(path)
    scheme, separator, _ = text.partition("://")
    if separator and scheme.isalnum() and not os.path.exists(text):
        raise ValueError(
            f"[LiteNetwork] {text} is not on this machine; read it with a program for {scheme}, "
            "and load the bytes"
        )
    os.stat(path)
    return os.fsencode(path)
