# SPDX-License-Identifier: Apache-2.0
"""Data sets."""

from ...core.not_available import not_available
from .meta_dataset import ArrayDataset, ConcatDataset, Dataset, StreamDataset

__all__ = ["ArrayDataset", "ConcatDataset", "Dataset", "StreamDataset"]
_NOT_AVAILABLE = (
    "CIFAR10",
    "CIFAR100",
    "COCO",
    "Cityscapes",
    "ImageFolder",
    "ImageNet",
    "MNIST",
    "Objects365",
    "PascalVOC",
    "vision",
)


def __getattr__(name: str):
    return not_available(__name__, name, _NOT_AVAILABLE)
