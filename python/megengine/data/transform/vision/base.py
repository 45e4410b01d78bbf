# SPDX-License-Identifier: Apache-2.0
"""The base class of image transforms, and their composition."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..meta_transform import Transform

# Suffixes of the field types that stay unchanged unless a transform has a rule for them.
_KEPT = ("category", "info")
_CORNERS = np.array([0, 1, 2, 1, 0, 3, 2, 3])  # indices of a box's corners in its four numbers


class VisionTransform(Transform):
    """Base of the image transforms: calls ``_apply_<kind>`` for each field.

    Derived classes define ``_apply_image``, and ``_apply_coords`` and ``_apply_mask`` for such
    fields; boxes, keypoints and polygons are transformed through their coordinates.

    Args:
        order: types of the fields: ``"image"``, ``"coords"``, ``"boxes"``, ``"mask"``,
            ``"keypoints"``, ``"polygons"``, types with a rule in the transform, and names that end
            in ``category`` or ``info``, whose fields stay unchanged.
    Raises:
        ValueError: ``order`` is not a sequence, or has ``"batch"``.
        NotImplementedError: the transform has no rule for a type of field.
    Example:
        >>> class Inverted(VisionTransform):
        ...     def _apply_image(self, image):
        ...         return 255 - image
        >>> image = np.full((1, 2, 3), 5, np.uint8)
        >>> Inverted().apply(image)[0, 0]
        array([250, 250, 250], dtype=uint8)
        >>> changed, category = Inverted(order=["image", "image_category"]).apply((image, 7))
        >>> category
        7
    """

    def __init__(self, order: Sequence[str] | None = None):
        if order is None:
            order = ("image",)
        elif not isinstance(order, Sequence) or isinstance(order, str):
            raise ValueError(f"order should be a sequence of names, got {order!r}")
        for kind in order:
            if kind == "batch":
                raise ValueError(f"order cannot have {kind!r}: samples are changed one by one")
            if not kind.endswith(_KEPT) and self._get_apply(kind) is None:
                raise NotImplementedError(f"[{type(self).__name__}] there is no rule for {kind!r}")
        self.order = tuple(order)

    def _take_order(self, order: Sequence[str]) -> None:
        """Set the types of the fields; ``Compose`` calls this for its transforms."""
        self.order = tuple(order)

    def apply(self, input: Any) -> Any:
        """Change one sample: an image, or a tuple of fields, of which one alone comes back bare."""
        fields = input if isinstance(input, tuple) else (input,)
        out = []
        for kind, field in zip(self.order, fields, strict=False):
            rule = self._get_apply(kind)
            out.append(field if rule is None else rule(field))
        out += fields[len(out) :]
        return self._bare(tuple(out))

    @staticmethod
    def _bare(sample):
        """A sample as it comes back: of a tuple with one field that alone."""
        return sample[0] if isinstance(sample, tuple) and len(sample) == 1 else sample

    def _get_apply(self, key: str):
        return getattr(self, f"_apply_{key}", None)

    def _get_image(self, input) -> np.ndarray:
        """The field of a sample that is its image. Raises ValueError if the sample has none."""
        fields = input if isinstance(input, tuple) else (input,)
        if "image" not in self.order[: len(fields)]:
            raise ValueError(f"[{type(self).__name__}] a sample of {self.order} has no image")
        return fields[self.order.index("image")]

    def _apply_image(self, image: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"[{type(self).__name__}] there is no rule for 'image'")

    def _apply_coords(self, coords: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"[{type(self).__name__}] there is no rule for 'coords'")

    def _apply_mask(self, mask: np.ndarray) -> np.ndarray:
        raise NotImplementedError(f"[{type(self).__name__}] there is no rule for 'mask'")

    def _apply_boxes(self, boxes: np.ndarray) -> np.ndarray:
        """(N, 4): the bounding boxes of the transformed corners."""
        corners = np.asarray(boxes).reshape(-1, 4)[:, _CORNERS].reshape(-1, 2)
        moved = self._apply_coords(corners).reshape(-1, 4, 2)
        return np.concatenate([moved.min(axis=1), moved.max(axis=1)], axis=1)

    def _apply_keypoints(self, keypoints: np.ndarray) -> np.ndarray:
        """(…, 3): where they are, and whether they are to be seen."""
        moved = self._apply_coords(keypoints[..., :2].reshape(-1, 2))
        return np.concatenate([moved.reshape(*keypoints.shape[:-1], 2), keypoints[..., 2:]], -1)

    def _apply_polygons(self, polygons: Sequence) -> list:
        """A list of arrays (…, 2) for each instance."""
        return [[self._apply_coords(part) for part in instance] for instance in polygons]


class PixelTransform(VisionTransform):
    """Base of the transforms of pixels, which leave masks and places alone."""

    def _apply_coords(self, coords: np.ndarray) -> np.ndarray:
        return coords

    _apply_mask = _apply_coords
    _apply_keypoints = _apply_coords


class Compose(VisionTransform):
    """Transforms one after the other.

    Args:
        transforms: the transforms.
        batch_compose: apply each transform to the whole batch before the next transform.
        shuffle_indices: groups of transforms, numbered from 1, whose order is random in each batch.
        order: types of the fields, for all transforms.
    Raises:
        ValueError: ``batch_compose`` with ``shuffle_indices``.
    Example:
        >>> from megengine.data.transform import CenterCrop, ToMode
        >>> chain = Compose([CenterCrop(2), ToMode("CHW")])
        >>> chain.apply(np.zeros((4, 6, 3), np.uint8)).shape
        (3, 2, 2)
    """

    def __init__(
        self,
        transforms: Sequence[Transform] = (),
        batch_compose: bool = False,
        shuffle_indices: Sequence[Sequence[int]] | None = None,
        *,
        order: Sequence[str] | None = None,
    ):
        super().__init__(order)
        if batch_compose and shuffle_indices is not None:
            raise ValueError("Do not support shuffle when apply transforms along the whole batch")
        self.transforms = list(transforms)
        self.batch_compose = batch_compose
        self.shuffle_indices = shuffle_indices
        if order is not None:
            self._take_order(order)

    def _take_order(self, order: Sequence[str]) -> None:
        super()._take_order(order)
        for transform in self.transforms:
            if isinstance(transform, VisionTransform):
                transform._take_order(order)

    def apply_batch(self, inputs: Sequence) -> tuple:
        if not self.batch_compose:
            return super().apply_batch(inputs)
        for transform in self.transforms:
            inputs = transform.apply_batch(inputs)
        return tuple(inputs)

    def apply(self, input: Any) -> Any:
        for transform in self._in_order():
            input = transform.apply(input)
        return input

    def _in_order(self) -> list[Transform]:
        order = list(self.transforms)
        for group in self.shuffle_indices or ():
            places = [k - 1 for k in group]
            mixed = np.random.permutation(len(places))
            for place, k in zip(places, mixed, strict=True):
                order[place] = self.transforms[places[k]]
        return order
