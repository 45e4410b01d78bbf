# SPDX-License-Identifier: Apache-2.0
"""ImageNet's classification task of 2012 (Russakovsky et al., 2015)."""

import os
import shutil

from ....core.counted import counted
from .folder import ImageFolder
from .utils import _default_dataset_root, calculate_md5, logger, untar


class ImageNet(ImageFolder):
    """1.28 million photographs of 1,000 classes, from the archives that the user has.

    ``root`` contains ``ILSVRC2012_img_train.tar``, ``ILSVRC2012_img_val.tar`` and
    ``ILSVRC2012_devkit_t12.tar.gz``, or their unpacked contents: a folder per class in ``train``
    and ``val``. Nothing is downloaded, because users have to accept the licence of the owners.

    Args:
        root: the folder; default: ``ImageNet`` in the user's MegEngine cache.
        train: the photographs for training; else the 50,000 for validation.
        kwargs: as for ``ImageFolder``.
    Raises:
        FileNotFoundError: there are neither folders nor archives.
        ValueError: an archive is damaged.
    Example:
        >>> import cv2, numpy
        >>> os.makedirs("imagenet/val/n01440764")
        >>> _ = cv2.imwrite("imagenet/val/n01440764/1.jpg", numpy.zeros((4, 6, 3), numpy.uint8))
        >>> dataset = ImageNet("imagenet", train=False, class_name=True)
        >>> image, name = dataset[0]
        >>> image.shape, name
        ((4, 6, 3), 'n01440764')
    """

    raw_file_meta = {
        "train": ("ILSVRC2012_img_train.tar", "1d675b47d978889d74fa0da5fadfb00e"),
        "val": ("ILSVRC2012_img_val.tar", "29b22e2961454d5413ddabcf34fc5622"),
        "devkit": ("ILSVRC2012_devkit_t12.tar.gz", "fa75699e90414af021442c21a62c3abf"),
    }
    default_train_dir = "train"
    default_val_dir = "val"
    default_devkit_dir = "ILSVRC2012_devkit_t12"

    def __init__(self, root: str | None = None, train: bool = True, **kwargs):
        self.root = root = os.path.expanduser(
            root or os.path.join(_default_dataset_root(), "ImageNet")
        )
        if not os.path.isdir(root):
            raise FileNotFoundError(f"dir {root} does not exist")
        self.train = train
        folder = os.path.join(root, self.default_train_dir if train else self.default_val_dir)
        if not os.path.isdir(folder):
            logger.info("%s is not there yet; it is unpacked from its archive", folder)
            self._prepare_train() if train else self._prepare_val()
        super().__init__(folder, **kwargs)
        self.root = root

    def collect_class(self) -> dict[str, int]:
        """The classes' numbers by WordNet's names (n01440764), in their order."""
        return super().collect_class()

    @property
    def _devkit(self) -> str:
        return os.path.join(self.root, self.default_devkit_dir)

    def check_raw_file(self) -> bool:
        """Whether the archives are there with the sums that they should have."""
        return all(
            os.path.exists(path := os.path.join(self.root, name)) and calculate_md5(path) == md5
            for name, md5 in self.raw_file_meta.values()
        )

    def _unpack(self, kind: str, to: str) -> None:
        name, md5 = self.raw_file_meta[kind]
        path = os.path.join(self.root, name)
        if not os.path.exists(path):
            raise FileNotFoundError(f"there is no {path}, which {to} is made of")
        logger.info("checking %s", path)
        if calculate_md5(path) != md5:
            raise ValueError(f"{path} does not have the MD5 sum {md5}: it is damaged")
        untar(path, to)

    def _prepared(self, name: str, fill) -> None:
        """Make a folder completely or not at all."""
        target = os.path.join(self.root, name)
        unfinished = f"{target}.unfinished"
        shutil.rmtree(unfinished, ignore_errors=True)
        os.makedirs(unfinished)
        fill(unfinished)
        os.rename(unfinished, target)

    def _prepare_devkit(self) -> None:
        if not os.path.isdir(self._devkit):
            self._unpack("devkit", self.root)

    def _prepare_train(self) -> None:
        def fill(folder: str) -> None:
            self._unpack("train", folder)
            for archive in sorted(os.listdir(folder)):
                path = os.path.join(folder, archive)
                os.makedirs(to := os.path.splitext(path)[0])
                untar(path, to, remove=True)

        self._prepared(self.default_train_dir, fill)

    def _prepare_val(self) -> None:
        self._prepare_devkit()
        names = self.meta[0]
        truth = self.valid_ground_truth

        def fill(folder: str) -> None:
            self._unpack("val", folder)
            pictures = sorted(os.listdir(folder))
            if len(pictures) != len(truth):
                raise ValueError(
                    f"there are {counted(len(pictures), 'picture')}, but"
                    f" {counted(len(truth), 'class', 'classes')} in the list"
                )
            for picture, number in zip(pictures, truth, strict=True):
                if number not in names:
                    raise ValueError(f"the class {number} of {picture} is not described")
                to = os.path.join(folder, names[number])
                os.makedirs(to, exist_ok=True)
                os.rename(os.path.join(folder, picture), os.path.join(to, picture))

        self._prepared(self.default_val_dir, fill)

    @property
    def valid_ground_truth(self) -> list[int]:
        """The classes of the pictures for validation, as the kit numbers them from 1."""
        path = os.path.join(self._devkit, "data", "ILSVRC2012_validation_ground_truth.txt")
        with open(path, encoding="ascii") as file:
            try:
                return [int(line) for line in file]
            except ValueError as e:
                raise ValueError(f"{path} is not a list of class numbers: {e}") from e

    @property
    def meta(self) -> tuple[dict[int, str], dict[str, tuple[str, ...]]]:
        """The 1,000 classes: WordNet's name by the kit's number, and the words by that name.

        Raises:
            ValueError: the kit's file is damaged.
            ImportError: SciPy, which reads the kit's file, is not installed.
        """
        try:
            from scipy.io import loadmat  # is optional
        except ImportError as e:
            raise ImportError(f"[ImageNet] the development kit is read with SciPy: {e}") from e
        path = os.path.join(self._devkit, "data", "meta.mat")
        try:
            rows = loadmat(path, squeeze_me=True)["synsets"]
            leaves = [row for row in rows if row["num_children"] == 0]
            names = {int(row["ILSVRC2012_ID"]): str(row["WNID"]) for row in leaves}
            words = {str(row["WNID"]): tuple(str(row["words"]).split(", ")) for row in leaves}
        except OSError:
            raise
        except Exception as e:  # SciPy has many for damage
            raise ValueError(f"{path} is not a description of the classes, or damaged: {e}") from e
        return names, words
