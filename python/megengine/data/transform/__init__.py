# SPDX-License-Identifier: Apache-2.0
"""Transforms of samples."""

from .meta_transform import PseudoTransform, Transform
from .vision import transform
from .vision.transform import *  # noqa: F403

__all__ = ["PseudoTransform", "Transform"]
__all__ += transform.__all__
