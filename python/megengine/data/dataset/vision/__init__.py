# SPDX-License-Identifier: Apache-2.0
"""Sets of images, read from files that the user has; MNIST and CIFAR can be fetched.

Pictures are read with OpenCV (``pip install opencv-python-headless``).
"""

from .cifar import CIFAR10, CIFAR100
from .cityscapes import Cityscapes
from .coco import COCO
from .folder import ImageFolder
from .imagenet import ImageNet
from .meta_vision import VisionDataset
from .mnist import MNIST
from .objects365 import Objects365
from .voc import PascalVOC

__all__ = [
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
]
