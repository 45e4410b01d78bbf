# SPDX-License-Identifier: Apache-2.0
"""Checksums of files."""

import hashlib
import os

_PIECE = 1 << 20


def file_digest(path: str | os.PathLike[str], algorithm: str) -> str:
    """The checksum of a file in hexadecimal digits.

    It detects damaged files, for which MD5 is enough.

    Args:
        path: of the file.
        algorithm: its name in ``hashlib``.
    """
    digest = hashlib.new(algorithm, usedforsecurity=False)
    with open(path, "rb") as file:
        while piece := file.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()
