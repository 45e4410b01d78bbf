# SPDX-License-Identifier: Apache-2.0
"""Streets of 50 cities (Cordts et al., 2016)."""

import os
from collections.abc import Sequence

import numpy as np

from ....core.opencv import opencv
from .class_names import names_of
from .meta_vision import VisionDataset
from .utils import _read_picture, read_image

# The labels in the files that are classes.
_LABELS = (7, 8, 11, 12, 13, 17, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 31, 32, 33)


class Cityscapes(VisionDataset):
    """Photographs of streets with the class of each pixel, from files that the user has.

    Fields: ``"image"`` (H, W, 3) uint8 in blue, green, red, ``"mask"`` (H, W, 1) uint8 (255: no
    class), ``"info"`` [height, width, path].

    Args:
        root: folder with ``leftImg8bit`` and ``gtFine`` or ``gtCoarse``.
        image_set: ``"train"``, ``"val"``, ``"test"``, and with coarse masks ``"train_extra"``.
        mode: ``"gtFine"`` or ``"gtCoarse"``.
        order: types of the fields of a sample; default: ``("image",)``.
    Raises:
        AssertionError: ``mode`` is unknown, or has no such ``image_set``.
        FileNotFoundError: a folder is missing.
    Example:
        >>> import cv2
        >>> for kind in ("leftImg8bit", "gtFine"):
        ...     os.makedirs(f"streets/{kind}/val/bonn")
        >>> photo, labels = np.zeros((2, 4, 3), np.uint8), np.full((2, 4), 26, np.uint8)
        >>> _ = cv2.imwrite("streets/leftImg8bit/val/bonn/bonn_1_leftImg8bit.png", photo)
        >>> _ = cv2.imwrite("streets/gtFine/val/bonn/bonn_1_gtFine_labelIds.png", labels)
        >>> image, mask = Cityscapes("streets", "val", "gtFine", order=["image", "mask"])[0]
        >>> image.shape, mask.shape, Cityscapes.class_names[mask[0, 0, 0]]
        ((2, 4, 3), (2, 4, 1), 'car')
    """

    supported_order = ("image", "mask", "info")

    def __init__(self, root: str, image_set: str, mode: str, *, order: Sequence[str] | None = None):
        super().__init__(root, order=order)
        sets = {"gtFine": ("train", "val", "test"), "gtCoarse": ("train", "train_extra", "val")}
        assert mode in sets, f"[Cityscapes] mode is 'gtFine' or 'gtCoarse', got {mode!r}"
        assert image_set in sets[mode], (
            f"[Cityscapes] with {mode} image_set is one of {sets[mode]}, got {image_set!r}"
        )
        self.mode = mode
        self.images_dir = os.path.join(self.root, "leftImg8bit", image_set)
        self.masks_dir = os.path.join(self.root, mode, image_set)
        self.images, self.masks = [], []
        for city in sorted(os.listdir(self.images_dir)):
            for name in sorted(os.listdir(os.path.join(self.images_dir, city))):
                target = f"{name.split('_leftImg8bit')[0]}_{self._get_target_suffix(mode)}"
                self.images.append(os.path.join(self.images_dir, city, name))
                self.masks.append(os.path.join(self.masks_dir, city, target))

    def __getitem__(self, index: int) -> tuple:
        return tuple(self._field(kind, index) for kind in self.order)

    def _field(self, kind: str, index: int):
        if kind == "mask":
            labels = _read_picture(self.masks[index], opencv().IMREAD_GRAYSCALE)
            return self._trans_mask(labels)[:, :, np.newaxis]
        image = read_image(self.images[index])
        return image if kind == "image" else [*image.shape[:2], self.images[index]]

    def __len__(self) -> int:
        return len(self.images)

    def _trans_mask(self, mask: np.ndarray) -> np.ndarray:
        """Convert the files' labels to classes from 0."""
        classes = np.full(256, 255, np.uint8)
        classes[list(_LABELS)] = np.arange(len(_LABELS))
        return classes[mask]

    def _get_target_suffix(self, mode: str) -> str:
        return f"{mode}_labelIds.png"

    class_names = names_of("Cityscapes")
