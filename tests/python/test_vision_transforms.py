# SPDX-License-Identifier: Apache-2.0
"""Transforms that need OpenCV, against what MegEngine 1.13 gave for the same random numbers."""

import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest

import megengine.data.transform as T
from megengine.data.transform.vision import functional as F

pytest.importorskip("cv2")

RECORDED = json.loads((Path(__file__).parents[1] / "data/transforms/megengine.json").read_text())
IMAGE = np.random.RandomState(0).randint(0, 256, (5, 6, 3)).astype(np.uint8)
FIELDS = (IMAGE, np.array([[1.0, 2, 5, 4]]), np.array([[1.0, 2], [3, 4]]), IMAGE[:, :, :1])
ORDER = ("image", "boxes", "coords", "mask")


@pytest.mark.parametrize("case", RECORDED, ids=lambda c: f"{c['transform']}{c['arguments']}")
def test_matches_megengine(case):
    random.seed(3)
    np.random.seed(5)
    transform = getattr(T, case["transform"])(*case["arguments"], order=ORDER)
    result = transform.apply(tuple(field.copy() for field in FIELDS))
    for field, shape, values in zip(result, case["shapes"], case["fields"], strict=True):
        assert list(field.shape) == shape
        # An 8-bit pixel may be rounded the other way by another release of OpenCV.
        limit = 1 if field.dtype == np.uint8 else 1e-12
        np.testing.assert_allclose(field.ravel().astype(float), values, rtol=0, atol=limit)


def test_resizing_moves_keypoints_and_keeps_visibility():
    points = np.array([[[3.0, 2.5, 2], [6, 5, 0]]])
    transform = T.Resize((10, 3), order=("image", "keypoints"))
    _, moved = transform.apply((IMAGE, points))
    np.testing.assert_allclose(moved, [[[1.5, 5, 2], [3, 10, 0]]])


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: T.Resize((1, 2, 3)), ValueError),
        (lambda: T.RandomResize((1, 2, 3)), ValueError),
        (lambda: T.RandomResizedCrop((4,)), ValueError),
        (lambda: T.RandomResizedCrop(4, (0.5, 0.2)), AssertionError),
        (lambda: T.ShortestEdgeResize(5, 20, "other"), NotImplementedError),
        (lambda: T.BrightnessTransform(-1), ValueError),
        (lambda: T.HueTransform(0.6), ValueError),
        (lambda: T.Lighting(-1), ValueError),
        (lambda: F.resize(IMAGE, (1, 2, 3)), ValueError),
        (lambda: F.to_gray(IMAGE[:, :, 0]), ValueError),
    ],
)
def test_wrong_arguments_raise(make, error):
    with pytest.raises(error):
        make()


def test_functions_keep_three_dimensions():
    grey = F.to_gray(IMAGE)
    assert grey.shape == (5, 6, 1)
    np.testing.assert_allclose(grey[..., 0], IMAGE @ [0.114, 0.587, 0.299], atol=1)
    assert (F.to_bgr(grey) == grey).all()
    assert F.flip(grey, 0).shape == (5, 6, 1) and (F.flip(IMAGE, 1) == IMAGE[:, ::-1]).all()
    assert F.resize(grey, (2, 3)).shape == (2, 3, 1)
    bordered = F.pad(IMAGE, (1, 2), 7)
    assert (
        bordered.shape == (6, 8, 3) and (bordered[:5, :6] == IMAGE).all() and bordered[5, 0, 0] == 7
    )


def test_transforms_of_torchvision_see_red_first():
    pytest.importorskip("PIL")
    seen = []

    def half(image):
        seen.append(image.getpixel((0, 0)))
        return image.resize((3, 2))

    result = T.TorchTransformCompose([half]).apply(IMAGE)
    assert seen == [tuple(IMAGE[0, 0, ::-1].tolist())] and result.shape == (2, 3, 3)


def test_without_opencv_the_error_names_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "cv2", None)
    F.opencv.cache_clear()
    try:
        with pytest.raises(ImportError, match="pip install opencv-python-headless"):
            T.Resize(3).apply(IMAGE)
    finally:
        F.opencv.cache_clear()


@pytest.mark.parametrize("shape", [(5, 4, 1), (3, 5, 4), (5, 3)])
@pytest.mark.parametrize("of_one", [np.ravel, lambda v: np.reshape(v, (3, 1, 1))])
def test_normalize_broadcasts_as_numpy_does(shape, of_one):
    image = np.arange(np.prod(shape), dtype=np.uint8).reshape(shape)
    mean, std = (of_one(np.float32(v)) for v in ([1, 2, 3], [4, 5, 6]))
    try:
        expected = (image - mean) / std
    except ValueError:
        with pytest.raises(ValueError, match="broadcast"):
            T.Normalize(mean, std).apply(image)
        return
    np.testing.assert_allclose(T.Normalize(mean, std).apply(image), expected, rtol=1e-6)


class Moved(T.VisionTransform):
    """By (10, 20)."""

    def _apply_image(self, image):
        return image + 1

    def _apply_coords(self, coords):
        return coords + np.array([10.0, 20.0])


def test_values_derived_from_coordinates():
    order = ["image", "boxes", "keypoints", "polygons", "boxes_category", "info"]
    boxes, seen = np.array([[1.0, 2.0, 3.0, 4.0]]), np.array([[[1.0, 1.0, 2.0]]])
    polygon = [[np.array([[0.0, 1.0]])]]
    image, moved, keypoints, polygons, kind, info = Moved(order=order).apply(
        (np.zeros((2, 2, 3)), boxes, seen, polygon, [5], {"path": "x"})
    )
    assert image.max() == 1 and moved.tolist() == [[11, 22, 13, 24]]
    assert keypoints.tolist() == [[[11, 21, 2]]] and polygons[0][0].tolist() == [[10, 21]]
    assert (kind, info) == ([5], {"path": "x"})


