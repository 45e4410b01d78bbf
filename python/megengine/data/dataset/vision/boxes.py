# SPDX-License-Identifier: Apache-2.0
"""Pictures with boxes, as COCO's JSON files describe them."""

import contextlib
import json
import os
from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from ....files.opening import open_input
from .meta_vision import VisionDataset
from .utils import read_image


def xyxy(box: Sequence[float]) -> tuple[float, float, float, float]:
    """Convert left, top, width, height to left, top, right, bottom."""
    x, y, width, height = box
    return x, y, x + width, y + height


@contextlib.contextmanager
def _described_by(path: str) -> Iterator[None]:
    """Adds the name of the file to errors about its contents."""
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError) as error:
        raise ValueError(f"{path} does not describe images and annotations: {error!r}") from error


class AnnotatedImages(VisionDataset):
    """Pictures and a JSON file with ``images``, ``annotations`` and ``categories``.

    Classes are numbered from 1 in the order of their numbers in the file; pictures are sorted by
    their numbers.

    Args:
        root: folder of the pictures.
        ann_file: the JSON file.
        remove_images_without_annotations: leave out pictures without a useful annotation, and of
            the others crowds and boxes without an area.
        order: kinds of the fields of a sample.
    Raises:
        ValueError: the file is not of this kind.
    """

    def __init__(
        self,
        root: str,
        ann_file: str,
        remove_images_without_annotations: bool = False,
        *,
        order: Sequence[str] | None = None,
    ):
        super().__init__(root, order=order)
        with _described_by(ann_file), open_input(ann_file) as file:
            self._index(json.load(file), remove_images_without_annotations)
        self._ann_file = ann_file

    def _index(self, content: dict, selects: bool) -> None:
        self.imgs = {image["id"]: image for image in content["images"]}
        self.cats = {category["id"]: category for category in content["categories"]}
        self.img_to_anns = defaultdict(list)
        for annotation in content["annotations"]:
            if annotation["image_id"] in self.imgs:
                self.img_to_anns[annotation["image_id"]].append(annotation)
        self.ids = sorted(self.imgs)
        if selects:
            self.ids = [i for i in self.ids if self._select(i)]
        self.json_category_id_to_contiguous_id = {k: i for i, k in enumerate(sorted(self.cats), 1)}
        self.contiguous_category_id_to_json_id = {
            i: k for k, i in self.json_category_id_to_contiguous_id.items()
        }

    def _select(self, image: int) -> bool:
        """Drops an image's useless annotations; whether it is worth keeping."""
        found = [a for a in self.img_to_anns[image] if a.get("iscrowd", 0) == 0]
        if "boxes" in self.order or "boxes_category" in self.order:
            found = [a for a in found if a["bbox"][2] > 0 and a["bbox"][3] > 0]
        if not self._is_useful(found):
            return False
        self.img_to_anns[image] = found
        return True

    def _is_useful(self, annotations: list[dict]) -> bool:
        return bool(annotations)

    def __getitem__(self, index: int) -> tuple:
        annotations = self.img_to_anns[self.ids[index]]
        with _described_by(self._ann_file):
            found = [self._field(kind, index, annotations) for kind in self.order]
        # Errors of a picture name the picture.
        return tuple(
            read_image(field) if kind == "image" else field
            for kind, field in zip(self.order, found, strict=True)
        )

    def _field(self, kind: str, index: int, annotations: list[dict]):
        """A field of a sample; of its image the path."""
        if kind == "image":
            return os.path.join(self.root, self.get_img_info(index)["file_name"])
        if kind == "boxes":
            boxes = [xyxy(a["bbox"]) for a in annotations]
            return np.array(boxes, np.float32).reshape(-1, 4)
        if kind == "boxes_category":
            numbers = self.json_category_id_to_contiguous_id
            return np.array([numbers[a["category_id"]] for a in annotations], np.int32)
        if kind == "info":
            info = self.get_img_info(index)
            return [info["height"], info["width"], info["file_name"]]
        raise NotImplementedError(f"{kind} is unsupported data type")

    def __len__(self) -> int:
        return len(self.ids)

    def get_img_info(self, index: int) -> dict:
        """The entry of an image in the file.

        Args:
            index: which sample.
        """
        return self.imgs[self.ids[index]]
