# SPDX-License-Identifier: Apache-2.0
"""Names of modes and formats are taken in any case, as MegEngine takes them."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M

IMAGES = mge.Tensor(np.random.default_rng(0).random((1, 4, 4, 4)).astype("float32"))
COLOURS = IMAGES[..., :3]
MOVED = mge.Tensor([[[1.0, 0.1, 0.5], [0.0, 1.0, -0.5], [0.0, 0.0, 1.0]]])
GRID = mge.Tensor([[[[0.5, 1.0]], [[2.0, 3.0]]]]).transpose(0, 2, 1, 3).reshape(1, 1, 2, 2)

CALLS = {
    "warp_perspective format": (
        lambda word: F.vision.warp_perspective(IMAGES, MOVED, (4, 4), format=word),
        ("NCHW", "NHWC"),
    ),
    "warp_affine format": (
        lambda word: F.vision.warp_affine(IMAGES, MOVED[:, :2], (4, 4), format=word),
        ("NCHW", "NHWC"),
    ),
    "border": (
        lambda word: F.vision.remap(IMAGES, GRID, border_mode=word),
        ("replicate", "reflect", "constant"),
    ),
    "cvt_color": (
        lambda word: F.vision.cvt_color(COLOURS, word),
        ("RGB2GRAY", "BGR2GRAY", "RGB2BGR"),
    ),
    "avg_pool2d": (
        lambda word: F.avg_pool2d(IMAGES, 2, padding=1, mode=word),
        ("average", "average_count_exclude_padding", "max"),
    ),
    "RNNCell": (
        lambda word: filled(M.RNNCell(2, 3, nonlinearity=word))(F.ones((1, 2))),
        ("tanh", "relu"),
    ),
    "RNN": (
        lambda word: filled(M.RNN(2, 3, nonlinearity=word))(F.ones((2, 1, 2)))[0],
        ("tanh", "relu"),
    ),
}


def filled(module):
    for tensor in module.parameters():
        tensor[...] = F.ones(tensor.shape) * 0.25
    return module


@pytest.mark.parametrize("name", sorted(CALLS))
def test_words_in_any_case(name):
    call, words = CALLS[name]
    for word in words:
        want = call(word.lower())
        for spelled in (word.upper(), word.capitalize()):
            np.testing.assert_array_equal(call(spelled).numpy(), want.numpy(), err_msg=spelled)
    with pytest.raises((AssertionError, RuntimeError, ValueError)):
        call("nope")


def test_an_average_of_maxima_is_max_pooling():
    got = F.avg_pool2d(IMAGES, 2, padding=1, mode="max")
    np.testing.assert_array_equal(got.numpy(), F.max_pool2d(IMAGES, 2, padding=1).numpy())
    got = M.AvgPool2d(2, padding=1, mode="max")(IMAGES)
    np.testing.assert_array_equal(got.numpy(), F.max_pool2d(IMAGES, 2, padding=1).numpy())
