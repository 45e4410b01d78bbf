# SPDX-License-Identifier: Apache-2.0
"""Dumped functions follow the size of their images: what they compute with extents does too."""

import io

import numpy as np
import pytest

import megengine.functional as F
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import trace
from megengine.module import vision as V
from megengine.utils.comp_graph_tools import GraphInference

TRACED, OTHERS = (1, 4, 5, 6), ((1, 4, 5, 6), (3, 4, 9, 8), (1, 4, 7, 13), (2, 4, 4, 5))


def images(shape) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(np.float32)


def dumped(function, *shapes):
    traced = trace(function, symbolic=True, capture_as_const=True)
    file = io.BytesIO()
    traced(*(Tensor(images(shape)) for shape in shapes))
    traced.dump(file)
    file.seek(0)
    return GraphInference(file)


def check_sizes(function, traced=TRACED, others=OTHERS, atol=1e-6):
    inference = dumped(function, traced)
    for shape in others:
        x = images(shape)
        got = list(inference.run(x).values())
        results = function(Tensor(x))
        wanted = results if isinstance(results, (tuple, list)) else [results]
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a, b.numpy(), atol=atol, err_msg=str(shape))


INTERPOLATIONS = [
    ({"scale_factor": 2, "mode": "nearest"}, 4),
    ({"scale_factor": 2}, 4),
    ({"scale_factor": 0.58}, 4),
    ({"scale_factor": [1.5, 0.7], "align_corners": True}, 4),
    ({"scale_factor": 1.7, "mode": "bicubic"}, 4),
    ({"size": (11, 3)}, 4),
    ({"size": (1, 7), "align_corners": True}, 4),
    ({"size": (6, 14), "mode": "nearest"}, 4),
    ({"size": (6, 14), "mode": "bicubic"}, 4),
    ({"scale_factor": 3, "mode": "linear"}, 3),
    ({"size": 5, "mode": "linear", "align_corners": True}, 3),
    ({"scale_factor": (2, 1, 0.5), "mode": "trilinear"}, 5),
    ({"size": (4, 3, 2), "mode": "trilinear", "align_corners": True}, 5),
]


@pytest.mark.parametrize("how, rank", INTERPOLATIONS)
def test_interpolate(how, rank):
    others = [
        (n, 2, *(extent, 2 * extent, extent + 3)[: rank - 2])
        for n, extent in enumerate((4, 5, 9), 1)
    ]
    exact = how.get("mode") != "bicubic"
    check_sizes(
        lambda x: F.vision.interpolate(x, **how),
        (1, 2, *(5, 6, 7)[: rank - 2]),
        others,
        0 if exact else 1e-6,
    )


@pytest.mark.parametrize(
    "size",
    [
        lambda x: (x.shape[2] * 2, x.shape[3] + 1),
        lambda x: F.max_pool2d(x, 2).shape[2:],
        lambda x: (7, x.shape[3]),
    ],
)
def test_interpolate_to_the_size_of_another(size):
    check_sizes(lambda x: F.vision.interpolate(x, size(x)))


@pytest.mark.parametrize(
    "equation, traced, others",
    [
        ("bchw,bcxy->bhwxy", (1, 4, 5, 6), ((3, 4, 2, 7), (1, 2, 1, 3))),
        ("bchw->whcb", (2, 3, 4, 5), ((1, 5, 2, 3),)),
        ("bcii->bci", (2, 3, 4, 4), ((1, 2, 6, 6),)),
        ("...hw,...hv->...wv", (2, 3, 4, 5), ((3, 1, 2, 6),)),
        ("bchw,bchw->", (2, 3, 4, 5), ((1, 1, 2, 3),)),
    ],
)
def test_einsum(equation, traced, others):
    count = equation.partition("->")[0].count(",") + 1
    check_sizes(lambda x: F.einsum(equation, *[x] * count), traced, others, atol=1e-4)


def test_einsum_of_axes_that_broadcast():
    column = Tensor(images((1, 4, 1, 1)))

    def product(x):
        return F.einsum("bchw,bcij->bchw", x, column)

    check_sizes(product, (2, 4, 5, 6), OTHERS, atol=1e-5)


def test_interpolate_in_a_pyramid():
    weight = Tensor(images((4, 4, 3, 3)))

    def pyramid(x):
        half = F.conv2d(x, weight, stride=2, padding=1)
        return F.vision.interpolate(half, x.shape[2:], mode="nearest") + x

    check_sizes(pyramid, atol=1e-4)


@pytest.mark.parametrize("how, rank", INTERPOLATIONS)
@pytest.mark.parametrize("symbolic", [False, True])
def test_gradients_of_interpolate_in_a_trace(how, rank, symbolic):
    def step(x):
        manager = GradManager().attach([x])
        with manager:
            y = F.vision.interpolate(x, **how)
            manager.backward((y * y).sum())
        return x.grad

    traced = trace(step, symbolic=symbolic)
    for extent in (5, 4):
        x = images((1, 2, *(extent, 6, 3)[: rank - 2]))
        np.testing.assert_allclose(traced(Tensor(x)).numpy(), step(Tensor(x)).numpy(), atol=1e-5)


