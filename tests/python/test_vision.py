# SPDX-License-Identifier: Apache-2.0
"""Functions of images beyond the recorded calls: identities, other sizes, traces and training."""

from functools import partial

import numpy as np
import pytest

import megengine.functional as F
import megengine.module as M
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import trace

RANDOM = np.random.default_rng(11)


def randn(*shape):
    return Tensor(RANDOM.normal(size=shape).astype("float32"))


def test_suppression_keeps_the_last_of_equal_scores():
    """As MegEngine 1.13, which walks along argsort(scores, descending=True)."""
    corners = [[0, 0, 1, 1], [5, 5, 6, 6], [0, 0, 1, 1.01], [9, 9, 10, 10]]
    boxes = Tensor(np.float32(corners))
    assert F.vision.nms(boxes, F.ones(4), 0.5).numpy().tolist() == [3, 2, 1]
    assert F.vision.nms(boxes, Tensor([0.5, 0.9, 0.5, 0.9]), 0.5).numpy().tolist() == [3, 1, 2]
    assert F.vision.nms(boxes, F.ones(4), 0.5, max_output=2).numpy().tolist() == [3, 2]
    equal = trace(lambda b: F.vision.nms(b, F.ones(4), 0.5, max_output=3), symbolic=True)
    for _ in range(2):
        assert equal(boxes).numpy().tolist() == [3, 2, 1]


def test_identity_maps_change_nothing():
    x = randn(2, 3, 4, 5)
    eye = Tensor(np.stack([np.eye(3, dtype="float32")] * 2))
    np.testing.assert_array_equal(F.warp_perspective(x, eye, (4, 5)).numpy(), x.numpy())
    np.testing.assert_array_equal(
        F.warp_affine(x, eye[:, :2], (4, 5), format="NCHW").numpy(), x.numpy()
    )


def test_deformable_without_offsets_is_a_convolution():
    x, w = randn(2, 4, 6, 5), randn(2, 3, 2, 3, 2)
    kwargs = {"stride": 2, "padding": 1, "groups": 2}
    want = F.conv2d(x, w, **kwargs)
    taps, size = 6, want.shape[2:]
    got = F.deformable_conv2d(
        x, w, F.zeros((2, 2 * 2 * taps, *size)), F.ones((2, 2 * taps, *size)), **kwargs
    )
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("even", [2, 4])
def test_correlated_patches_of_an_even_size_are_those_of_the_odd_size_below(even):
    a, b = (Tensor(np.random.rand(1, 2, 9, 8).astype("float32")) for _ in range(2))
    for moves in ({}, {"max_displacement": 2, "stride1": 2, "stride2": 2, "pad_size": 2}):
        found, wanted = (F.vision.correlation(a, b, n, **moves).numpy() for n in (even, even - 1))
        np.testing.assert_array_equal(found, wanted)


def test_local_conv_with_equal_weights_is_a_convolution():
    x, w = randn(2, 4, 5, 6), randn(2, 3, 2, 3, 3)
    want = F.conv2d(x, w, padding=1, groups=2)
    local = np.broadcast_to(
        w.numpy().transpose(0, 2, 3, 4, 1)[:, None, None], (2, 5, 6, 2, 3, 3, 3)
    )
    got = F.local_conv2d(x, Tensor(np.ascontiguousarray(local)), padding=1)
    np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-4, atol=1e-5)


def test_transposed_volume_convolution_is_the_gradient():
    x, w = randn(2, 4, 5, 6, 5), randn(2, 3, 2, 3, 2, 3)
    kwargs = {"stride": (2, 1, 2), "padding": (1, 0, 1), "dilation": (1, 2, 1), "groups": 2}
    with GradManager().attach(x) as gm:
        y = F.conv3d(x, w, **kwargs)
        dy = randn(*y.shape)
        gm.backward(y, dy)
    # The output padding makes up for the planes that the stride leaves over.
    extra = [
        n - ((m - 1) * s - 2 * p + d * (k - 1) + 1)
        for n, m, s, p, d, k in zip(
            x.shape[2:],
            y.shape[2:],
            *[kwargs[k] for k in ("stride", "padding", "dilation")],
            w.shape[3:],
            strict=True,
        )
    ]
    back = F.conv_transpose3d(dy, w, output_padding=extra, **kwargs)
    np.testing.assert_allclose(back.numpy(), x.grad.numpy(), rtol=1e-4, atol=1e-4)


