# SPDX-License-Identifier: Apache-2.0
"""What is done to images."""

from .transform import (
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
    "RandomCrop",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "ToMode",
    "VisionTransform",
]