def test_factors_are_decimal_fractions():
    # 50 * 0.58 is 28.999999999999996 in binary; MegEngine 1.13 gives 29 as well.
    assert F.vision.interpolate(F.ones((1, 1, 50, 100)), scale_factor=[0.58, 0.29]).shape[2:] == (
        29,
        29,
    )


@pytest.mark.parametrize(
    "size, options",
    [
        (3, {}),
        (7, {"max_size": 8, "imode": "nearest"}),
        ((4, 9), {"imode": "bicubic"}),
        (4, {"format": "NHWC"}),
    ],
)
def test_resize(size, options):
    check_sizes(lambda x: F.vision.resize(x, size, **options))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: F.sliding_window(x, (2, 3), padding=(1, 0), stride=(2, 1), dilation=(1, 2)),
        lambda x: F.sliding_window(x, 1),
        lambda x: F.vision.correlation(x, x + 1, 1, 1, 1, 1, 1),
        lambda x: F.vision.correlation(x, x * 2, 3, 2, 2, 2, 2, is_multiply=False),
        lambda x: F.pixel_shuffle(x, 2),
        lambda x: F.meshgrid(x[0, 0, 0], x[0, 0, :, 0], x[0, :, 0, 0]),
        lambda x: F.meshgrid(x[0, 0, 0], x[0, 0, :, 0], indexing="ij"),
        lambda x: F.roll(x, 5),
        lambda x: F.roll(x, [23, -31, 9], [1, 2, -1]),
        lambda x: F.roll(x, (5, -5), (2, -1)),
        lambda x: F.roll(x, x.shape[2] // 2, 2),
        lambda x: F.roll(x, (-x.shape[2], 1), (3, 2)),
    ],
)
def test_functions_of_images(function):
    check_sizes(function)


@pytest.mark.parametrize(
    "function", [lambda x: F.pixel_shuffle(x, 2), lambda x: F.instance_norm(x, affine=False)]
)
def test_other_numbers_of_channels(function):
    check_sizes(function, others=((1, 8, 5, 6), (2, 12, 3, 4), (2, 4, 5, 6)), atol=1e-5)


def test_pixel_shuffle_refuses_channels_that_do_not_divide():
    inference = dumped(lambda x: F.pixel_shuffle(x, 2), TRACED)
    with pytest.raises(RuntimeError, match="reshape"):
        inference.run(images((2, 6, 5, 6)))


@pytest.mark.parametrize("padding, extra", [((1, 2), 1), (0, (1, 0)), ((3, 0), (2, 1))])
def test_conv_transpose2d_with_output_padding(padding, extra):
    weight = Tensor(images((4, 2, 3, 4)))
    check_sizes(
        lambda x: F.conv_transpose2d(
            x, weight, stride=3, padding=padding, output_padding=extra, dilation=(1, 2)
        ),
        atol=1e-5,
    )


@pytest.mark.parametrize("stride, padding, extra, dilation", [(1, 0, 0, 2), (2, 1, 1, 1)])
def test_volumes(stride, padding, extra, dilation):
    weight = Tensor(images((2, 2, 3, 2, 3)))

    def both(x):
        large = F.conv_transpose3d(x, weight, None, stride, padding, extra, dilation)
        return large, F.conv3d(large, weight, None, stride, padding, dilation)

    check_sizes(both, (1, 2, 4, 4, 5), [(2, 2, 5, 6, 4), (1, 2, 3, 4, 9), (1, 2, 4, 4, 5)], 1e-4)


@pytest.mark.parametrize("parts", [1, 2])
def test_deformable_conv2d(parts):
    taps, kernel = 6, (2, 3)
    of_offset, of_mask = (Tensor(images((n * parts * taps, 4, *kernel)) * 0.2) for n in (2, 1))
    weight = Tensor(images((2, 3, 2, *kernel)))
    how = {"stride": (2, 1), "padding": (0, 2), "dilation": (1, 2)}

    def predict(x):
        offset, mask = F.conv2d(x, of_offset, **how), F.conv2d(x, of_mask, **how)
        return F.deformable_conv2d(x, weight, offset, mask, groups=2, **how)

    check_sizes(predict, atol=1e-4)


@pytest.mark.parametrize("places", [(4, 5), (1, 1)])
def test_local_conv2d_refuses_other_sizes(places):
    weight = Tensor(images((1, *places, 2, 2, 2, 3)))
    inference = dumped(lambda x: F.local_conv2d(x, weight), (1, 2, places[0] + 1, places[1] + 1))
    assert len(inference.run(images((3, 2, places[0] + 1, places[1] + 1)))) == 1
    for height, width in ((2, 2), (9, 6), (5, 11)):
        if (height, width) != (places[0] + 1, places[1] + 1):
            with pytest.raises(RuntimeError, match="reshape"):
                inference.run(images((1, 2, height, width)))


