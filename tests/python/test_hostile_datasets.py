# SPDX-License-Identifier: Apache-2.0
"""Data sets made of damaged files, and of files that somebody made to do harm."""

import gzip
import io
import json
import os
import pickle
import random
import resource
import stat
import struct
import subprocess
import sys
import tarfile
import warnings

import numpy as np
import pytest

import megengine as mge
from megengine.data.dataset import CIFAR10, COCO, MNIST, ImageNet, PascalVOC
from megengine.data.dataset.vision.utils import untar

cv2 = pytest.importorskip("cv2")


def damaged(content: bytes, chance: random.Random) -> bytes:
    content = bytearray(content)
    at = chance.randrange(len(content))
    kind = chance.randrange(3)
    if kind == 0:
        content[at] ^= 1 << chance.randrange(8)
    elif kind == 1:
        del content[at : at + chance.randrange(1, 20)]
    else:
        del content[at:]
    return bytes(content)


def fails_well(make, path, content: bytes, attempts: int = 60) -> None:
    """A data set of a damaged file is one, or a ValueError that names the file."""
    chance = random.Random(7)
    failed = 0
    for _ in range(attempts):
        path.write_bytes(damaged(content, chance))
        try:
            for _ in make():
                pass
        except ValueError as error:
            failed += 1
            assert path.name in str(error)
    assert failed > 0


# CIFAR's pickles.


def write_batch(folder, batch: bytes):
    folder.mkdir(exist_ok=True)
    (folder / "batches.meta").write_bytes(pickle.dumps({b"label_names": []}, 2))
    (folder / "test_batch").write_bytes(batch)
    return CIFAR10(str(folder), train=False, download=False)


def batch(labels=(1, 2), **kinds) -> dict:
    return {b"data": np.zeros((2, 3072), np.uint8), b"labels": list(labels), **kinds}


def array_of(dtype: bytes, state: bytes, content: bytes) -> bytes:
    """The pickle of an array (2,) with a dtype and content of its own."""
    return (
        b"cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\x00\x85C\x01b\x87R"
        b"(K\x01K\x02\x85cnumpy\ndtype\n" + dtype + b"K\x00K\x01\x87R" + state + b"b\x89"
        b"C" + bytes([len(content)]) + content + b"tb"
    )


def short(text: bytes) -> bytes:
    return b"\x8c" + bytes([len(text)]) + text


PLAIN_STATE = b"(K\x03" + short(b"|") + b"NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK?t"


@pytest.mark.parametrize(
    "dtype, size",
    [(b"O8", 8), (b"O", 8), (b"V16", 16), (b"S8", 8), (b"U2", 8), (b"M8", 8), (b"m8[s]", 8)]
    + [(b"(2,)i4", 8), (b"i4,O", 12), (b"c16", 16)],
)
def test_arrays_of_objects_and_their_like_are_refused(tmp_path, dtype, size):
    body = pickle.dumps(batch(), 2)[:-1]
    labels = array_of(short(dtype), PLAIN_STATE, b"\x41" * 2 * size)
    content = body + b"C\x06labels" + labels + b"s."
    with pytest.raises(ValueError, match=r"test_batch is not a CIFAR file.*dtype"):
        write_batch(tmp_path, content)


def test_structures_in_a_dtype_are_refused(tmp_path):
    fields = b"(K\x03" + short(b"|") + b"N" + short(b"a") + b"\x85}J\x08\x00\x00\x00K\x01K?t"
    labels = array_of(short(b"u1"), fields, b"\x41" * 2)
    content = pickle.dumps(batch(), 2)[:-1] + b"C\x06labels" + labels + b"s."
    with pytest.raises(ValueError, match="parts"):
        write_batch(tmp_path, content)


