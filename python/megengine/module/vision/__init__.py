# SPDX-License-Identifier: Apache-2.0
"""Images changed as a part of a net: noise, kernels, mixing, turning, warping.

Images are (N, C, H, W), but where a class says otherwise. Random ones draw from a stream of their
own when they have a ``seed``, else from the one that all share (``megengine.random.seed``).
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
