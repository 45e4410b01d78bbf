# SPDX-License-Identifier: Apache-2.0
"""Pascal's visual object classes (Everingham et al., 2010)."""

import os
from collections.abc import Sequence
from xml.etree import ElementTree as ET

import numpy as np

from ....files.opening import open_input
from .class_names import names_of
from .meta_vision import VisionDataset
from .utils import read_image

_LIMIT = 1 << 20  # bytes of a description; those published have a few thousand


class PascalVOC(VisionDataset):
    """Photographs with boxes or with masks of 20 classes, from files that the user has.

    Fields: ``"image"`` (H, W, 3) uint8 in blue, green, red, ``"boxes"`` (n, 4) float32 (left, top,
    right, bottom in pixels), ``"boxes_category"`` (n,) int32 from 1, ``"mask"`` (H, W, 1) uint8 (0
    is the background, 255 no class), ``"info"`` [height, width, name].

    Args:
        root: folder with ``JPEGImages``, ``Annotations``, ``ImageSets`` and ``SegmentationClass``.
        image_set: name of a list in ``ImageSets``: ``"train"``, ``"val"``, ``"trainval"``.
        order: types of the fields of a sample; it must contain boxes or a mask.
    Raises:
        ValueError: ``order`` contains both boxes and masks, or neither.
    Example:
        >>> import cv2
        >>> for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        ...     os.makedirs(f"voc/{name}")
        >>> _ = cv2.imwrite("voc/JPEGImages/1.jpg", np.zeros((4, 6, 3), np.uint8))
        >>> box = "<xmin>1</xmin><ymin>0</ymin><xmax>5</xmax><ymax>3</ymax>"
        >>> thing = f"<object><name>cat</name><bndbox>{box}</bndbox></object>"
        >>> with open("voc/Annotations/1.xml", "w") as file:
        ...     _ = file.write(f"<annotation>{thing}</annotation>")
        >>> with open("voc/ImageSets/Main/val.txt", "w") as file:
        ...     _ = file.write("1")
        >>> boxes, kinds = PascalVOC("voc", "val", order=["boxes", "boxes_category"])[0]
        >>> boxes, PascalVOC.class_names[kinds[0] - 1]
        (array([[1., 0., 5., 3.]], dtype=float32), 'cat')
        >>> dataset = PascalVOC("voc", "val", order=["image", "boxes"])
        >>> dataset.get_img_info(0)
        {'height': 4, 'width': 6, 'file_name': '1'}
        >>> from xml.etree import ElementTree
        >>> dataset.parse_voc_xml(ElementTree.fromstring(f"<annotation>{thing}</annotation>"))
        {'annotation': {'object': [{'name': 'cat', 'bndbox': {'xmin': '1', 'ymin': '0', 'xmax': '5',
        'ymax': '3'}}]}}
    """

    supported_order = ("image", "boxes", "boxes_category", "mask", "info")

    def __init__(self, root: str, image_set: str, *, order: Sequence[str] | None = None):
        if order is not None and "mask" in order and {"boxes", "boxes_category"} & set(order):
            raise ValueError("PascalVOC only supports boxes & boxes_category or mask, not both.")
        super().__init__(root, order=order)
        self.image_set = image_set
        is_mask = "mask" in self.order
        listed = os.path.join(
            self.root, "ImageSets", "Segmentation" if is_mask else "Main", f"{image_set}.txt"
        )
        with open(listed, encoding="utf-8") as file:
            self.file_names = [line.split()[0] for line in file if line.strip()]
        self.images = self._paths("JPEGImages", "jpg")
        if is_mask:
            self.masks = self._paths("SegmentationClass", "png")
        else:
            self.annotations = self._paths("Annotations", "xml")
        self.img_infos = {}

    def _paths(self, folder: str, suffix: str) -> list[str]:
        return [os.path.join(self.root, folder, f"{name}.{suffix}") for name in self.file_names]

    def __getitem__(self, index: int) -> tuple:
        image = read_image(self.images[index]) if "image" in self.order else None
        described = None
        if {"boxes", "boxes_category"} & set(self.order):
            described = self._objects(index)
        return tuple(self._field(kind, index, image, described) for kind in self.order)

    def _field(self, kind: str, index: int, image, described):
        if kind == "image":
            return image
        if kind == "boxes":
            return described[0]
        if kind == "boxes_category":
            return described[1]
        if kind == "mask":
            return self._trans_mask(read_image(self.masks[index]))[:, :, np.newaxis]
        info = self.get_img_info(index, image)
        return [info["height"], info["width"], info["file_name"]]

    def _objects(self, index: int) -> tuple[np.ndarray, np.ndarray]:
        path = self.annotations[index]
        # Parsing takes a multiple of the file's size in memory, and more if entities refer to each
        # other.
        with open_input(path) as file:
            content = file.read(_LIMIT + 1)
        if len(content) > _LIMIT:
            raise ValueError(f"{path} has more than {_LIMIT} bytes")
        if b"<!ENTITY" in content or b"\0" in content:  # the latter in texts of UTF-16
            raise ValueError(f"{path} defines entities, which no description needs")
        try:
            found = self.parse_voc_xml(ET.fromstring(content))["annotation"].get("object", [])
            boxes = [
                [float(o["bndbox"][k]) for k in ("xmin", "ymin", "xmax", "ymax")] for o in found
            ]
            numbers = [self.class_names.index(o["name"]) + 1 for o in found]
        except (ET.ParseError, LookupError, TypeError, AttributeError, ValueError) as e:
            raise ValueError(f"{path} is not a description of a photograph: {e}") from e
        except RecursionError as e:
            raise ValueError(f"{path} is not a description of a photograph: {e}") from e
        return np.array(boxes, np.float32).reshape(-1, 4), np.array(numbers, np.int32)

    def __len__(self) -> int:
        return len(self.images)

    def get_img_info(self, index: int, image: np.ndarray | None = None) -> dict:
        """The height, width and name of a photograph.

        Args:
            index: which sample.
            image: its pixels, if they have been read.
        """
        if index not in self.img_infos:
            image = read_image(self.images[index]) if image is None else image
            height, width = image.shape[:2]
            name = self.file_names[index]
            self.img_infos[index] = {"height": height, "width": width, "file_name": name}
        return self.img_infos[index]

    def _trans_mask(self, mask: np.ndarray) -> np.ndarray:
        """Convert colours to classes."""
        weights = np.array([1 << 16, 1 << 8, 1])
        classes = np.full(1 << 24, 255, np.uint8)
        classes[np.array(self.class_colors) @ weights] = np.arange(len(self.class_colors))
        return classes[mask @ weights]

    def parse_voc_xml(self, node) -> dict:
        """An element as dictionaries; the ``object`` elements are a list.

        Args:
            node: the element.
        Returns:
            ``{tag: {child: …}}``, or ``{tag: text}`` for one without children.
        """
        if not len(node):
            return {node.tag: (node.text or "").strip()}
        children = {}
        for child in node:
            ((tag, value),) = self.parse_voc_xml(child).items()
            if tag == "object":
                children.setdefault(tag, []).append(value)
            else:
                children[tag] = value
        return {node.tag: children}

    class_names = names_of("PascalVOC")
    # Colours of the background and the classes, in blue, green, red: from bits of their numbers.
    class_colors = [
        [(i >> k & 1) * 128 + (i >> k + 3 & 1) * 64 for k in (2, 1, 0)] for i in range(21)
    ]