def test_roi_align_of_whole_cells_is_average_pooling():
    x = randn(1, 2, 4, 6)
    got = F.vision.roi_align(x, Tensor([[0.0, 0.0, 0.0, 6.0, 4.0]]), (2, 3))
    np.testing.assert_allclose(got.numpy(), F.avg_pool2d(x, 2).numpy(), rtol=1e-5)


def test_no_regions_and_no_boxes():
    none = Tensor(np.zeros((0, 5), "float32"))
    assert F.vision.roi_align(F.ones((1, 2, 4, 4)), none, 2).shape == (0, 2, 2, 2)
    assert F.vision.roi_pooling(F.ones((1, 2, 4, 4)), none, 2).shape == (0, 2, 2, 2)
    assert F.vision.nms(none[:, :4], none[:, 0], 0.5).shape == (0,)


@pytest.mark.parametrize("shape", [(1, 0, 4, 4), (1, 2, 0, 4), (1, 2, 4, 0)])
@pytest.mark.parametrize("mode", ["max", "average"])
def test_roi_align_of_nothing_is_zero(shape, mode):
    x, rois = Tensor(np.zeros(shape, np.float32)), Tensor([[0.0, 0.0, 0.0, 3.0, 3.0]])
    with GradManager().attach(x) as gm:
        y = F.vision.roi_align(x, rois, 2, mode)
        gm.backward(y.sum())
    assert y.shape == (1, shape[1], 2, 2) and not y.numpy().any() and x.grad.shape == shape


def test_detection_in_a_trace_follows_the_number_of_regions():
    @trace(symbolic=True, capture_as_const=True)
    def head(x, rois, scores):
        kept = F.vision.nms(rois[:, 1:], scores, 0.5, max_output=2)
        return F.vision.roi_align(x, rois, 2), kept

    x = randn(2, 3, 8, 8)
    for count in (3, 5):
        rois = np.zeros((count, 5), "float32")
        rois[:, 0], rois[:, 3:] = np.arange(count) % 2, np.arange(1, count + 1)[:, None]
        args = x, Tensor(rois), Tensor(np.arange(count, dtype="float32"))
        got, kept = head(*args)
        want = F.vision.roi_align(x, args[1], 2)
        np.testing.assert_allclose(got.numpy(), want.numpy(), rtol=1e-5)
        np.testing.assert_array_equal(
            kept.numpy(), F.vision.nms(args[1][:, 1:], args[2], 0.5, 2).numpy()
        )


def test_perspective_is_learned():
    """Gradients of matrices find a shift again."""
    rows, columns = np.mgrid[:9, :9].astype("float32")
    image = Tensor(np.exp(-((rows - 4) ** 2 + (columns - 4) ** 2) / 8)[None, None])
    wanted = F.warp_perspective(
        image, Tensor([[[1, 0, 0.7], [0, 1, -0.4], [0, 0, 1]]]).astype("float32"), (9, 9)
    )
    shift = Tensor(np.zeros((1, 2, 1), "float32"))
    eye = Tensor(np.eye(3, dtype="float32")[None])
    gm = GradManager().attach(shift)
    for _ in range(60):
        with gm:
            mat = F.concat([eye[:, :2, :2], shift], axis=2)
            mat = F.concat([mat, eye[:, 2:]], axis=1)
            gm.backward(F.sum((F.warp_perspective(image, mat, (9, 9)) - wanted) ** 2))
        shift -= 0.3 * shift.grad
        shift.grad = None
    np.testing.assert_allclose(shift.numpy().reshape(-1), [0.7, -0.4], atol=0.02)


