# SPDX-License-Identifier: Apache-2.0
"""Transforms of torchvision among ours."""

from collections.abc import Callable, Sequence

import numpy as np

from .base import VisionTransform


class TorchTransformCompose(VisionTransform):
    """Transforms of torchvision, one after the other, on (H, W, C) images in blue, green, red.

    Transforms of ``torchvision.transforms.transforms`` that need PIL images get one in red, green,
    blue; the result is an array again.

    Args:
        transforms: the transforms.
        order: kinds of the fields.
    Raises:
        RuntimeError: torchvision or Pillow is not installed.
    Example:
        >>> def turned(picture):  # as torchvision's transforms, it takes one of Pillow's images
        ...     return picture.rotate(90, expand=True)
        >>> TorchTransformCompose([turned]).apply(np.zeros((4, 6, 3), np.uint8)).shape
        (6, 4, 3)
    """

    def __init__(self, transforms: Sequence[Callable], *, order: Sequence[str] | None = None):
        super().__init__(order)
        self.transforms = list(transforms)

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        try:
            from PIL import Image  # is optional
        except ImportError as e:
            raise RuntimeError(f"[TorchTransformCompose] Pillow cannot be imported: {e}") from e
        changed = Image.fromarray(image[..., ::-1].astype(np.uint8))
        for transform in self.transforms:
            changed = transform(changed)
        if isinstance(changed, Image.Image):
            return np.ascontiguousarray(np.asarray(changed)[..., ::-1])
        # A tensor of torch's: (C, H, W), red first.
        return np.ascontiguousarray(np.asarray(changed).transpose(1, 2, 0)[..., ::-1])
