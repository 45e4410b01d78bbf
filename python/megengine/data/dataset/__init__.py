# SPDX-License-Identifier: Apache-2.0
"""Data sets."""

from ...core.room import room
from .meta_dataset import ArrayDataset, ConcatDataset, Dataset, StreamDataset

_VISION = (
    "CIFAR10",
    "CIFAR100",
    "COCO",
    "Cityscapes",
    "ImageFolder",
    "ImageNet",
    "MNIST",
    "Objects365",
    "PascalVOC",
    "VisionDataset",
)
__getattr__ = room(__name__, "vision", _VISION)

__all__ = ["ArrayDataset", "ConcatDataset", "Dataset", "StreamDataset", *_VISION]