@pytest.mark.parametrize("dtype", ["float32", "uint8"])
def test_places_in_images_with_channels_last_are_rounded(dtype):
    rng = np.random.RandomState(4)
    x = (255 * rng.rand(1, 6, 7, 3)).astype(dtype)
    mat = np.float32([[[0.9, 0.13, 1 / 64], [-0.11, 1.05, 0.7], [0, 0, 1]]])
    scaled = mat.astype(np.float64) * 1024
    columns, rows = np.meshgrid(np.arange(5), np.arange(4))
    sums = [np.rint(a * columns) + np.rint(b * rows + c) for a, b, c in scaled[0, :2]]
    affine = np.stack([np.floor((s + 16) / 32) / 32 for s in sums], -1)[None]
    exact = [a * columns + b * rows + c for a, b, c in mat[0, :2].astype(np.float64)]
    perspective = np.rint(np.stack(exact, -1)[None] * 32) / 32
    assert (affine[0, 0, 0, 0], perspective[0, 0, 0, 0]) == (1 / 32, 0)  # in the middle
    planes = Tensor(x.astype("float32").transpose(0, 3, 1, 2))
    for moved, places in (
        (F.warp_affine(Tensor(x), Tensor(mat[:, :2]), (4, 5)), affine),
        (F.warp_perspective(Tensor(x), Tensor(mat), (4, 5), format="NHWC"), perspective),
    ):
        wanted = F.remap(planes, Tensor(places.astype(np.float32))).numpy().transpose(0, 2, 3, 1)
        assert moved.dtype == dtype
        if dtype == "uint8":
            wanted = np.floor(wanted + 0.5)
        np.testing.assert_allclose(moved.numpy(), wanted, rtol=1e-5)


def test_places_in_other_images_are_exact():
    x = np.random.RandomState(4).randint(-99, 99, (1, 6, 7, 3)).astype("int8")
    mat = Tensor([[[0.9, 0.13, 0.4], [-0.11, 1.05, 0.7]]])
    planes = Tensor(x.transpose(0, 3, 1, 2))
    exact = F.warp_affine(planes, mat, (4, 5), format="NCHW").numpy().transpose(0, 2, 3, 1)
    np.testing.assert_array_equal(F.warp_affine(Tensor(x), mat, (4, 5)).numpy(), exact)


def test_affine_matrices_of_images_with_channels_last_have_gradients():
    x = randn(1, 6, 7, 2)
    grads = []
    for image, format in ((x, "NHWC"), (x.transpose(0, 3, 1, 2), "NCHW")):
        # At whole places, which rounding keeps.
        mat = Tensor([[[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]])
        with GradManager().attach(mat) as gm:
            gm.backward(F.sum(F.warp_affine(image, mat, (3, 4), format=format)))
        grads.append(mat.grad.numpy())
    assert np.abs(grads[0]).max() > 0.1
    np.testing.assert_allclose(*grads, rtol=1e-4, atol=1e-4)


def test_windows_are_added_in_their_order():
    windows = np.zeros((1, 1, 1, 3, 1, 3), "float32")
    # The middle pixel is the last one of the first window, and the first one of the last.
    windows[0, 0, 0, [0, 1, 2], 0, [2, 1, 0]] = 1e8, -1e8, 1
    image = F.sliding_window_transpose(Tensor(windows), (1, 5), (1, 3))
    assert image.numpy().ravel().tolist() == [0, 0, 1, 0, 0]


def ctc_loss(pred, label, blank):
    """By the definition: sums over sequences in logarithms, of which none is below ``floor``."""
    floor = np.log(np.finfo(np.float32).tiny)
    steps = np.maximum(np.log(np.maximum(pred.astype("float64"), np.exp(floor))), floor)
    path = [blank]
    for one in label:
        path += [one, blank]
    reached = [steps[0, c] if k < 2 else floor for k, c in enumerate(path)]
    for step in steps[1:]:
        before, reached = reached, []
        for k, c in enumerate(path):
            ways = before[max(k - 1, 0) : k + 1]
            if k >= 2 and c != path[k - 2]:
                ways = [before[k - 2], *ways]
            reached.append(np.logaddexp.reduce(ways) + step[c])
    return -np.logaddexp(*reached[-2:])


def test_ctc_loss_matches_the_definition_for_impossible_labels_too():
    rng = np.random.RandomState(5)
    steps, count, classes = 20, 12, 5
    pred = np.exp(3 * rng.randn(steps, count, classes)).astype("float32")
    pred /= pred.sum(2, keepdims=True)
    lengths = rng.randint(1, steps + 1, count).astype("int32")
    labels = [rng.randint(1, classes, n) for n in lengths]
    # Equal labels behind each other need a blank between them, for which there is no step.
    assert any(len(label) + (label[1:] == label[:-1]).sum() > steps for label in labels)
    for blank in (0, 3):  # 3 is also a label: as MegEngine does, it counts as a class like others
        losses = F.nn.ctc_loss(
            Tensor(pred),
            Tensor(np.full(count, steps, "int32")),
            Tensor(np.concatenate(labels).astype("int32")),
            Tensor(lengths),
            blank=blank,
            reduction="none",
        )
        expected = [ctc_loss(pred[:, n], label, blank) for n, label in enumerate(labels)]
        np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-5)


