# SPDX-License-Identifier: Apache-2.0
"""Sets of images, on small files of the published formats."""

import errno
import gzip
import hashlib
import json
import os
import pickle
import struct
import tarfile

import numpy as np
import pytest

from megengine.data.dataset import (
    CIFAR10,
    CIFAR100,
    COCO,
    MNIST,
    Cityscapes,
    ImageFolder,
    ImageNet,
    Objects365,
    PascalVOC,
    VisionDataset,
)
from megengine.data.dataset.vision.coco import has_valid_annotation
from megengine.data.dataset.vision.utils import untar

cv2 = pytest.importorskip("cv2")


def write_idx(path, array):
    header = struct.pack(f">{1 + array.ndim}I", 0x800 + array.ndim, *array.shape)
    with gzip.open(path, "wb") as file:
        file.write(header + array.tobytes())


def write_picture(path, pixels=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    if pixels is None:
        pixels = np.full((4, 6, 3), (1, 2, 3), np.uint8)
    # Without loss, whatever the name says.
    path.write_bytes(cv2.imencode(".png", pixels)[1].tobytes())


def md5_of(path):
    return hashlib.md5(path.read_bytes()).hexdigest()


@pytest.fixture
def digits(tmp_path):
    random = np.random.RandomState(0)
    for name, count in (("train", 5), ("t10k", 3)):
        images = random.randint(0, 256, (count, 28, 28)).astype(np.uint8)
        write_idx(tmp_path / f"{name}-images-idx3-ubyte.gz", images)
        write_idx(tmp_path / f"{name}-labels-idx1-ubyte.gz", np.arange(count, dtype=np.uint8))
    return tmp_path


def test_mnist(digits):
    data = MNIST(str(digits), train=False, download=False)
    image, label = data[2]
    assert len(data) == 3 and image.shape == (28, 28, 1) and image.dtype == np.uint8
    assert label == 2 and label.dtype == np.int32 and data.order == ("image", "image_category")
    assert data.meta["images"] == {"magic": 2051, "imgs": 3, "height": 28, "width": 28}
    assert len(MNIST(str(digits), download=False)) == 5


def test_damaged_mnist_raises(digits):
    with pytest.raises(ValueError, match="does not exist"):
        MNIST(str(digits / "elsewhere"))
    labels = digits / "train-labels-idx1-ubyte.gz"
    write_idx(labels, np.arange(4, dtype=np.uint8))
    with pytest.raises(ValueError, match="5 images.*4 labels"):
        MNIST(str(digits), download=False)
    labels.write_bytes(gzip.compress(struct.pack(">II", 2049, 1 << 31) + b"12345"))
    with pytest.raises(ValueError, match="should have 2147483648 bytes"):
        MNIST(str(digits), download=False)
    labels.write_bytes(gzip.compress(b"nothing"))
    with pytest.raises(ValueError, match="cut off"):
        MNIST(str(digits), download=False)
    labels.unlink()
    with pytest.raises(ValueError, match="download=True"):
        MNIST(str(digits), download=False)


def write_cifar(root, kind, names, labels):
    folder = root / kind.raw_file_dir
    folder.mkdir()
    random = np.random.RandomState(1)
    for name in names:
        pixels = random.randint(0, 256, (2, 3072)).astype(np.uint8)
        content = {b"data": pixels, **{key: [1, 2] for key in labels}}
        (folder / name).write_bytes(pickle.dumps(content, protocol=2))
    content = {b"label_names": [b"a", b"b"]}
    (folder / kind.meta_info["name"]).write_bytes(pickle.dumps(content, protocol=2))
    return folder


def test_cifar10(tmp_path, monkeypatch):
    names = [*CIFAR10.train_batch, *CIFAR10.test_batch]
    folder = write_cifar(tmp_path, CIFAR10, names, [b"labels"])
    data = CIFAR10(str(tmp_path), train=False, download=False)
    batch = pickle.loads((folder / "test_batch").read_bytes())
    image, label = data[1]
    planes = batch[b"data"][1].reshape(3, 32, 32)
    assert len(data) == 2 and label == 2 and (image[..., 2] == planes[0]).all()
    assert (image[..., 0] == planes[2]).all() and data.meta == {b"label_names": [b"a", b"b"]}
    assert len(CIFAR10(str(tmp_path), download=False)) == 10
    # From the archive, too, and from the folder that was in it.
    archive = tmp_path / "other" / CIFAR10.raw_file_name
    archive.parent.mkdir()
    with tarfile.open(archive, "w:gz") as file:
        file.add(folder, CIFAR10.raw_file_dir)
    monkeypatch.setattr(CIFAR10, "raw_file_md5", md5_of(archive))
    assert len(CIFAR10(str(archive.parent))) == 10
    assert len(CIFAR10(str(folder))) == 10


@pytest.mark.parametrize("kind", ["outside", "absolute", "link"])
def test_archives_do_not_leave_their_folder(tmp_path, kind):
    entry = tarfile.TarInfo({"outside": "../x", "absolute": "/tmp/x", "link": "x"}[kind])
    if kind == "link":
        entry.type, entry.linkname = tarfile.SYMTYPE, "/etc"
    (tmp_path / "to").mkdir()
    with tarfile.open(tmp_path / "archive.tar", "w") as file:
        file.addfile(tarfile.TarInfo("first"))
        file.addfile(entry)
    with pytest.raises(ValueError, match="not a file inside"):
        untar(str(tmp_path / "archive.tar"), str(tmp_path / "to"))
    assert not list((tmp_path / "to").iterdir())


def test_unpacking_that_is_interrupted_leaves_nothing(tmp_path, monkeypatch):
    (tmp_path / "photos/more").mkdir(parents=True)
    for name in ("a", "b", "more/c"):
        (tmp_path / "photos" / name).write_text(name)
    archive, to = tmp_path / "photos.tar", tmp_path / "to"
    with tarfile.open(archive, "w") as file:
        file.add(tmp_path / "photos", "photos")
    written, write = [], tarfile.TarFile.makefile

    def fail(self, member, target):
        if written:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(target)
        write(self, member, target)

    with monkeypatch.context() as patch:
        patch.setattr(tarfile.TarFile, "makefile", fail)
        with pytest.raises(OSError, match="No space left"):
            untar(str(archive), str(to))
    assert written and not list(to.iterdir())
    # Unpacked into a folder that has some of the files, and others.
    (to / "photos/more").mkdir(parents=True)
    (to / "photos/a").write_text("old")
    (to / "photos/more/d").write_text("d")
    untar(str(archive), str(to))
    found = {str(p.relative_to(to)): p.read_text() for p in to.rglob("*") if p.is_file()}
    names = ("a", "b", "more/c")
    assert found == {f"photos/{name}": name for name in names} | {"photos/more/d": "d"}


def test_cifar100_has_two_classes(tmp_path):
    write_cifar(tmp_path, CIFAR100, ["train", "test"], [b"fine_labels", b"coarse_labels"])
    _, fine, coarse = CIFAR100(str(tmp_path), download=False)[0]
    assert (fine, coarse) == (1, 1)


def test_cifar_runs_nothing_of_a_file(tmp_path):
    class Print:
        def __reduce__(self):
            return print, ("run",)

    names = [*CIFAR10.train_batch, *CIFAR10.test_batch]
    folder = write_cifar(tmp_path, CIFAR10, names, [b"labels"])
    (folder / "test_batch").write_bytes(pickle.dumps({b"data": Print()}))
    with pytest.raises(ValueError, match=r"builtins.print, which is not among what may be loaded"):
        CIFAR10(str(tmp_path), train=False, download=False)
    (folder / "test_batch").write_bytes(pickle.dumps({b"data": 3, b"labels": [1]}))
    with pytest.raises(ValueError, match="3072"):
        CIFAR10(str(tmp_path), train=False, download=False)
    with pytest.raises(FileNotFoundError, match="download=True"):
        CIFAR100(str(tmp_path), download=False)


def test_image_folder(tmp_path):
    for name in ("cat/0.png", "cat/deep/1.jpg", "dog/a.png"):
        write_picture(tmp_path / name)
    (tmp_path / "dog/notes.txt").write_text("not a picture")
    data = ImageFolder(str(tmp_path))
    assert data.class_dict == {"cat": 0, "dog": 1} and len(data) == 3
    image, number = data[2]
    assert number == 1 and image.shape == (4, 6, 3) and image[0, 0].tolist() == [1, 2, 3]
    assert ImageFolder(str(tmp_path), class_name=True)[0][1] == "cat"
    assert len(ImageFolder(str(tmp_path), check_valid_func=lambda p: p.endswith("a.png"))) == 1
    (tmp_path / "dog/a.png").write_text("not a picture")
    with pytest.raises(ValueError, match="not a picture"):
        data[2]
    with pytest.raises(FileNotFoundError):
        ImageFolder(str(tmp_path / "elsewhere"))


def tar_of(path, folder):
    with tarfile.open(path, "w") as file:
        for entry in sorted(folder.iterdir()):
            file.add(entry, entry.name)


def test_imagenet_is_unpacked_from_its_archives(tmp_path, monkeypatch):
    io = pytest.importorskip("scipy.io")
    made, root = tmp_path / "made", tmp_path / "root"
    (made / "train").mkdir(parents=True)
    root.mkdir()
    for name in ("n01", "n02"):
        write_picture(made / name / f"{name}_1.JPEG")
        tar_of(made / "train" / f"{name}.tar", made / name)
    tar_of(root / "ILSVRC2012_img_train.tar", made / "train")
    for i in (1, 2, 3):
        write_picture(made / "val" / f"ILSVRC2012_val_0000000{i}.JPEG")
    tar_of(root / "ILSVRC2012_img_val.tar", made / "val")
    kit = made / "kit" / ImageNet.default_devkit_dir / "data"
    kit.mkdir(parents=True)
    (kit / "ILSVRC2012_validation_ground_truth.txt").write_text("2\n1\n2\n")
    kind = [
        ("ILSVRC2012_ID", object),
        ("WNID", object),
        ("words", object),
        ("num_children", object),
    ]
    rows = [(1, "n01", "tench, Tinca", 0), (2, "n02", "goldfish", 0), (3, "n00", "fish", 2)]
    io.savemat(kit / "meta.mat", {"synsets": np.array(rows, kind)})
    with tarfile.open(root / "ILSVRC2012_devkit_t12.tar.gz", "w:gz") as file:
        file.add(made / "kit" / ImageNet.default_devkit_dir, ImageNet.default_devkit_dir)
    sums = {k: (name, md5_of(root / name)) for k, (name, _) in ImageNet.raw_file_meta.items()}
    with pytest.raises(ValueError, match="damaged"):
        ImageNet(str(root))
    assert not (root / "train").exists()
    monkeypatch.setattr(ImageNet, "raw_file_meta", sums)
    train, val = ImageNet(str(root)), ImageNet(str(root), train=False)
    assert train.check_raw_file() and train.class_dict == {"n01": 0, "n02": 1}
    assert [number for _, number in val.samples] == [0, 1, 1] and val[0][0].shape == (4, 6, 3)
    assert val.meta[1]["n01"] == ("tench", "Tinca") and val.valid_ground_truth == [2, 1, 2]
    with pytest.raises(FileNotFoundError):
        ImageNet(str(tmp_path / "elsewhere"))


KEYPOINTS = [1, 1, 2] * 17


@pytest.fixture
def annotated(tmp_path):
    for name in ("a.jpg", "b.jpg", "c.jpg"):
        write_picture(tmp_path / "images" / name)
    images = [(5, "b.jpg"), (3, "a.jpg"), (9, "c.jpg")]
    boxes = [(5, [1, 1, 2, 2], 18, 0), (5, [0, 0, 3, 1], 90, 1), (3, [0, 0, 0, 0], 1, 0)]
    content = {
        "images": [{"id": i, "file_name": n, "height": 4, "width": 6} for i, n in images],
        "annotations": [
            {"image_id": i, "bbox": b, "category_id": c, "iscrowd": crowd, "keypoints": KEYPOINTS}
            for i, b, c, crowd in boxes
        ],
        "categories": [{"id": i, "name": str(i)} for i in (18, 1, 90)],
    }
    (tmp_path / "annotations.json").write_text(json.dumps(content))
    return str(tmp_path / "images"), str(tmp_path / "annotations.json")


@pytest.mark.parametrize("kind", [COCO, Objects365])
def test_boxes(annotated, kind):
    data = kind(*annotated, order=("image", "boxes", "boxes_category", "info"))
    assert len(data) == 3
    image, boxes, classes, info = data[1]
    assert image.shape == (4, 6, 3) and info == [4, 6, "b.jpg"]
    assert boxes.dtype == np.float32 and boxes.tolist() == [[1, 1, 3, 3], [0, 0, 3, 1]]
    assert classes.dtype == np.int32 and classes.tolist() == [2, 3]
    assert data[2][1].shape == (0, 4)
    useful = kind(*annotated, True, order=("boxes",))
    assert len(useful) == 1 and useful[0][0].tolist() == [[1, 1, 3, 3]]
    with pytest.raises(NotImplementedError, match="mask"):
        kind(*annotated, order=("image", "mask"))


def test_coco_poses(annotated, tmp_path):
    data = COCO(*annotated, order=("keypoints",))
    assert data[1][0].shape == (2, 17, 3) and data[2][0].shape == (0, 17, 3)
    assert len(COCO.class_names) == 80 and COCO.classes_originID["toothbrush"] == 90
    box = {"bbox": [0, 0, 2, 2]}
    assert has_valid_annotation([box], ("image", "boxes")) and not has_valid_annotation([], ())
    for visible, expected in ((9, False), (10, True)):
        points = [1, 1, 1] * visible + [0, 0, 0] * (17 - visible)
        assert has_valid_annotation([box | {"keypoints": points}], ("keypoints",)) is expected
    (tmp_path / "list.json").write_text('{"images": []}')
    with pytest.raises(ValueError, match="does not describe"):
        COCO(annotated[0], str(tmp_path / "list.json"))


DESCRIPTION = """<annotation><object><name>dog</name><bndbox><xmin>2</xmin><ymin>1</ymin>
<xmax>5</xmax><ymax>4</ymax></bndbox></object></annotation>"""


@pytest.fixture
def voc(tmp_path):
    write_picture(tmp_path / "JPEGImages/2007_1.jpg")
    mask = np.zeros((4, 6, 3), np.uint8)
    mask[0, 0], mask[1, 0], mask[2, 0] = (0, 0, 128), (192, 224, 224), (0, 64, 0)
    write_picture(tmp_path / "SegmentationClass/2007_1.png", mask)
    for part in ("Main", "Segmentation"):
        (tmp_path / "ImageSets" / part).mkdir(parents=True)
        (tmp_path / "ImageSets" / part / "train.txt").write_text("2007_1\n")
    (tmp_path / "Annotations").mkdir()
    (tmp_path / "Annotations/2007_1.xml").write_text(DESCRIPTION)
    return tmp_path


def test_pascal_voc(voc):
    data = PascalVOC(str(voc), "train", order=("image", "boxes", "boxes_category", "info"))
    image, boxes, classes, info = data[0]
    assert boxes.tolist() == [[2, 1, 5, 4]] and classes.tolist() == [12]
    assert image.shape == (4, 6, 3) and info == [4, 6, "2007_1"]
    mask = PascalVOC(str(voc), "train", order=("mask",))[0][0]
    assert mask.shape == (4, 6, 1) and mask[:4, 0, 0].tolist() == [1, 255, 16, 0]
    with pytest.raises(ValueError, match="not both"):
        PascalVOC(str(voc), "train", order=("mask", "boxes"))
    with pytest.raises(FileNotFoundError):
        PascalVOC(str(voc), "val")


@pytest.mark.parametrize(
    "text",
    [
        "no xml",
        DESCRIPTION.replace("dog", "dragon"),
        DESCRIPTION.replace("<xmin>2</xmin>", ""),
        '<!DOCTYPE a [<!ENTITY b "b">]>' + DESCRIPTION,
        " " * (1 << 20) + DESCRIPTION,
    ],
    ids=["no xml", "class", "box", "entity", "size"],
)
def test_wrong_descriptions_raise(voc, text):
    (voc / "Annotations/2007_1.xml").write_text(text)
    with pytest.raises(ValueError, match="2007_1.xml"):
        PascalVOC(str(voc), "train", order=("boxes",))[0]


def test_cityscapes(tmp_path):
    write_picture(tmp_path / "leftImg8bit/train/aachen/a_0_leftImg8bit.png")
    labels = np.array([[0, 7, 8, 11], [17, 33, 255, 26]], np.uint8)
    write_picture(tmp_path / "gtFine/train/aachen/a_0_gtFine_labelIds.png", labels)
    image, mask, info = Cityscapes(
        str(tmp_path), "train", "gtFine", order=("image", "mask", "info")
    )[0]
    assert mask[..., 0].tolist() == [[255, 0, 1, 2], [5, 18, 255, 13]]
    assert info[:2] == [4, 6] and image.shape == (4, 6, 3)
    for image_set, mode in (("train_extra", "gtFine"), ("train", "other")):
        with pytest.raises(AssertionError, match="Cityscapes"):
            Cityscapes(str(tmp_path), image_set, mode)


def test_own_sets_name_their_fields(tmp_path):
    class Own(VisionDataset):
        supported_order = ("image", "boxes")

    assert Own(tmp_path).order == ("image",)
    assert Own(tmp_path).root == str(tmp_path)
    with pytest.raises(NotImplementedError, match="x is unsupported"):
        Own(tmp_path, order=("x",))
    with pytest.raises(ValueError, match="sequence"):
        Own(tmp_path, order=5)


def test_sets_without_files_need_no_folder():
    made = VisionDataset(None, order=("image", "info"), supported_order=("image", "info"))
    assert made.root is None and made.order == ("image", "info")
    assert VisionDataset("~").root == os.path.expanduser("~")


def test_a_class_without_a_list_of_types_takes_any_type(tmp_path):
    assert VisionDataset(tmp_path, order=["depth"]).order == ["depth"]
    with pytest.raises(NotImplementedError, match="depth is unsupported"):
        VisionDataset(tmp_path, order=["depth"], supported_order=("image",))