def test_batches_of_python_2_and_of_all_protocols(tmp_path):
    for protocol in (2, 3, 4, 5):
        labels = np.array([3, 4])
        content = {b"data": np.zeros((2, 3072), np.uint8), b"labels": labels}
        assert [int(c) for _, c in write_batch(tmp_path, pickle.dumps(content, protocol))] == [3, 4]
    # As the published files have it: texts of Python 2.
    pixels = bytes(range(256)) * 24
    state = b"(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00t"
    content = (
        b"\x80\x02}q\x01(U\x0bbatch_labelq\x02U\x15training batch 1 of 5q\x03U\x06labelsq\x04]q\x05"
        b"(K\x06K\tebU\x04dataq\x06cnumpy.core.multiarray\n_reconstruct\nq\x07cnumpy\nndarray\nq\x08"
        b"K\x00\x85U\x01b\x87Rq\x09(K\x01K\x02M\x00\x0c\x86cnumpy\ndtype\nq\x0aU\x02u1K\x00K\x01\x87"
        b"Rq\x0b" + state + b"b\x89T" + struct.pack("<I", len(pixels)) + pixels + b"tbu."
    ).replace(b"(K\x06K\tebU", b"(K\x06K\teU")
    assert [int(c) for _, c in write_batch(tmp_path, content)] == [6, 9]


@pytest.mark.parametrize(
    "labels", [[1], [1, "a"], [1, 2.5], [1, None], [1, -1], [1, 2**40], [[1], [2]], 7, None, "ab"]
)
def test_wrong_labels_raise(tmp_path, labels):
    content = {b"data": np.zeros((2, 3072), np.uint8), b"labels": labels}
    with pytest.raises(ValueError, match="test_batch"):
        write_batch(tmp_path, pickle.dumps(content))


@pytest.mark.parametrize("pixels", [np.zeros(()), np.zeros(2), np.zeros((2, 3072)), [], {}, None])
def test_wrong_pixels_raise(tmp_path, pixels):
    with pytest.raises(ValueError, match="test_batch"):
        write_batch(tmp_path, pickle.dumps({b"data": pixels, b"labels": []}))


def test_damaged_batches(tmp_path):
    content = pickle.dumps(batch(), 2)
    write_batch(tmp_path, content)
    make = lambda: CIFAR10(str(tmp_path), train=False, download=False)  # noqa: E731
    fails_well(make, tmp_path / "test_batch", content[:60] + content[6100:])


# Other sets.


def test_damaged_mnist(tmp_path):
    images = tmp_path / "t10k-images-idx3-ubyte.gz"
    pixels = np.random.default_rng(0).integers(0, 256, 4 * 28 * 28, np.uint8).tobytes()
    content = gzip.compress(struct.pack(">4I", 2051, 4, 28, 28) + pixels)
    labels = gzip.compress(struct.pack(">2I", 2049, 4) + bytes(4))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(labels)
    fails_well(lambda: MNIST(str(tmp_path), train=False, download=False), images, content)
    images.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match="not compressed by gzip"):
        MNIST(str(tmp_path), train=False, download=False)


def test_a_small_file_of_digits_that_is_large_inside(tmp_path, monkeypatch):
    monkeypatch.setattr(mge._mge, "file_limit", lambda: 1 << 20)
    header = struct.pack(">4I", 2051, 1 << 12, 1 << 10, 1 << 10)
    images = tmp_path / "t10k-images-idx3-ubyte.gz"
    images.write_bytes(gzip.compress(header + bytes(1 << 22)))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(b"")
    with pytest.raises(ValueError, match="MGE_FILE_LIMIT"):
        MNIST(str(tmp_path), train=False, download=False)


DESCRIBED = {
    "images": [{"id": 9, "file_name": "9.jpg", "height": 4, "width": 6}],
    "annotations": [
        {"image_id": 9, "bbox": [1, 0, 4, 3], "category_id": 17, "keypoints": [1, 2, 2] * 17}
    ],
    "categories": [{"id": 17, "name": "cat"}],
}
FIELDS = ["boxes", "boxes_category", "keypoints", "info"]


def test_damaged_coco(tmp_path):
    path = tmp_path / "coco.json"
    for selects in (False, True):
        make = lambda: COCO(str(tmp_path), str(path), selects, order=FIELDS)  # noqa: E731, B023
        fails_well(make, path, json.dumps(DESCRIBED).encode(), 150)


