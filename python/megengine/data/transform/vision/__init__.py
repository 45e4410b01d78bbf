# SPDX-License-Identifier: Apache-2.0
"""Transforms of images."""

from . import functional, transform
from .transform import *  # noqa: F403

__all__ = ["functional"]
__all__ += transform.__all__
