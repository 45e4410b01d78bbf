# SPDX-License-Identifier: Apache-2.0
"""What is done to samples."""

from .meta_transform import PseudoTransform, Transform
from .vision import (
    CenterCrop,
    Compose,
    GaussianNoise,
    Normalize,
    Pad,
    RandomCrop,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    ToMode,
    VisionTransform,
)

__all__ = [
    "CenterCrop",
    "Compose",
    "GaussianNoise",
    "Normalize",
    "Pad",
    "PseudoTransform",
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "ToMode",
    "Transform",
    "VisionTransform",
]
