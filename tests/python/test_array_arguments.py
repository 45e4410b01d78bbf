# SPDX-License-Identifier: Apache-2.0
"""Functions accept NumPy arrays and lists where they take Tensors."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.jit import trace
from megengine.optimizer import LAMB, Adam

SQUARE = np.array([[3.0, 1.0, 2.0], [4.0, 6.0, 5.0], [9.0, 7.0, 8.0]], np.float32)
IMAGE = np.arange(16, dtype=np.float32).reshape(1, 1, 4, 4)
WINDOW = np.ones((1, 1, 2, 2), np.float32)
BGR = np.array([0, 1, 2], np.float32)
BOXES = np.array([[0, 0, 2, 2], [0, 0, 2, 1.9], [3, 3, 4, 4]], np.float32)
ROIS = np.array([[0, 1, 1, 3, 3]], np.float32)
# A function and its arguments: arrays, or Tensors made of them.
CASES = {
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, 2), IMAGE),
    "argsort": (lambda x: F.argsort(x), SQUARE),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 2), IMAGE),
    "batch_norm": (lambda x: F.batch_norm(x, training=True), IMAGE),
    "conv1d": (lambda x, w: F.conv1d(x, w), IMAGE.reshape(1, 1, 16), WINDOW[:, :, 0]),
    "conv3d": (lambda x, w: F.conv3d(x, w), IMAGE[None], WINDOW[None]),
    "conv_transpose2d": (lambda x, w: F.conv_transpose2d(x, w), IMAGE, WINDOW),
    "conv_transpose3d": (lambda x, w: F.conv_transpose3d(x, w), IMAGE[None], WINDOW[None]),
    "correlation": (lambda x, y: F.vision.correlation(x, y), IMAGE, IMAGE),
    "cross_entropy": (lambda x, y: F.nn.cross_entropy(x, y), SQUARE, np.array([0, 2, 1])),
    "ctc_loss": (
        lambda x, n, y, m: F.nn.ctc_loss(x, n, y, m),
        SQUARE[:, None],
        np.array([3]),
        np.array([[1]]),
        np.array([1]),
    ),
    "cvt_color": (lambda x: F.vision.cvt_color(x, "BGR2GRAY"), IMAGE.reshape(1, 4, 4, 1) + BGR),
    "deformable_conv2d": (
        lambda x, w, o, m: F.deformable_conv2d(x, w, o, m),
        IMAGE,
        np.ones((1, 1, 1, 1), np.float32),
        np.zeros((1, 2, 4, 4), np.float32),
        np.ones((1, 1, 4, 4), np.float32),
    ),
    "einsum": (lambda x, y: F.einsum("ij,jk->ik", x, y), SQUARE, SQUARE),
    "flip": (lambda x: F.vision.flip(x), IMAGE),
    "general_norm": (lambda x: F.nn.general_norm(x, 1, False), SQUARE),
    "group_norm": (lambda x: F.group_norm(x, 1, False), IMAGE),
    "instance_norm": (lambda x: F.instance_norm(x, False), IMAGE),
    "interpolate": (lambda x: F.vision.interpolate(x, (2, 3)), IMAGE),
    "local_response_norm": (lambda x: F.local_response_norm(x, 1), IMAGE),
    "logsumexp": (lambda x: F.logsumexp(x, 1), SQUARE),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), IMAGE),
    "multi_head_attention": (
        lambda x, w: F.nn.multi_head_attention(x, x, x, 3, 1, 0.0, 0.0, w)[0],
        SQUARE[None],
        np.ones(36, np.float32),
    ),
    "norm": (lambda x: F.norm(x, axis=1), SQUARE),
    "normalize": (lambda x: F.normalize(x, axis=1), SQUARE),
    "pad": (lambda x: F.nn.pad(x, ((1, 0), (0, 2))), SQUARE),
    "pixel_shuffle": (lambda x: F.pixel_shuffle(x, 2), IMAGE.reshape(1, 4, 2, 2)),
    "resize": (lambda x: F.vision.resize(x, 2), IMAGE),
    "rot90": (lambda x: F.vision.rot90(x), IMAGE),
    "rotate": (lambda x: F.vision.rotate(x, 90.0), IMAGE),
    "sliding_window": (lambda x: F.sliding_window(x, 2), IMAGE),
    "sliding_window_transpose": (
        lambda x: F.sliding_window_transpose(x, 2, 1),
        IMAGE.reshape(1, 4, 2, 2, 1, 1),
    ),
    "softmax": (lambda x: F.softmax(x), SQUARE),
    "swapaxes": (lambda x: F.swapaxes(x, 0, 1), SQUARE),
    "sync_batch_norm": (
        lambda x, y: F.sync_batch_norm(x, y, y, eps_mode="max"),
        IMAGE,
        np.ones((1, 1, 1, 1), np.float32),
    ),
    "tile": (lambda x: F.tile(x, (2, 1)), SQUARE),
    "warp_affine": (
        lambda x, m: F.warp_affine(x, m, (2, 2), format="NCHW"),
        IMAGE,
        np.eye(2, 3, dtype=np.float32)[None],
    ),
    "warp_affine of channels last": (
        lambda x, m: F.warp_affine(x, m, (2, 2)),
        IMAGE.reshape(1, 4, 4, 1),
        np.eye(2, 3, dtype=np.float32)[None],
    ),
    "warp_perspective of channels last": (
        lambda x, m: F.warp_perspective(x, m, (2, 2), format="NHWC"),
        IMAGE.reshape(1, 4, 4, 1),
        np.eye(3, dtype=np.float32)[None],
    ),
    "warp_perspective": (
        lambda x, m: F.warp_perspective(x, m, (2, 2)),
        IMAGE,
        np.eye(3, dtype=np.float32)[None],
    ),
    "cross": (lambda x, y: F.cross(x, y), SQUARE, SQUARE[::-1].copy()),
    "cross along an axis": (lambda x: F.cross(x, x + 1, axis=0), SQUARE),
    "diag of a matrix": (lambda x: F.diag(x, 1), SQUARE),
    "diag of a vector": (lambda x: F.diag(x), SQUARE[0]),
    "gather": (lambda x, at: F.gather(x, 1, at), SQUARE, np.array([[1], [0], [2]])),
    "layer_norm": (lambda x: F.layer_norm(x, 3, affine=False), SQUARE),
    "local_conv2d": (
        lambda x, w: F.local_conv2d(x, w),
        IMAGE,
        np.ones((1, 2, 2, 1, 3, 3, 1), np.float32),
    ),
    "nms": (lambda b, s: F.vision.nms(b, s, 0.5), BOXES, SQUARE[0]),
    "roi_align": (lambda x, r: F.vision.roi_align(x, r, 1), IMAGE, ROIS),
    "roi_pooling": (lambda x, r: F.vision.roi_pooling(x, r, 1), IMAGE, ROIS),
    "deformable_psroi_pooling": (
        lambda x, r, t: F.nn.deformable_psroi_pooling(x, r, t, False, 1, 1, 1, 2, 1.0),
        IMAGE,
        ROIS,
        np.zeros((1, 2, 1, 1), np.float32),
    ),
    "region_restricted_conv": (
        lambda x, r: M.RegionRestrictedConv(1, 1, 1, 1)(x, r, r) * 0,
        IMAGE,
        np.zeros((1, 4, 4), np.int32),
    ),
    "roll": (lambda x: F.roll(x, 1, 1), SQUARE),
    "roll of all": (lambda x: F.roll(x, 2), SQUARE),
    "split": (lambda x: F.split(x, 3, axis=1), SQUARE),
    "topk": (lambda x: F.topk(x, 2), SQUARE),
    "topk_accuracy": (lambda x, y: F.topk_accuracy(x, y), SQUARE, np.array([0, 1, 1])),
    "RNN": (lambda x: [y * 0 for y in M.RNN(3, 2)(x)], SQUARE[None]),
    "LSTM": (lambda x: M.LSTM(3, 2)(x)[0] * 0, SQUARE[None]),
}


def results(values):
    return [np.asarray(v) for v in (values if isinstance(values, (tuple, list)) else [values])]


@pytest.mark.parametrize("name", CASES)
def test_an_array_counts_as_a_tensor(name):
    function, *arrays = CASES[name]
    wanted = results(function(*map(mge.tensor, arrays)))
    found = function(*arrays)
    for value in found if isinstance(found, (tuple, list)) else [found]:
        assert isinstance(value, mge.Tensor)
    for have, want in zip(results(found), wanted, strict=True):
        np.testing.assert_array_equal(have, want)
        assert have.dtype == want.dtype


def test_a_list_counts_as_a_tensor():
    assert F.argsort([3.0, 1.0, 2.0]).tolist() == [1, 2, 0]
    assert F.topk([3.0, 1.0, 2.0], 2)[0].tolist() == [3.0, 2.0]
    assert [part.tolist() for part in F.split([1, 2, 3], 2)] == [[1, 2], [3]]


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32"])
def test_a_float64_of_numpy_is_a_number_beside_tensors(dtype):
    x, half = mge.tensor([1, 2], dtype=dtype), np.float64(0.5)
    for have, want in ((x + half, x + 0.5), (half * x, 0.5 * x), (x >= half, x >= 0.5)):
        assert have.dtype == want.dtype and have.tolist() == want.tolist()
    np.testing.assert_almost_equal(mge.tensor(1.0), 1.0)
    with pytest.raises(RuntimeError, match="unsupported numpy dtype float64"):
        x + np.array([0.5, 0.5])


@pytest.mark.parametrize(
    "unsigned, dtype, wanted",
    [(u, f, f) for u in ("uint16", "uint32", "uint64") for f in ("float16", "float32")]
    + [("uint16", i, "int32") for i in ("int8", "int16", "int32")],
)
def test_unsigned_integers_of_numpy_beside_tensors(unsigned, dtype, wanted):
    x, numbers = mge.Tensor(np.array([1, 2, 3], dtype)), np.array([2, 3, 4], unsigned)
    for y, sums in ((numbers, [3, 5, 7]), (numbers[0], [3, 4, 5])):
        for result in (x + y, y + x):
            assert result.dtype == wanted
            np.testing.assert_array_equal(result.numpy(), sums)
        np.testing.assert_array_equal((x == y).numpy(), x.numpy() == y)


def test_integers_beyond_64_bits_are_floats_beside_floats():
    x, large = mge.tensor([1.0, -2.0]), 10**30
    np.testing.assert_array_equal((x * large).numpy(), np.float32([1e30, -2e30]))
    np.testing.assert_array_equal((large - x).numpy(), np.float32([1e30, 1e30]))
    assert (x < large).numpy().all() and F.maximum(x, -large).tolist() == [1, -2]
    assert mge.tensor(large, dtype="float32").numpy() == np.float32(1e30)
    for refused in (
        lambda: x + 10**400,
        lambda: mge.tensor([1]) + large,
        lambda: mge.tensor(large),
    ):
        with pytest.raises(ValueError, match="does not fit"):
            refused()


@pytest.mark.parametrize("dtype", ["int64", "uint64", "uint32", "float64"])
def test_arrays_beside_the_wide_results_of_a_file(dtype):
    onnx = pytest.importorskip("onnx")
    element = {"int64": "int64", "uint64": "uint64", "uint32": "uint32", "float64": "double"}[dtype]
    body = f"g ({element}[n] x) => ({element}[n] y) {{y = Identity(x)}}"
    model = mge.onnx.load(
        onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {body}')
    )
    array = np.array([1, 3, 5], dtype) * (2**28 if dtype == "uint32" else 2**40)
    y = model(array)
    for result in (y + array, array + y):
        assert result.dtype == dtype
        np.testing.assert_array_equal(result.numpy(), array + array)
    np.testing.assert_array_equal((y >= array[1]).numpy(), array >= array[1])


def test_an_array_of_a_traced_function_is_new_in_each_call():
    top = trace(lambda x: F.topk(x, 1)[0], symbolic=True)
    assert [top(SQUARE * k).tolist() for k in (1, 2, 3)] == [
        [[3.0 * k], [6.0 * k], [9.0 * k]] for k in (1, 2, 3)
    ]


def test_scatter_refuses_an_array_to_change():
    with pytest.raises(TypeError, match=r"\[scatter\] inp must be a Tensor, which it changes"):
        F.scatter(np.zeros((1, 2), np.float32), 1, np.array([[1]]), np.ones((1, 1)))
    x = mge.tensor(np.zeros((1, 2), np.float32))
    F.scatter(x, 1, np.array([[1]], np.int32), np.array([[7]], np.float32))
    assert x.tolist() == [[0.0, 7.0]]


def betas_of(kind):
    return kind([mge.Parameter([1.0])], lr=0.1, betas=np.array([0.5, 0.9])).param_groups[0]["betas"]


VECTOR, ONE, TWO = np.arange(3.0, dtype=np.float32), np.uint8(1), np.int64(2)
# Each pair has equal results.
NUMBERS_OF_NUMPY = {
    "Conv1d": (lambda: M.Conv1d(ONE, 1, TWO).weight.shape, lambda: (1, 1, 2)),
    "reflecting Conv1d": (
        lambda: M.Conv1d(1, 1, 3, padding=TWO, padding_mode="reflect").get_pad_witdth(),
        lambda: ((0, 0), (0, 0), (2, 2)),
    ),
    "diag": (lambda: F.diag(SQUARE, ONE), lambda: F.diag(SQUARE, 1)),
    "lower diag": (lambda: F.diag(SQUARE, np.int32(-1)), lambda: F.diag(SQUARE, -1)),
    "diag of a vector": (lambda: F.diag(VECTOR, TWO), lambda: F.diag(VECTOR, 2)),
    "correlation": (
        lambda: F.vision.correlation(IMAGE, IMAGE, ONE, ONE, ONE, ONE, ONE),
        lambda: F.vision.correlation(IMAGE, IMAGE, 1, 1, 1, 1, 1),
    ),
    "topk_accuracy": (
        lambda: F.topk_accuracy(SQUARE, mge.Tensor([0, 2, 1]), TWO),
        lambda: F.topk_accuracy(SQUARE, mge.Tensor([0, 2, 1]), 2),
    ),
    "interpolate": (
        lambda: F.vision.interpolate(IMAGE, scale_factor=np.float32(2)),
        lambda: F.vision.interpolate(IMAGE, scale_factor=2),
    ),
    "pattern": (lambda: F.transpose(SQUARE, mge.Tensor([1, 0])), lambda: SQUARE.T),
    "transpose by no axes": (lambda: F.transpose(SQUARE, []), lambda: SQUARE.T),
    "Tensor.transpose by no axes": (lambda: mge.Tensor(SQUARE).transpose(()), lambda: SQUARE.T),
    "Tensor.transpose": (
        lambda: mge.Tensor(SQUARE).transpose(np.array([1, 0])),
        lambda: SQUARE.T,
    ),
    "transpose by a Tensor": (
        lambda: mge.Tensor(SQUARE).transpose(mge.Tensor([1, 0])),
        lambda: SQUARE.T,
    ),
    "LayerNorm": (lambda: M.LayerNorm(np.array([3, 4])).normalized_shape, lambda: (3, 4)),
    "LayerNorm of one axis": (lambda: M.LayerNorm(TWO).normalized_shape, lambda: (2,)),
    "Adam": (lambda: betas_of(Adam), lambda: [0.5, 0.9]),
    "LAMB": (lambda: betas_of(LAMB), lambda: [0.5, 0.9]),
}


@pytest.mark.parametrize("name", NUMBERS_OF_NUMPY)
def test_numbers_of_numpy(name):
    found, wanted = NUMBERS_OF_NUMPY[name]
    np.testing.assert_array_equal(found(), wanted())
