# SPDX-License-Identifier: Apache-2.0
"""Data sets."""

from ...core.lazy_import import lazy_getattr
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
_LATER = {"vision": "vision"} | {name: f"vision:{name}" for name in _VISION}
__getattr__ = lazy_getattr(__name__, _LATER)

__all__ = ["ArrayDataset", "ConcatDataset", "Dataset", "StreamDataset", *_VISION]
