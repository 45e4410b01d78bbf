# SPDX-License-Identifier: Apache-2.0
"""Pictures in folders, one per class."""

import os
from collections.abc import Callable

import numpy as np

from .meta_vision import VisionDataset
from .utils import is_img, read_image


class ImageFolder(VisionDataset):
    """Samples of an image (H, W, 3) of uint8 in blue, green, red and its class: ``root/cat/*.png``.

    Classes are numbered in the order of their folders' names; pictures may be in subfolders.

    Args:
        root: folder that contains the class folders.
        check_valid_func: returns whether the file of a path belongs to the set; default: decides by
            the suffix.
        class_name: return the class's name instead of its number (int32).
    Raises:
        FileNotFoundError: there is no such folder.
    Example:
        >>> import cv2
        >>> for name in ("pets/cat/1.png", "pets/dog/1.png", "pets/dog/2.png"):
        ...     os.makedirs(os.path.dirname(name), exist_ok=True)
        ...     _ = cv2.imwrite(name, np.zeros((4, 6, 3), np.uint8))
        >>> dataset = ImageFolder("pets", class_name=True)
        >>> len(dataset), dataset.class_dict
        (3, {'cat': 0, 'dog': 1})
        >>> image, name = dataset[2]
        >>> image.shape, name
        ((4, 6, 3), 'dog')
    """

    def __init__(
        self,
        root: str,
        check_valid_func: Callable[[str], bool] | None = None,
        class_name: bool = False,
    ):
        super().__init__(root, order=("image", "image_category"))
        self.check_valid = check_valid_func or is_img
        self.class_name = class_name
        self.class_dict = self.collect_class()
        self.samples = self.collect_samples()

    def collect_samples(self) -> list[tuple[str, int]]:
        """The pictures' paths and the numbers of their classes, sorted by path in each class."""
        samples = []
        for name, number in self.class_dict.items():
            for folder, folders, files in os.walk(os.path.join(self.root, name), followlinks=True):
                folders.sort()
                paths = (os.path.join(folder, file) for file in sorted(files))
                samples += [(path, number) for path in paths if self.check_valid(path)]
        return samples

    def collect_class(self) -> dict[str, int]:
        """The classes' numbers by name."""
        with os.scandir(self.root) as entries:
            return {name: i for i, name in enumerate(sorted(e.name for e in entries if e.is_dir()))}

    def __getitem__(self, index: int) -> tuple:
        path, number = self.samples[index]
        return read_image(path), self._names[number] if self.class_name else np.int32(number)

    @property
    def _names(self) -> list[str]:
        return list(self.class_dict)

    def __len__(self) -> int:
        return len(self.samples)