@pytest.mark.parametrize(
    "text",
    ["[]", "3", "null", '{"images": 3}', "[" * 100_000, '{"images": [3], "categories": []}']
    + ['{"images": [], "categories": [{}], "annotations": []}', "", "\xff", '{"images": [[]]}'],
)
def test_invalid_image_descriptions(tmp_path, text):
    (tmp_path / "coco.json").write_text(text, encoding="latin1")
    with pytest.raises(ValueError, match="coco.json"):
        COCO(str(tmp_path), str(tmp_path / "coco.json"), True, order=FIELDS)


def voc_of(folder, content: bytes):
    for name in ("JPEGImages", "Annotations", "ImageSets/Main"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "ImageSets/Main/val.txt").write_text("1")
    (folder / "Annotations/1.xml").write_bytes(content)
    return PascalVOC(str(folder), "val", order=["boxes", "boxes_category"])


def test_damaged_voc(tmp_path):
    box = "<xmin>1</xmin><ymin>0</ymin><xmax>5</xmax><ymax>3</ymax>"
    text = f"<annotation><object><name>cat</name><bndbox>{box}</bndbox></object></annotation>"
    data = voc_of(tmp_path, text.encode())
    assert data[0][1].tolist() == [8]
    fails_well(lambda: data, tmp_path / "Annotations/1.xml", text.encode(), 150)
    for content in (
        b"<a>" * 50_000 + b"</a>" * 50_000,
        b"<annotation>x</annotation>",
        b"<annotation><object/></annotation>",
        b"<annotation><object><name>cat</name><bndbox/></object></annotation>",
        b'<?xml version="1.0" encoding="nothing"?><a/>',
        '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>'.encode("utf-16"),
    ):
        with pytest.raises(ValueError, match="1.xml"):
            voc_of(tmp_path, content)[0]


def test_damaged_imagenet_kit(tmp_path):
    pytest.importorskip("scipy")
    (tmp_path / "val/n1").mkdir(parents=True)
    data = ImageNet(str(tmp_path), train=False)
    kit = tmp_path / "ILSVRC2012_devkit_t12/data"
    kit.mkdir(parents=True)
    for content in (b"", b"x" * 200, b"MATLAB 5.0 MAT-file" + bytes(200)):
        (kit / "meta.mat").write_bytes(content)
        with pytest.raises(ValueError, match="meta.mat"):
            _ = data.meta
    (kit / "ILSVRC2012_validation_ground_truth.txt").write_text("1\nx\n")
    with pytest.raises(ValueError, match="ground_truth"):
        _ = data.valid_ground_truth


def test_pictures_that_are_pipes_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "9.jpg")
    (tmp_path / "coco.json").write_text(json.dumps(DESCRIBED))
    with pytest.raises(ValueError, match="9.jpg is not a picture"):
        COCO(str(tmp_path), str(tmp_path / "coco.json"), order=["image"])[0]


# Archives.


def tar_of(path, *entries, content=b"x"):
    with tarfile.open(path, "w:gz") as file:
        for entry in entries:
            entry.size = len(content) if entry.isreg() else 0
            file.addfile(entry, io.BytesIO(content))


def entry_of(name: str, mode: int = 0o644, kind: bytes = tarfile.REGTYPE) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.type, entry.uid, entry.gid = mode, kind, 4321, 4321
    entry.uname = entry.gname = "nobody"
    return entry


