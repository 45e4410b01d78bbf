# SPDX-License-Identifier: Apache-2.0
"""Digits written by hand (LeCun, Cortes, Burges)."""

import gzip
import math
import os
import struct
import zlib
from typing import BinaryIO

import numpy as np

from .... import _mge
from ....core.counted import counted
from ....files.opening import open_input
from .meta_vision import VisionDataset
from .utils import _default_dataset_root, load_raw_data_from_url


class MNIST(VisionDataset):
    """70,000 digits: samples of an image (28, 28, 1) of uint8 and its class, 0 to 9.

    Args:
        root: folder with the four files, compressed as they are published; default: ``MNIST`` in
            the user's MegEngine cache.
        train: the 60,000 for training; else the 10,000 for testing.
        download: fetch missing files.
    Raises:
        ValueError: a given folder does not exist, or a file is damaged.
    Example:
        >>> import gzip
        >>> os.makedirs("digits")
        >>> with gzip.open("digits/t10k-images-idx3-ubyte.gz", "wb") as file:
        ...     _ = file.write(struct.pack(">4I", 2051, 1, 28, 28) + bytes(28 * 28))
        >>> with gzip.open("digits/t10k-labels-idx1-ubyte.gz", "wb") as file:
        ...     _ = file.write(struct.pack(">2I", 2049, 1) + bytes([7]))
        >>> image, category = MNIST("digits", train=False, download=False)[0]
        >>> image.shape, int(category)
        ((28, 28, 1), 7)
        >>> dataset = MNIST("digits", train=False, download=False)
        >>> dataset.meta["images"]["imgs"]
        1
    """

    url_path = "https://ossci-datasets.s3.amazonaws.com/mnist/"
    raw_file_name = [
        "train-images-idx3-ubyte.gz",
        "train-labels-idx1-ubyte.gz",
        "t10k-images-idx3-ubyte.gz",
        "t10k-labels-idx1-ubyte.gz",
    ]
    raw_file_md5 = [
        "f68b3c2dcbeaaa9fbdd348bbdeb94873",
        "d53e105ee54ea40749a09fcbcd1e9432",
        "9fb629c4189551a2d022fa330f9573f3",
        "ec29112dd5afa0611ce80d1b7f02629c",
    ]

    def __init__(self, root: str | None = None, train: bool = True, download: bool = True):
        super().__init__(
            root or os.path.join(_default_dataset_root(), "MNIST"),
            order=("image", "image_category"),
        )
        if not os.path.isdir(self.root):
            if root is not None:
                raise ValueError(f"dir {self.root} does not exist")
            os.makedirs(self.root)
        if download:
            self.download()
        missing = [f for f in self._files(train) if not os.path.exists(f)]
        if missing:
            raise ValueError(f"{' and '.join(missing)}: no such file; download=True fetches it")
        self.process(train)

    def _files(self, train: bool) -> list[str]:
        names = self.raw_file_name[:2] if train else self.raw_file_name[2:]
        return [os.path.join(self.root, name) for name in names]

    def __getitem__(self, index: int) -> tuple:
        return tuple(array[index] for array in self.arrays)

    def __len__(self) -> int:
        return len(self.arrays[0])

    @property
    def meta(self) -> dict:
        """The headers of the files: ``{"images": …, "labels": …}``."""
        return self._meta_data

    def download(self) -> None:
        """Fetch the files that are not there or are damaged; their sums are checked."""
        for name, md5 in zip(self.raw_file_name, self.raw_file_md5, strict=True):
            load_raw_data_from_url(self.url_path + name, name, md5, self.root)

    def process(self, train: bool) -> None:
        """Read the files.

        Args:
            train: those for training.
        """
        images, labels = self._files(train)
        meta_images, pixels = parse_idx3(images)
        meta_labels, classes = parse_idx1(labels)
        if len(pixels) != len(classes):
            raise ValueError(
                f"{images} has {counted(len(pixels), 'image')},"
                f" {labels} {counted(len(classes), 'label')}"
            )
        self._meta_data = {"images": meta_images, "labels": meta_labels}
        self.arrays = (pixels, classes.astype(np.int32))


def _parse(path: str, magic: int, rank: int) -> tuple[tuple[int, ...], np.ndarray]:
    with open_input(path) as raw:
        limit = max(_mge.file_limit(), os.fstat(raw.fileno()).st_size)
        try:
            return _parse_content(gzip.open(raw, "rb"), path, magic, rank, limit)
        except (gzip.BadGzipFile, zlib.error, EOFError) as error:
            raise ValueError(f"{path} is damaged, or not compressed by gzip: {error}") from error


def _parse_content(
    file: BinaryIO, path: str, magic: int, rank: int, limit: int
) -> tuple[tuple[int, ...], np.ndarray]:
    header = file.read(4 * (1 + rank))
    if len(header) < 4 * (1 + rank):
        raise ValueError(f"{path} is cut off")
    found, *extents = struct.unpack(f">{1 + rank}I", header)
    if found != magic:
        raise ValueError(f"{path} begins with {found}, not with {magic}")
    count = math.prod(extents)
    # Reads one byte more than expected, to detect a header with a smaller count.
    data = file.read(min(count, limit) + 1)
    if len(data) > limit:
        raise ValueError(f"{path} holds more than {limit} bytes, the limit (MGE_FILE_LIMIT)")
    if len(data) != count:
        raise ValueError(f"{path} should have {counted(count, 'byte')} after its header")
    return tuple(extents), np.frombuffer(data, np.uint8).reshape(extents)


def parse_idx3(idx3_file: str) -> tuple[dict, list[np.ndarray]]:
    """Read a file of images.

    Args:
        idx3_file: path of the compressed file.
    Returns:
        Its header (``magic``, ``imgs``, ``height``, ``width``), and the images, each (height,
        width, 1) of uint8.
    Raises:
        ValueError: it is not such a file, or is damaged.
    Example:
        >>> import gzip
        >>> with gzip.open("images.gz", "wb") as file:
        ...     _ = file.write(struct.pack(">4I", 2051, 1, 2, 2) + bytes([0, 50, 100, 150]))
        >>> meta, images = parse_idx3("images.gz")
        >>> meta
        {'magic': 2051, 'imgs': 1, 'height': 2, 'width': 2}
        >>> images[0][..., 0]
        array([[  0,  50],
               [100, 150]], dtype=uint8)
    """
    (count, height, width), images = _parse(idx3_file, 2051, 3)
    meta = {"magic": 2051, "imgs": count, "height": height, "width": width}
    return meta, list(images[..., np.newaxis])


def parse_idx1(idx1_file: str) -> tuple[dict, np.ndarray]:
    """Read a file of labels.

    Args:
        idx1_file: path of the compressed file.
    Returns:
        Its header (``magic``, ``imgs``), and the labels, (count,) of int64.
    Raises:
        ValueError: it is not such a file, or is damaged.
    Example:
        >>> import gzip
        >>> with gzip.open("labels.gz", "wb") as file:
        ...     _ = file.write(struct.pack(">2I", 2049, 3) + bytes([7, 2, 1]))
        >>> parse_idx1("labels.gz")
        ({'magic': 2049, 'imgs': 3}, array([7, 2, 1]))
    """
    (count,), labels = _parse(idx1_file, 2049, 1)
    return {"magic": 2049, "imgs": count}, labels.astype(np.int64)
