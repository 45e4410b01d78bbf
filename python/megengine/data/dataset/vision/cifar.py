# SPDX-License-Identifier: Apache-2.0
"""Small photographs of ten and of a hundred kinds of things (Krizhevsky, 2009)."""

import os

import numpy as np

from ....files.opening import open_input, rest_of
from ....files.plain_pickle import UnsafePickleError, read_plain
from .meta_vision import VisionDataset
from .utils import _default_dataset_root, load_raw_data_from_url, untar


def _read(path: str) -> dict:
    """Read a batch file, whose keys are bytes."""
    with open_input(path) as file:
        try:
            content, _ = read_plain(rest_of(file)[0], has_old_texts=True)
        except UnsafePickleError as e:
            raise ValueError(f"{path} is not a CIFAR file, or damaged: {e}") from e
    if not isinstance(content, dict):
        raise ValueError(f"{path} is not a CIFAR file")
    return content


def _is_classes(found, count: int) -> bool:
    """Whether something from a file is a list or an array of so many class numbers."""
    if type(found) is np.ndarray:
        found = found.tolist() if found.dtype.kind in "iu" else None
    is_right = type(found) is list and len(found) == count
    return is_right and all(type(label) is int and 0 <= label < 1 << 31 for label in found)


class CIFAR10(VisionDataset):
    """60,000 photographs: samples of an image (32, 32, 3) of uint8, blue first, and its class.

    Args:
        root: folder with the archive or its contents; default: ``CIFAR10`` in the user's MegEngine
            cache.
        train: the 50,000 for training; else the 10,000 for testing.
        download: fetch a missing archive, and unpack it.
        timeout: no effect; stalled connections are always closed.
    Raises:
        ValueError: a given folder does not exist, or a file is damaged.
        FileNotFoundError: there are no files.
    Example:
        >>> import pickle
        >>> os.makedirs("photos/cifar-10-batches-py")
        >>> def write(name, content):
        ...     with open(f"photos/cifar-10-batches-py/{name}", "wb") as file:
        ...         pickle.dump(content, file)
        >>> write("batches.meta", {b"label_names": [b"airplane", b"automobile"]})
        >>> write("test_batch", {b"data": np.zeros((2, 3072), np.uint8), b"labels": [1, 0]})
        >>> dataset = CIFAR10("photos", train=False, download=False)
        >>> image, category = dataset[0]
        >>> image.shape, int(category), dataset.meta[b"label_names"][category]
        ((32, 32, 3), 1, b'automobile')
        >>> images, categories = dataset.process()  # what the constructor has read
        >>> len(images), categories
        (2, array([1, 0], dtype=int32))
    """

    url_path = "http://www.cs.utoronto.ca/~kriz/"
    raw_file_name = "cifar-10-python.tar.gz"
    raw_file_md5 = "c58f30108f718f92721af3b95e74349a"
    raw_file_dir = "cifar-10-batches-py"
    train_batch = ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5"]
    test_batch = ["test_batch"]
    meta_info = {"name": "batches.meta"}
    # Labels in a file; they are the fields of a sample after the image.
    _label_keys = (b"labels",)

    def __init__(
        self,
        root: str | None = None,
        train: bool = True,
        download: bool = True,
        timeout: float = 500,
    ):
        super().__init__(
            root or os.path.join(_default_dataset_root(), type(self).__name__),
            order=("image", "image_category"),
        )
        if not os.path.isdir(self.root):
            if root is not None:
                raise ValueError(f"dir {self.root} does not exist")
            os.makedirs(self.root)
        self.train = train
        self.timeout = timeout
        # The folder itself may be the one that was in the archive.
        is_unpacked = os.path.exists(os.path.join(self.root, self.meta_info["name"]))
        self.target_file = self.root if is_unpacked else os.path.join(self.root, self.raw_file_dir)
        if not os.path.isdir(self.target_file):
            self._unpack(download)
        self._meta_data = _read(os.path.join(self.target_file, self.meta_info["name"]))
        self.arrays = self.process()

    def _unpack(self, download: bool) -> None:
        archive = os.path.join(self.root, self.raw_file_name)
        if download:
            self.download()
        if not os.path.exists(archive):
            raise FileNotFoundError(
                f"there is neither {self.target_file} nor {archive}; download=True fetches it"
            )
        self.untar(archive, self.root)

    def __getitem__(self, index: int) -> tuple:
        return tuple(array[index] for array in self.arrays)

    def __len__(self) -> int:
        return len(self.arrays[0])

    @property
    def meta(self) -> dict:
        """The metadata of the set, with bytes as keys: names of the classes."""
        return self._meta_data

    def download(self) -> None:
        """Fetch the archive if it is not there or damaged; its sum is checked."""
        url = self.url_path + self.raw_file_name
        load_raw_data_from_url(url, self.raw_file_name, self.raw_file_md5, self.root)

    def untar(self, file_path: str, dirs: str) -> None:
        """Unpack an archive.

        Args:
            file_path: the archive.
            dirs: the folder.
        """
        untar(file_path, dirs)

    def bytes2array(self, filenames: list[str]) -> tuple:
        """Read files of batches.

        Args:
            filenames: their paths.
        Returns:
            The images, each (32, 32, 3) of uint8, and for each kind of class an array of int32.
        Raises:
            ValueError: one is damaged.
        """
        batches = [_read(name) for name in filenames]
        for name, batch in zip(filenames, batches, strict=True):
            pixels, *classes = (batch.get(k) for k in (b"data", *self._label_keys))
            is_right = type(pixels) is np.ndarray and pixels.dtype == np.uint8
            is_right = is_right and pixels.ndim == 2 and pixels.shape[1] == 3072
            if not is_right or not all(_is_classes(found, len(pixels)) for found in classes):
                raise ValueError(f"{name} does not hold images of 3072 bytes and their classes")
        pixels = np.concatenate([b[b"data"] for b in batches]).reshape(-1, 3, 32, 32)
        # From red, green, blue planes.
        images = np.ascontiguousarray(pixels.transpose(0, 2, 3, 1)[..., ::-1])
        classes = (
            np.concatenate([np.asarray(b[key], np.int32) for b in batches])
            for key in self._label_keys
        )
        return (list(images), *classes)

    def process(self) -> tuple:
        """Read the files of the requested half in the form of ``bytes2array``."""
        names = self.train_batch if self.train else self.test_batch
        return self.bytes2array([os.path.join(self.target_file, name) for name in names])