@pytest.mark.parametrize(
    "parts",
    [
        lambda x: 2,
        lambda x: 4,
        lambda x: [1, 3],
        lambda x: [x.shape[3] // 2],
        lambda x: [1, x.shape[3] - 1],
        lambda x: (x.shape[2] - 4, Tensor(3)),
    ],
)
def test_split(parts):
    others = [(1, 4, 5, 6), (3, 4, 6, 8), (1, 4, 7, 13), (2, 4, 4, 5)]
    check_sizes(lambda x: F.split(x, parts(x), axis=3), others=others)
    check_sizes(lambda x: F.split(F.relu(x), parts(x), axis=-1)[-1] + 1, others=others)


def test_split_refuses_sizes_below_its_positions():
    inference = dumped(lambda x: F.split(x, [1, 4], axis=3), TRACED)
    with pytest.raises(RuntimeError, match="split"):
        inference.run(images((1, 4, 5, 3)))


@pytest.mark.parametrize(
    "change",
    [
        V.GaussianBlur((3, 5)),
        V.GaussianBlur(3, 1.0, border_mode="REFLECT_101"),
        V.GaussianBlur(3, 1.0, border_mode="CONSTANT"),
        V.Emboss(0.5, 1.0),
        V.Sharpen(0.5, 1.0),
        lambda x: V.Dilation()(x, np.ones((3, 3), np.uint8)),
    ],
)
def test_kernels_of_image_modules(change):
    check_sizes(change, atol=1e-5)


@pytest.mark.parametrize("symbolic", [False, True])
@pytest.mark.parametrize(
    "change",
    [
        V.RandomHorizontalFlip(1.0),
        V.RandomVerticalFlip(1.0),
        V.LinearContrast(2.0),
        V.LinearContrast((2.0, 2.0 + 1e-6), per_channel=True),
        V.AdditiveGaussianNoise(1.0, 0.0),
        V.AdditiveLaplaceNoise(1.0, 0.0, per_channel=True),
        V.AdditivePoissonNoise(0.0),
    ],
)
def test_random_changes_of_traced_batches(change, symbolic):
    traced = trace(change, symbolic=symbolic)
    for shape in ((4, 3, 5, 6), (4, 3, 5, 6), (3, 3, 5, 6), (5, 3, 4, 9)):
        x = Tensor(images(shape))
        np.testing.assert_allclose(traced(x).numpy(), change(x).numpy(), atol=1e-3)


def masked(x):
    """Elements at a mask of fewer axes, read and written."""
    y = x * 1
    y[x[..., 0] > 0] = 7
    return x[x[..., 0] > 0], y, x[:, x[0, ..., 0] > 0]


def warped(x):
    """Transformations to sizes that follow the image."""
    affine = F.broadcast_to(Tensor([[1.0, 0.25, 1.0], [0.0, 1.0, 0.5]]), (x.shape[0], 2, 3))
    perspective = F.broadcast_to(Tensor(np.eye(3, dtype=np.float32)), (x.shape[0], 3, 3))
    last = F.transpose(x[:, :3], (0, 2, 3, 1))
    return (
        F.warp_affine(x, affine, x.shape[2:], format="NCHW"),
        F.warp_affine(last, affine, (x.shape[2] * 2, 3)),
        F.warp_perspective(x, perspective, (x.shape[3], x.shape[2])),
        F.vision.rotate(x, 30),
        F.vision.rotate(last, -90, format="NHWC", interp_mode="nearest"),
    )


@pytest.mark.parametrize(
    "function",
    [
        masked,
        warped,
        lambda x: (F.non_zero(x > 0), *F.where(x > 1)),
        lambda x: (*F.topk(x.flatten(), 1000), F.topk(x[0, 0], 6, kth_only=True)[0]),
        lambda x: (F.eye(x.shape[2]), F.eye(x.shape[2], x.shape[3], dtype="int32")),
        lambda x: (F.eye([2, x.shape[3]]), F.eye(x.shape[2:])),
        lambda x: (F.layer_norm(x, (x.shape[3],), False), F.layer_norm(x, x.shape[2:], False)),
    ],
)
@pytest.mark.parametrize("symbolic", [None, False, True])
def test_sizes_follow_the_input(function, symbolic):
    if symbolic is None:
        check_sizes(function, atol=1e-5)
        return
    traced = trace(function, symbolic=symbolic)
    for shape in (*OTHERS, OTHERS[1]):
        got, wanted = (f(Tensor(images(shape))) for f in (traced, function))
        for a, b in zip(got, wanted, strict=True):
            np.testing.assert_allclose(a.numpy(), b.numpy(), atol=1e-5, err_msg=str(shape))


@pytest.mark.parametrize("pool", [F.avg_pool2d, F.max_pool2d])
def test_window_of_the_size_of_the_image(pool):
    x = Tensor(images((2, 3, 5, 5)))
    for function in (lambda x: pool(x, x.shape[2]), lambda x: pool(x, Tensor(5), Tensor([2, 2]))):
        np.testing.assert_array_equal(trace(function, symbolic=True)(x), pool(x, 5, 2))
