# SPDX-License-Identifier: Apache-2.0
"""What is done to samples."""

from ...core.not_available import not_available
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
_NOT_AVAILABLE = (
    "BrightnessTransform",
    "ColorJitter",
    "ContrastTransform",
    "CudaTransform",
    "HueTransform",
    "Lighting",
    "RandomResize",
    "RandomResizedCrop",
    "Resize",
    "SaturationTransform",
    "ShortestEdgeResize",
    "TorchTransformCompose",
)


def __getattr__(name: str):
    return not_available(__name__, name, _NOT_AVAILABLE)