@pytest.mark.parametrize(
    "transform, moved",
    [
        (T.CenterCrop(2), [[-1, -1, 5, 7]]),  # beyond the window, as MegEngine leaves it
        (T.Pad((1, 0, 2, 0)), [[2, 1, 8, 9]]),
        (T.RandomHorizontalFlip(1.0), [[-2, 0, 4, 8]]),
        (T.Resize((8, 8)), [[0, 0, 12, 16]]),
        (T.Normalize(), [[0, 0, 6, 8]]),
    ],
)
def test_boxes_enclose_their_corners(transform, moved):
    boxes = np.array([[6.0, 0.0, 0.0, 8.0]])  # corners in no order
    transform.order = ("image", "boxes")
    found = transform.apply((np.zeros((4, 4, 3), np.uint8), boxes))[1]
    np.testing.assert_array_equal(found, moved)


def test_noise_is_in_parts_of_255():
    image = np.full((3, 3, 3), 100, np.float32)
    np.random.seed(4)
    found = T.GaussianNoise(0.1, 0.2).apply(image)
    np.random.seed(4)
    noise = np.random.normal(0.1, 0.2, image.shape) * 255
    np.testing.assert_allclose(found, np.clip(image + noise, 0, 255), rtol=1e-5)
    assert T.GaussianNoise(2.0).apply(image.astype(np.uint8)).dtype == np.uint8


def test_images_become_channels_first_only():
    with pytest.raises(AssertionError, match="HWC"):
        T.ToMode("HWC")


def test_one_field_returns_bare():
    image = np.zeros((2, 2, 3))
    assert Moved().apply((image,)).shape == (2, 2, 3)
    assert len(Moved().apply((image, 3))) == 2


@pytest.mark.parametrize(
    "order, error", [(["batch"], ValueError), (["depth"], NotImplementedError), (5, ValueError)]
)
def test_orders_that_are_refused(order, error):
    with pytest.raises(error):
        Moved(order=order)
    with pytest.raises(NotImplementedError, match="no rule for 'mask'"):
        Moved(order=["mask"]).apply((np.zeros((2, 2, 1)),))


def test_transforms_print_their_names():
    assert repr(T.CenterCrop(4)) == "CenterCrop" and repr(T.PseudoTransform()) == "PseudoTransform"


@pytest.mark.parametrize("transform", [T.RandomHorizontalFlip, T.RandomVerticalFlip])
@pytest.mark.parametrize("prob", [0.0, 1.0])
def test_random_fields_return_one_field_bare(transform, prob):
    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert transform(prob).apply((image,)).shape == (2, 2, 3)
    assert len(transform(prob).apply((image, 3))) == 2


@pytest.mark.parametrize(
    "transform",
    [T.Resize(4), T.CenterCrop(2), T.RandomCrop(2), T.RandomResizedCrop(2)]
    + [T.RandomHorizontalFlip(1.0), T.RandomVerticalFlip(1.0)],
)
@pytest.mark.parametrize("as_tuple", [False, True])
def test_boxes_need_the_image_that_gives_their_range(transform, as_tuple):
    boxes = np.array([[0.0, 0.0, 1.0, 1.0]])
    transform.order = ("boxes",)
    with pytest.raises(ValueError, match="has no image"):
        transform.apply((boxes,) if as_tuple else boxes)


def test_an_order_reaches_the_transforms_of_transforms():
    boxes, image = np.array([[0.0, 0.0, 1.0, 1.0]]), np.full((2, 4, 3), 100, np.uint8)
    inner = T.Compose([T.RandomHorizontalFlip(1.0)])
    jitter = T.ColorJitter(brightness=0.5, saturation=0.5)
    chain = T.Compose([T.Compose([inner, jitter])], order=("boxes", "image"))
    found, changed = chain.apply((boxes, image))
    np.testing.assert_array_equal(found, [[3, 0, 4, 1]])
    assert changed.shape == image.shape and (changed != image).any()


# MegEngine multiplies first: 322 would be 321.99… else.
@pytest.mark.parametrize("size", [(300, 600), (600, 300)])
def test_shorter_side_determines_the_longer_one(size):
    image = np.zeros((*size, 3), np.uint8)
    for shorter in range(1, 300):
        longer = (2 * shorter, shorter)
        wanted = longer if size[0] > size[1] else longer[::-1]
        assert T.Resize(shorter).apply(image).shape[:2] == wanted


def test_half_pixels_round_to_even_as_in_megengine():
    image = np.zeros((10, 25, 3), np.uint8)
    assert T.ShortestEdgeResize(5, 100).apply(image).shape == (5, 12, 3)


@pytest.mark.parametrize(
    "transform",
    [T.Resize(8), T.ShortestEdgeResize(8, 16), T.RandomResizedCrop(8), T.ToMode()],
    ids=lambda transform: type(transform).__name__,
)
def test_other_things_than_images_are_refused(transform):
    with pytest.raises(ValueError, match=r"3 dims, but got 2 dims; image\[\.\.\., np\.newaxis\]"):
        transform.apply(np.zeros((9, 9), np.uint8))
    with pytest.raises(TypeError, match=r"got Picture; np\.asarray converts"):
        transform.apply(type("Picture", (), {})())
