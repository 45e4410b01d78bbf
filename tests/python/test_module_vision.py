# SPDX-License-Identifier: Apache-2.0
"""Modules of images: noise, kernels, mixing, turning; against NumPy and OpenCV."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import Tensor
from megengine.module import vision as V

rng = np.random.default_rng(5)
IMAGES = rng.uniform(0, 255, (2, 3, 9, 8)).astype(np.float32)
BYTES = IMAGES.astype(np.uint8)


def same(got, expected, tolerance=1e-4):
    np.testing.assert_allclose(got.numpy(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize(
    "make, mean, spread",
    [
        (lambda **k: V.AdditiveGaussianNoise(3.0, 2.0, **k), 3.0, 2.0),
        (lambda **k: V.AdditiveLaplaceNoise(3.0, 2.0, **k), 3.0, 2.0 * 2**0.5),
        (lambda **k: V.AdditivePoissonNoise(4.0, **k), 0.0, 20**0.5),
    ],
)
def test_noise(make, mean, spread):
    images = F.zeros((4, 3, 64, 64))
    noise = make(per_channel=True, seed=7)(images).numpy()
    assert abs(noise.mean() - mean) < 0.1 and abs(noise.std() / spread - 1) < 0.05
    assert not np.array_equal(noise[:, 0], noise[:, 1])
    module = make(seed=7)
    noise = module(images).numpy()
    assert np.array_equal(noise[:, 0], noise[:, 1]) and not np.array_equal(noise[0], noise[1])
    module.seed = 7
    assert module.seed == 7 and np.array_equal(module(images).numpy(), noise)
    assert make()(Tensor(BYTES)).dtype == np.uint8


def test_unsupported_noise():
    with pytest.raises(NotImplementedError, match="AdditiveElemwise.sample"):
        V.AdditiveElemwise()(F.zeros((1, 1, 2, 2)))
    with pytest.raises(AssertionError, match="per_channel must be a bool"):
        V.AdditiveElemwise().per_channel = 1
    with pytest.raises(AssertionError, match="4 axes"):
        V.AdditiveGaussianNoise()(F.zeros((2, 2)))
    with pytest.raises(ValueError, match="lam must not be negative"):
        V.AdditivePoissonNoise(-1.0)


def under_kernel(images, kernel):
    wide = np.pad(images, ((0, 0), (0, 0), (1, 1), (1, 1)), mode="reflect")
    height, width = images.shape[2:]
    parts = [
        kernel[y][x] * wide[:, :, y : y + height, x : x + width] for y in range(3) for x in range(3)
    ]
    return np.sum(parts, axis=0)


def test_sharpen_and_emboss():
    one = np.array([[0, 0, 0], [0, 1, 0], [0, 0, 0]])
    edges = np.full((3, 3), -1.0)
    edges[1, 1] = 9.5
    same(
        V.Sharpen(0.25, 1.5)(Tensor(IMAGES)), under_kernel(IMAGES, 0.75 * one + 0.25 * edges), 1e-3
    )
    s = 0.5
    relief = np.array([[-1 - s, -s, 0], [-s, 1, s], [0, s, 1 + s]])
    same(V.Emboss(1.0, s)(Tensor(IMAGES)), under_kernel(IMAGES, relief), 1e-3)
    expected = np.clip(np.round(under_kernel(BYTES.astype(np.float32), relief)), 0, 255)
    got = V.Emboss(1.0, s)(Tensor(BYTES))
    assert got.dtype == np.uint8 and np.abs(got.numpy() - expected).max() <= 1
    drawn = V.Sharpen((0.2, 0.8), (1.0, 2.0), seed=3)
    a, b = drawn(Tensor(IMAGES)).numpy(), drawn(Tensor(IMAGES)).numpy()
    assert not np.array_equal(a, b)
    with pytest.raises(NotImplementedError, match="ActiveBlur.get_kernel"):
        V.ActiveBlur()(Tensor(IMAGES))
    with pytest.raises(ValueError, match="alpha must rise"):
        V.Emboss((0.5, 0.1), 1.0)
    with pytest.raises(TypeError, match="lightness must be a number or two"):
        V.Sharpen(0.5, "much")


BORDERS = ["REPLICATE", "REFLECT", "REFLECT_101", "CONSTANT", "WRAP"]


@pytest.mark.parametrize("border", BORDERS)
def test_blur_and_dilation_match_opencv(border):
    cv2 = pytest.importorskip("cv2")
    flag = getattr(cv2, f"BORDER_{border}")
    image = IMAGES[0].transpose(1, 2, 0).copy()
    if border != "WRAP":  # which OpenCV has for remapping alone
        expected = cv2.GaussianBlur(image, (5, 3), 1.5, sigmaY=0.7, borderType=flag)
        got = V.GaussianBlur((3, 5), 1.5, 0.7, border)(Tensor(IMAGES[:1]))
        same(got, expected.transpose(2, 0, 1)[None], 1e-3)
        kernel = np.array([[0, 1, 0, 0], [1, 1, 0, 1]], np.uint8)
        expected = cv2.dilate(
            image, kernel, anchor=(2, 1), iterations=2, borderType=flag, borderValue=(300.0,) * 3
        )
        got = V.Dilation(2, f"BORDER_{border}", 300.0)(Tensor(IMAGES[:1]), kernel)
        same(got, expected.transpose(2, 0, 1)[None])
    assert V.GaussianBlur(3, border_mode=border)(Tensor(BYTES)).dtype == np.uint8


def test_wrong_windows():
    with pytest.raises(ValueError, match="sizes must be odd"):
        V.GaussianBlur(4)
    with pytest.raises(ValueError, match="must not be negative"):
        V.GaussianBlur(3, -1.0)
    with pytest.raises(ValueError, match="the border must be in"):
        V.GaussianBlur(3, border_mode="MIRROR")
    with pytest.raises(ValueError, match="iterations must be at least 1"):
        V.Dilation(0)
    with pytest.raises(ValueError, match="must have ones in two axes"):
        V.Dilation()(Tensor(IMAGES), np.zeros((3, 3)))


def test_contrast():
    same(V.LinearContrast(0.5)(Tensor(IMAGES)), 127 + 0.5 * (IMAGES - 127))
    factors = (V.LinearContrast((0.5, 2.0), True, seed=1)(Tensor(IMAGES)).numpy() - 127) / (
        IMAGES - 127
    )
    assert np.ptp(factors, axis=(2, 3)).max() < 1e-3 and np.ptp(factors[0, :, 4, 4]) > 0.01


def test_mixing():
    ones, zeros = F.ones((64, 2, 10, 10)), F.zeros((64, 2, 10, 10))
    first, second = F.ones((64, 3)), F.zeros((64, 3))
    mixed, labels = V.Mixup(1.0, seed=2)(ones, first, zeros, second)
    share = labels.numpy()[:, :1, None, None]
    same(mixed, np.broadcast_to(share, mixed.shape))
    assert 0.2 < share.std() < 0.4
    mixing = V.Mixup(2.0)
    mixed, _ = mixing(ones, first, zeros, second)
    same(mixed[:, 1, 2, 3], mixing.lamb.numpy())
    mixing = V.Cutmix(1.0, seed=2)
    mixed, labels = mixing(ones, first, zeros, second)
    boxes = np.stack([v.numpy() for v in (mixing.cx, mixing.cy, mixing.cut_h, mixing.cut_w)], 1)
    for image, (row, column, height, width) in zip(mixed.numpy(), boxes, strict=True):
        expected = np.ones_like(image)
        top, left = max(int(row - height // 2), 0), max(int(column - width // 2), 0)
        expected[:, top : int(row + height // 2), left : int(column + width // 2)] = 0
        np.testing.assert_array_equal(image, expected)
    assert not mixing.state_dict()
    assert set(np.unique(mixed.numpy())) == {0.0, 1.0}
    same(mixed.reshape(64, -1).mean(1), labels.numpy()[:, 0])
    assert labels.numpy().std() > 0.1
    with pytest.raises(AssertionError, match="same shapes"):
        V.Mixup(1.0)(ones, first, zeros[:2], second)
    with pytest.raises(ValueError, match="beta must be positive"):
        V.Cutmix(0)


def test_flips():
    images = Tensor(IMAGES.transpose(0, 2, 3, 1).repeat(50, axis=0))
    plain = images.numpy()
    same(V.Flip()(images), plain[:, ::-1, ::-1])
    same(V.RandomHorizontalFlip(1.0)(images), plain[:, :, ::-1])
    same(V.RandomVerticalFlip(1.0)(images), plain[:, ::-1])
    same(V.RandomVerticalFlip(0.0)(images), plain)
    got = V.RandomHorizontalFlip(0.5)(images).numpy()
    turned = (got == plain[:, :, ::-1]).all((1, 2, 3))
    assert (turned | (got == plain).all((1, 2, 3))).all() and 20 < turned.sum() < 80
    same(V.Rot90(False)(images), np.rot90(plain, axes=(1, 2)))
    with pytest.raises(ValueError, match=r"prob must be in \[0, 1\]"):
        V.RandomHorizontalFlip(1.5)


@pytest.mark.parametrize("angle", [0.0, 30.0, 90.0, -135.0])
def test_rotations_match_opencv(angle):
    cv2 = pytest.importorskip("cv2")
    image = IMAGES[0].transpose(1, 2, 0).copy()
    matrix = cv2.getRotationMatrix2D(((8 - 1) / 2, (9 - 1) / 2), angle, 1.0)
    expected = cv2.warpAffine(image, matrix, (8, 9), flags=cv2.INTER_LINEAR)
    got = F.vision.rotate(Tensor(IMAGES[:1]), angle).numpy()[0].transpose(1, 2, 0)
    # OpenCV's places are multiples of 1/32 pixel.
    assert np.abs(got - expected)[2:-2, 2:-2].max() < 255 / 16
    other = V.Rotate(angle, "NHWC")(Tensor(image[None])).numpy()[0]
    same(Tensor(got), other)


def test_quarters_of_a_turn_are_exact():
    square = Tensor(IMAGES[:, :, :8])
    for quarters in range(5):
        got = F.vision.rotate(square, 90.0 * quarters)
        same(got, np.rot90(square.numpy(), quarters, axes=(2, 3)), 1e-3)
    nearest = F.vision.rotate(square, 90, interp_mode="nearest")
    assert np.array_equal(nearest.numpy(), np.rot90(square.numpy(), axes=(2, 3)))


def test_resize():
    x = Tensor(IMAGES)
    assert F.vision.resize(x, 4).shape == (2, 3, 4, 4)
    assert F.vision.resize(x, 16, max_size=17).shape == (2, 3, 17, 15)
    assert F.vision.resize(x, (5, 6), imode="nearest").shape == (2, 3, 5, 6)
    same(V.Resize((5, 6))(x), F.vision.interpolate(x, (5, 6)).numpy())
    swapped = F.transpose(x, (0, 2, 3, 1))
    got = V.Resize(5, "NHWC", "cubic")(swapped)
    same(got, F.vision.resize(x, 5, imode="bicubic").numpy().transpose(0, 2, 3, 1))
    for wrong in [
        dict(size=5, max_size=3),
        dict(size=(5, 5), max_size=9),
        dict(size=5, format="CHW"),
        dict(size=5, imode="area"),
        dict(size=0),
    ]:
        with pytest.raises(ValueError):
            F.vision.resize(x, **wrong)


def test_crop_and_pad():
    x = Tensor(IMAGES)
    cut = F.vision.interpolate(x[:, :, 2:-2, 2:-2], (9, 8), align_corners=False)
    same(V.CropAndPad()(x, -0.25), cut.numpy())
    padded = np.pad(IMAGES, ((0, 0), (0, 0), (1, 0), (0, 2)), constant_values=7)
    got = V.CropAndPad("nearest")(x, (0.1, 0.25, 0.0, 0.0), 7.0)
    same(got, F.vision.interpolate(Tensor(padded), (9, 8), mode="nearest").numpy())
    with pytest.raises(ValueError, match="nothing would be left"):
        V.CropAndPad()(x, -0.5)
    with pytest.raises(ValueError, match="one number or four"):
        V.CropAndPad()(x, (0.1, 0.2))


def test_remap_and_polygons():
    pytest.importorskip("cv2")
    rows, columns = np.mgrid[:9, :8].astype(np.float32)
    maps = Tensor(columns[None]), Tensor(rows[None])
    same(V.Remap()(Tensor(IMAGES[:1]), *maps), IMAGES[:1])
    together = Tensor(np.stack([columns, rows], -1)[None])
    same(V.Remap()(Tensor(IMAGES[:1]), together, None), IMAGES[:1])
    corners = Tensor(np.array([[1, 2], [4, 2], [4, 6], [1, 6]]))
    got = V.FillPoly()(Tensor(BYTES), corners, (1, 2, 3))
    expected = BYTES.copy()
    expected[:, :, 2:7, 1:5] = np.array([1, 2, 3]).reshape(1, 3, 1, 1)
    assert got.dtype == np.uint8 and np.array_equal(got.numpy(), expected)
    with pytest.raises(ValueError, match="a polygon has the shape"):
        V.FillPoly()(Tensor(BYTES), np.zeros((3, 3)), 1)


def test_gradients_and_traces_pass_through():
    module = V.GaussianBlur(3)
    x = Tensor(IMAGES)
    manager = mge.autodiff.GradManager().attach(x)
    with manager:
        manager.backward(module(F.vision.rotate(x, 30)).sum())
    assert np.isfinite(x.grad.numpy()).all() and x.grad.numpy().std() > 0
    traced = mge.jit.trace(symbolic=True)(lambda image: V.Sharpen(0.5, 1.0)(module(image)))
    for _ in range(2):
        got = traced(x)
    same(got, V.Sharpen(0.5, 1.0)(module(x)).numpy())
