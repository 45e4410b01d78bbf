# SPDX-License-Identifier: Apache-2.0
"""Common objects in context (Lin et al., 2014)."""

from collections.abc import Sequence

import numpy as np

from .boxes import AnnotatedImages
from .class_names import names_of

# A pose is useful from so many points on that are to be seen.
_MIN_KEYPOINTS = 10


def has_valid_annotation(anno: list[dict], order: Sequence[str]) -> bool:
    """Whether the annotations of an image are worth learning from.

    Args:
        anno: the annotations.
        order: kinds of the fields that are wanted.
    Returns:
        False without annotations, without a box that has an area where boxes are wanted, or with
        fewer than ten visible points where keypoints are wanted.
    Example:
        >>> has_valid_annotation([{"bbox": [1, 0, 4, 3]}], order=["image", "boxes"])
        True
        >>> has_valid_annotation([], order=["image", "boxes"])
        False
    """
    if not anno:
        return False
    if "boxes" in order or "boxes_category" in order:
        if "bbox" not in anno[0]:
            return False
    if "keypoints" in order:
        if "keypoints" not in anno[0]:
            return False
        visible = sum(v > 0 for a in anno for v in a["keypoints"][2::3])
        return visible >= _MIN_KEYPOINTS
    return True


class COCO(AnnotatedImages):
    """Photographs with boxes, classes and poses, from files that the user has.

    Fields: ``"image"`` (H, W, 3) uint8 in blue, green, red, ``"boxes"`` (n, 4) float32 (left, top,
    right, bottom in pixels), ``"boxes_category"`` (n,) int32 from 1, ``"keypoints"`` (n, 17, 3)
    float32 (x, y, visibility), ``"info"`` [height, width, file name].

    Args:
        root: folder of the photographs.
        ann_file: JSON file with the annotations.
        remove_images_without_annotations: leave out photographs without a useful annotation.
        order: types of the fields of a sample; default: ``("image",)``.
    Raises:
        NotImplementedError: a type is not supported.
        ValueError: the file has another format.
    Example:
        >>> import json
        >>> described = {
        ...     "images": [{"id": 9, "file_name": "9.jpg", "height": 4, "width": 6}],
        ...     "annotations": [{"image_id": 9, "bbox": [1, 0, 4, 3], "category_id": 17}],
        ...     "categories": [{"id": 17, "name": "cat"}],
        ... }
        >>> with open("coco.json", "w") as file:
        ...     json.dump(described, file)
        >>> COCO(".", "coco.json", order=["boxes", "boxes_category", "info"])[0]
        (array([[1., 0., 5., 3.]], dtype=float32), array([1], dtype=int32), [4, 6, '9.jpg'])
    """

    supported_order = ("image", "boxes", "boxes_category", "keypoints", "info")

    def _is_useful(self, annotations: list[dict]) -> bool:
        return has_valid_annotation(annotations, self.order)

    def _field(self, kind: str, index: int, annotations: list[dict]):
        if kind == "keypoints":
            points = [a["keypoints"] for a in annotations]
            return np.array(points, np.float32).reshape(-1, len(self.keypoint_names), 3)
        return super()._field(kind, index, annotations)

    class_names = names_of("COCO")

    # The classes' numbers in the published files: 1 to 90 without some.
    classes_originID = dict(
        zip(
            class_names,
            [k for k in range(1, 91) if k not in (12, 26, 29, 30, 45, 66, 68, 69, 71, 83)],
            strict=True,
        )
    )
    keypoint_names = (
        "nose",
        "left_eye",
        "right_eye",
        "left_ear",
        "right_ear",
        "left_shoulder",
        "right_shoulder",
        "left_elbow",
        "right_elbow",
        "left_wrist",
        "right_wrist",
        "left_hip",
        "right_hip",
        "left_knee",
        "right_knee",
        "left_ankle",
        "right_ankle",
    )