def test_ctc_loss_of_another_alignment_is_larger():
    pred = np.full((4, 1, 3), 0.1, "float32")
    pred[:2, 0, 1], pred[2:, 0, 2] = 0.8, 0.8
    lengths = Tensor([4]), Tensor([2])
    right, wrong = (
        F.nn.ctc_loss(Tensor(pred), lengths[0], Tensor([label]), lengths[1])
        for label in ([1, 2], [2, 1])
    )
    assert float(right) < float(wrong)
    with pytest.raises(ValueError, match="reduction"):
        F.nn.ctc_loss(Tensor(pred), lengths[0], Tensor([[1, 2]]), lengths[1], reduction="other")


@pytest.mark.parametrize("axis", range(3))
@pytest.mark.parametrize(
    "convolution, size",
    [(f, s) for f in (F.conv3d, F.conv_transpose3d) for s in ("stride", "dilation", "padding")]
    + [(F.conv_transpose3d, "output_padding")],
)
def test_sizes_of_volume_convolutions_are_checked_along_each_axis(convolution, size, axis):
    image, weight = F.ones((1, 2, 4, 4, 4)), F.ones((2, 2, 2, 2, 2))
    least = 1 if size in ("stride", "dilation") else 0
    for below in (least - 1, least - 2):
        sizes = [least] * 3
        sizes[axis] = below
        with pytest.raises(RuntimeError, match=f"{size} must be at least {least}"):
            convolution(image, weight, **{size: tuple(sizes)})


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: F.vision.nms(F.ones((2, 3)), F.ones(2), 0.5), AssertionError, "boxes"),
        (lambda: F.vision.cvt_color(F.ones((1, 2, 2, 3)), "RGB2XYZ"), AssertionError, "mode"),
        (lambda: F.vision.cvt_color(F.ones((1, 6, 3, 1)), "YUV2RGB_NV12"), RuntimeError, "wants"),
        (lambda: F.vision.cvt_color(F.ones((1, 3, 2, 1)), "YUV2RGB_YV12"), RuntimeError, "of 6"),
        (lambda: F.vision.cvt_color(F.ones((1, 3, 2, 1)), "YUV2RGB_NV12"), TypeError, "uint8"),
        (lambda: F.vision.roi_align(F.ones((1, 1, 2, 2)), F.ones((1, 4)), 1), RuntimeError, "rois"),
        (
            lambda: F.remap(F.ones((1, 1, 2, 2)), F.ones((1, 1, 1, 2)), "other"),
            RuntimeError,
            "border",
        ),
        (lambda: F.conv3d(F.ones((1, 1, 2, 2)), F.ones((1, 1, 1, 1, 1))), RuntimeError, "rank 5"),
        (lambda: F.matinv(F.zeros((2, 2))), RuntimeError, "singular"),
    ],
)
def test_wrong_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_place_between_two_pixels_is_nearest_to_one():
    x = Tensor(np.arange(24, dtype=np.float32).reshape(1, 4, 6, 1))
    half = Tensor([[[1.0, 0.0, 0.5], [0.0, 1.0, 0.5]]])
    # As MegEngine 1.13: the later pixel for matrices, the even one for maps.
    moved = F.vision.warp_affine(x, half, (2, 4), interp_mode="nearest").numpy()
    assert moved.ravel().tolist() == [7, 8, 9, 10, 13, 14, 15, 16]
    places = np.stack(np.meshgrid(np.arange(4) + 0.5, np.arange(2) + 0.5), -1)[None]
    moved = F.remap(
        x.reshape(1, 1, 4, 6), Tensor(places.astype(np.float32)), interp_mode="nearest"
    ).numpy()
    assert moved.ravel().tolist() == [0, 2, 2, 4, 12, 14, 14, 16]