class CIFAR100(CIFAR10):
    """60,000 photographs: samples of an image (32, 32, 3) of uint8, its class and its group.

    Args:
        root: folder with the archive or its contents; default: ``CIFAR100`` in the user's MegEngine
            cache.
        train: the 50,000 for training; else the 10,000 for testing.
        download: fetch a missing archive, and unpack it.
        timeout: no effect; stalled connections are always closed.
    Raises:
        ValueError: a given folder does not exist, or a file is damaged.
        FileNotFoundError: there are no files.
    Example:
        >>> import pickle
        >>> os.makedirs("photos/cifar-100-python")
        >>> def write(name, content):
        ...     with open(f"photos/cifar-100-python/{name}", "wb") as file:
        ...         pickle.dump(content, file)
        >>> write("meta", {b"fine_label_names": [b"apple", b"beaver"]})
        >>> pixels = np.zeros((1, 3072), np.uint8)
        >>> write("test", {b"data": pixels, b"fine_labels": [0], b"coarse_labels": [1]})
        >>> image, category, group = CIFAR100("photos", train=False, download=False)[0]
        >>> image.shape, int(category), int(group)
        ((32, 32, 3), 0, 1)
    """

    raw_file_name = "cifar-100-python.tar.gz"
    raw_file_md5 = "eb9058c3a382ffc7106e4002c42a8d85"
    raw_file_dir = "cifar-100-python"
    train_batch = ["train"]
    test_batch = ["test"]
    meta_info = {"name": "meta"}
    _label_keys = (b"fine_labels", b"coarse_labels")
