# SPDX-License-Identifier: Apache-2.0
"""Objects365 (Shao et al., 2019)."""

from .boxes import AnnotatedImages
from .class_names import names_of


class Objects365(AnnotatedImages):
    """Photographs with boxes of 365 classes, from files that the user has.

    Fields: ``"image"`` (H, W, 3) uint8 in blue, green, red, ``"boxes"`` (n, 4) float32 (left, top,
    right, bottom in pixels), ``"boxes_category"`` (n,) int32 from 1, ``"info"`` [height, width,
    file name].

    Args:
        root: folder of the photographs.
        ann_file: JSON file with the annotations.
        remove_images_without_annotations: omit photographs without a box.
        order: types of the fields of a sample; default: ``("image",)``.
    Raises:
        NotImplementedError: a type is not supported.
        ValueError: the file has another format.
    Example:
        >>> import json
        >>> described = {
        ...     "images": [{"id": 9, "file_name": "9.jpg", "height": 4, "width": 6}],
        ...     "annotations": [{"image_id": 9, "bbox": [1, 0, 4, 3], "category_id": 2}],
        ...     "categories": [{"id": 2, "name": "sneakers"}],
        ... }
        >>> with open("objects.json", "w") as file:
        ...     json.dump(described, file)
        >>> Objects365(".", "objects.json", order=["boxes", "boxes_category"])[0]
        (array([[1., 0., 5., 3.]], dtype=float32), array([1], dtype=int32))
    """

    supported_order = ("image", "boxes", "boxes_category", "info")

    class_names = names_of("Objects365")