@pytest.mark.parametrize("error", [AssertionError, ValueError])
def test_modes_of_another_rank(error):
    with pytest.raises(error, match="'linear' wants rank 3, got 4"):
        F.vision.interpolate(F.ones((1, 1, 2, 2)), scale_factor=2.0, mode="linear")
    with pytest.raises(error, match="2 factors for 1 axis"):
        F.vision.interpolate(F.ones((1, 1, 2)), scale_factor=[2.0, 3.0], mode="linear")


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "nearest"])
@pytest.mark.parametrize("dtype", [np.uint8, np.int8])
def test_bytes_stay_bytes_in_another_size(dtype, mode):
    limits = np.iinfo(dtype)
    x = np.random.RandomState(3).randint(limits.min, limits.max + 1, (2, 3, 5, 6)).astype(dtype)
    y = F.vision.interpolate(Tensor(x), size=(7, 4), mode=mode)
    exact = F.vision.interpolate(Tensor(x.astype(np.float32)), size=(7, 4), mode=mode).numpy()
    rounded = np.sign(exact) * np.floor(np.abs(exact) + 0.5)
    if dtype == np.uint8:
        rounded = np.clip(rounded, 0, 255)
    assert y.dtype == dtype
    np.testing.assert_array_equal(y.numpy(), rounded.astype(np.int32).astype(dtype))


# Results of MegEngine 1.13, with gradients of the sum of squares.
PSROI = {
    True: (
        [0.87, 2.656667, 1.02, 2.806667, 1.35, 3.136667, 1.5, 3.211852]
        + [1.675556, 1.686667, 1.855555, 1.866667, 2.155555, 1.418519, 2.335556, 1.448889],
        [0.5075, 1.02407, 2.0663, 0.51657, 0, 0.73083, 1.43765, 2.82728, 0.70682, 0]
        + [0.62333, 1.19506, 2.28691, 0.57173, 0, 0.02833, 0.05432, 0.10395, 0.02599, 0],
        None,
    ),
    False: (
        [0.363, 2.152667, 1.449, 2.844167, 0.843, 2.632667, 1.85325, 2.968796]
        + [1.675222, 1.686, 1.812667, 1.648111, 2.155222, 1.485185, 2.292667, 2.128111],
        [0.4114, 0.16265, 1.85369, 1.6743, 0, 0.25392, 0.33801, 0.96822, 0.4797, 0]
        + [0.6762, 1.78902, 2.85739, 0.67812, 0, 0.25357, 0.54168, 0.5547, 0.12509, 0],
        [1.1867, -6.04866, 5.75011, -1.76714, 0.09648, 0.38283, 0.02191, -1.96776]
        + [-1.94076, -1.873, 6.73275, -7.95524, 0.55158, 0.02331, 0.39411, 0.54378],
    ),
}


@pytest.mark.parametrize("no_trans", PSROI)
def test_deformable_psroi_pooling(no_trans):
    wanted, wanted_dx, wanted_dt = PSROI[no_trans]
    x = Tensor((np.arange(80) * 7919 % 101 / 25).reshape(2, 2, 4, 5).astype(np.float32))
    rois = Tensor([[0.0, 1, 1, 6, 5], [1, 0, 2, 9, 7]])
    trans = Tensor((np.arange(16) * 31 % 17 / 8 - 1).reshape(2, 2, 2, 2).astype(np.float32))
    pool = M.DeformablePSROIPooling(no_trans, 2, 2, 2, 3, 0.5, 0.2)
    with GradManager().attach([x, trans]) as gm:
        y = pool(x, rois, trans)
        gm.backward((y * y).sum())
    np.testing.assert_allclose(y.numpy().ravel(), wanted, atol=2e-6)
    np.testing.assert_allclose(x.grad.numpy()[0, 0].ravel(), wanted_dx, atol=2e-5)
    if no_trans:
        assert trans.grad is None
    else:
        np.testing.assert_allclose(trans.grad.numpy().ravel(), wanted_dt, atol=2e-5)