def test_archives_by_relative_paths(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tar_of("a.tar", entry_of("f/x", 0o600), entry_of("./y"))
    untar("a.tar")
    assert (tmp_path / "f/x").exists() and (tmp_path / "y").exists()
    for to in (".", "./", "other", "other/../third", str(tmp_path / "fourth")):
        os.makedirs(to, exist_ok=True)
        untar("a.tar", to)
        assert os.path.exists(os.path.join(to, "f/x"))
    content = tmp_path / CIFAR10.raw_file_dir
    write_batch(content, pickle.dumps(batch()))
    with tarfile.open(CIFAR10.raw_file_name, "w:gz") as file:
        file.add(CIFAR10.raw_file_dir)
    subprocess.run(["rm", "-r", content], check=True)
    assert len(CIFAR10(root=".", train=False, download=False)) == 2


def test_owners_and_special_permissions_are_dropped(tmp_path):
    tar_of(
        tmp_path / "a.tar",
        entry_of("folder", 0o7777, tarfile.DIRTYPE),
        entry_of("folder/program", 0o7777),
        entry_of("folder/text", 0o4066),
        entry_of("closed", 0o000, tarfile.DIRTYPE),
        entry_of("closed/text", 0o000),
    )
    untar(str(tmp_path / "a.tar"))

    def mode(name: str) -> int:
        about = (tmp_path / name).stat()
        assert (about.st_uid, about.st_gid) == (os.geteuid(), os.getegid())
        return stat.S_IMODE(about.st_mode)

    assert mode("folder") == 0o755 and mode("folder/program") == 0o755
    assert mode("folder/text") == 0o644 and mode("closed/text") == 0o600
    assert mode("closed") & 0o700 == 0o700


@pytest.mark.parametrize(
    "entry",
    [
        entry_of("../x"),
        entry_of("a/../../x"),
        entry_of("/tmp/x"),
        entry_of("to2/../../to-beside"),
        entry_of("x", kind=tarfile.FIFOTYPE),
        entry_of("x", kind=tarfile.CHRTYPE),
        entry_of("x", kind=tarfile.LNKTYPE),
        entry_of("x", kind=tarfile.SYMTYPE),
    ],
    ids=lambda entry: f"{entry.name}-{entry.type.decode()}",
)
def test_entries_that_are_not_regular_files(tmp_path, entry, monkeypatch):
    (tmp_path / "to").mkdir()
    monkeypatch.chdir(tmp_path / "to")
    tar_of(tmp_path / "a.tar", entry_of("first"), entry)
    for to in (".", str(tmp_path / "to")):
        with pytest.raises(ValueError, match="not a file inside"):
            untar(str(tmp_path / "a.tar"), to)
    assert not list((tmp_path / "to").iterdir())


def test_damaged_archives(tmp_path):
    tar_of(tmp_path / "a.tar", entry_of("x"), content=os.urandom(5_000))
    (tmp_path / "to").mkdir()

    def unpacked():
        untar(str(tmp_path / "a.tar"), str(tmp_path / "to"))
        return ()

    fails_well(unpacked, tmp_path / "a.tar", (tmp_path / "a.tar").read_bytes())
    with pytest.raises(FileNotFoundError):
        untar(str(tmp_path / "nothing.tar"))


# Files of tensors.


def test_a_header_is_measured_before_it_is_parsed(tmp_path, monkeypatch):
    monkeypatch.setattr(mge._mge, "file_limit", lambda: 1 << 24)
    entry = '"%07x":{"dtype":"U8","shape":[],"data_offsets":[0,0]}'
    many = ("{" + ",".join(entry % k for k in range(50_000)) + "}").encode()
    (tmp_path / "f.safetensors").write_bytes(struct.pack("<Q", len(many)) + many)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="MGE_FILE_LIMIT"):
        mge.load(tmp_path / "f.safetensors")
    taken = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert taken < 32 << 10, f"{taken} KiB"


def test_length_beyond_memory_is_damage():
    content = b"\x80\x04\x8d" + struct.pack("<Q", 1 << 60) + b"x."
    with pytest.raises(pickle.UnpicklingError), warnings.catch_warnings():
        mge.load(io.BytesIO(content))


def test_inputs_of_the_network_tool_are_data(tmp_path):
    class Command:
        def __reduce__(self):
            return os.system, ("true",)

    (tmp_path / "x.pkl").write_bytes(pickle.dumps(Command()))
    code = (
        "from megengine.tools import load_network_and_run as tool;"
        f"tool._loaded({str(tmp_path / 'x.pkl')!r}, ['x'])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "system, which is not among what may be loaded" in ran.stderr
