# SPDX-License-Identifier: Apache-2.0
"""How this package writes and opens files."""

import contextlib
import io
import mmap
import os
from collections.abc import Iterator
from typing import BinaryIO

from .. import _mge


@contextlib.contextmanager
def _named_as_given(path) -> Iterator[None]:
    """Errors of the system call the file what the caller calls it, as Python's own do."""
    try:
        yield
    except OSError as error:
        error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def written_whole(path) -> Iterator[BinaryIO]:
    """A file that is written whole or not at all: it gets its name when the block ends well.

    Until then it has none, or one that nobody can guess and that no link stands in for. A symbolic
    link at ``path`` stays, what it leads to is written; permissions of an old file are kept.

    Args:
        path: where it goes.
    Raises:
        OSError: it cannot be written; the old file is as it was.
    """
    with _named_as_given(path):
        new = _mge.NewFile(os.fsencode(path))
    with open(new.descriptor, "wb", closefd=False) as stream:
        yield stream
    with _named_as_given(path):
        new.finish()


def open_input(path) -> BinaryIO:
    """A file to read: a regular one, or all that comes out of a pipe; nothing waits for ever.

    Args:
        path: of the file.
    Raises:
        OSError: it cannot be opened.
        RuntimeError: it is neither a file nor a pipe, or too much comes out of a pipe.
    """
    with _named_as_given(path):
        return open(_mge.open_input(os.fsencode(path)), "rb")


def rest_of(stream) -> tuple[memoryview, int]:
    """What is left of a stream: a file is mapped, not copied.

    Args:
        stream: a binary stream.
    Returns:
        The content, and where the stream stood.
    """
    place = stream.tell() if stream.seekable() else 0
    is_file = type(stream) is io.BufferedReader and isinstance(stream.raw, io.FileIO)
    if is_file and os.fstat(stream.fileno()).st_size > 0:
        return memoryview(mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ))[place:], place
    return memoryview(stream.read()), place