def test_deformable_psroi_pooling_reads_the_first_rows_of_trans():
    x, rois = F.arange(16).reshape(1, 1, 4, 4), Tensor([[0.0, 0, 0, 2, 2]])
    trans = Tensor(np.random.default_rng(0).random((24, 2, 2, 2), dtype=np.float32))
    found = F.nn.deformable_psroi_pooling(x, rois, trans, False, 2, 2, 2, 2, 1.0)
    wanted = F.nn.deformable_psroi_pooling(x, rois, trans[:1], False, 2, 2, 2, 2, 1.0)
    np.testing.assert_array_equal(found.numpy(), wanted.numpy())


def test_wrong_deformable_psroi_pooling():
    x, rois, trans = F.ones((1, 1, 4, 4)), Tensor([[0.0, 0, 0, 2, 2]]), F.zeros((1, 2, 3, 3))
    with pytest.raises(
        RuntimeError, match=r"trans has shape \(1, 2, 3, 3\), expected \(R, 2, 2, 2\)"
    ):
        F.nn.deformable_psroi_pooling(x, rois, trans, False, 2, 2, 2, 2, 1.0)
    with pytest.raises(ValueError, match="samples is 0"):
        F.nn.deformable_psroi_pooling(x, rois, trans, True, 2, 2, 2, 0, 1.0)


# Brightness of 4 x 4 pixels, and the two colours of each four of them.
Y = np.array([[100, 50, 3, 255], [200, 16, 128, 77], [0, 90, 180, 240], [31, 62, 93, 124]], "uint8")
U, V = np.array([[90, 0], [255, 128]], "uint8"), np.array([[240, 128], [10, 255]], "uint8")
# MegEngine's results: red, green and blue of the pixels in rows.
WHOLE = """
    255 33 32  207 0 0  3 47 0  255 255 28  255 133 132  173 0 0  128 172 0  77 121 0
    0 41 225  0 131 255  255 90 180  255 150 240  0 72 255  0 103 255  255 3 93  255 34 124"""
STUDIO = """
    255 22 22  218 0 0  0 35 0  255 255 22  255 138 138  178 0 0  130 180 0  71 121 0
    0 28 235  0 132 255  255 88 191  255 158 255  0 64 255  0 100 255  255 0 90  255 23 126"""


@pytest.mark.parametrize("symbolic", [None, True, False])
@pytest.mark.parametrize(("prefix", "expected"), [("", WHOLE), ("BT601_", STUDIO)])
@pytest.mark.parametrize(
    ("layout", "colours"),
    [
        ("NV21", np.stack([V, U], -1)),
        ("NV12", np.stack([U, V], -1)),
        ("YV12", np.stack([V, U])),
        ("YU12", np.stack([U, V])),
    ],
)
def test_images_with_half_of_the_colours(layout, colours, prefix, expected, symbolic):
    def convert(x, mode):
        function = partial(F.vision.cvt_color, mode=mode)
        return (function if symbolic is None else trace(function, symbolic=symbolic))(x).numpy()

    image = Tensor(np.concatenate([Y, colours.reshape(2, 4)])[None, :, :, None])
    rgb = np.array(expected.split(), "uint8").reshape(1, 4, 4, 3)
    assert np.array_equal(convert(image, f"{prefix}YUV2RGB_{layout}"), rgb)
    assert np.array_equal(convert(image, f"{prefix}YUV2BGR_{layout}"), rgb[..., ::-1])
    assert np.array_equal(convert(image, f"YUV2GRAY_{layout}"), Y[None, :, :, None])
    if layout == "NV21" and not prefix:
        assert np.array_equal(convert(image, "YCrCb2RGB"), rgb)
        assert np.array_equal(convert(image, "YCrCb2BGR"), rgb[..., ::-1])
