# SPDX-License-Identifier: Apache-2.0
"""Writing and opening of files."""

import contextlib
import io
import mmap
import os
from collections.abc import Iterator
from typing import BinaryIO

from .. import _mge


@contextlib.contextmanager
def _named_as_given(path) -> Iterator[None]:
    """Errors of system calls name the file as the caller does, as Python's own errors do."""
    try:
        yield
    except OSError as error:
        error.filename = os.fspath(path)
        raise


@contextlib.contextmanager
def written_atomically(path) -> Iterator[BinaryIO]:
    """Write a file completely or not at all: it gets its name when the block ends without an error.

    Until then it has a random name that no link can take over. A symbolic link at ``path`` stays,
    and its target is written; permissions of an old file are kept.

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
    """Open a file for reading: a regular one, or all data of a pipe; never waits forever.

    Args:
        path: of the file.
    Raises:
        OSError: it cannot be opened.
        RuntimeError: it is neither a file nor a pipe, or too much comes out of a pipe.
    """
    with _named_as_given(path):
        return open(_mge.open_input(os.fsencode(path)), "rb")


def rest_of(stream) -> tuple[memoryview, int]:
    """The rest of a stream; a file is mapped, not copied.

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
