# SPDX-License-Identifier: Apache-2.0
"""Images changed as a part of a net: noise, kernels, mixing, turning, warping.

Images are (N, C, H, W) unless a class says otherwise. Random modules with a ``seed`` draw from
their own stream, others from the shared one (``megengine.random.seed``).
"""

from .drawing import FillPoly
from .geometry import (
    CropAndPad,
    Flip,
    RandomHorizontalFlip,
    RandomVerticalFlip,
    Remap,
    Resize,
    Rot90,
    Rotate,
)
from .kernels import ActiveBlur, Dilation, Emboss, GaussianBlur, Sharpen
from .mixing import Cutmix, LinearContrast, Mixup
from .noise import (
    AdditiveElemwise,
    AdditiveGaussianNoise,
    AdditiveLaplaceNoise,
    AdditivePoissonNoise,
)

__all__ = [
    "ActiveBlur",
    "AdditiveElemwise",
    "AdditiveGaussianNoise",
    "AdditiveLaplaceNoise",
    "AdditivePoissonNoise",
    "CropAndPad",
    "Cutmix",
    "Dilation",
    "Emboss",
    "FillPoly",
    "Flip",
    "GaussianBlur",
    "LinearContrast",
    "Mixup",
    "RandomHorizontalFlip",
    "RandomVerticalFlip",
    "Remap",
    "Resize",
    "Rot90",
    "Rotate",
    "Sharpen",
]
