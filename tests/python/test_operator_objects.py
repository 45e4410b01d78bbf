# SPDX-License-Identifier: Apache-2.0
"""Operators as objects (``core.ops.builtin``) and ``apply``: results, parameters, graphs."""

import copy
import pickle

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.core._imperative_rt import core2
from megengine.core._imperative_rt.ops import (
    delete_rng_handle,
    get_global_rng_seed,
    new_rng_handle,
)
from megengine.core.autodiff.grad import Grad
from megengine.core.ops import builtin as ops
from megengine.core.ops.builtin import Elemwise
from megengine.core.ops.opdef import OpDef, apply
from megengine.core.tensor.dtype import qint8
from megengine.jit import trace
from megengine.traced_module import trace_module
from megengine.utils.network import Network

X = np.arange(12, dtype="float32").reshape(3, 4)
INDEX = (False, False, False, True)
ROWS, COLUMNS = np.array([0, 2]), np.array([1, 1, 0])
PER_ROW = np.array([[0, 2], [1, 3], [3, 0]])
IMAGE = np.arange(32, dtype="float32").reshape(1, 2, 4, 4)


def _changed(places, value, add=False):
    found = X.copy()
    (np.add.at if add else np.ndarray.__setitem__)(found, places, value)
    return found


BOXES = np.array([[[0, 0, 10, 10], [1, 1, 10, 10], [20, 20, 30, 30]]], "float32")
SHUFFLED = np.arange(16, dtype="float32").reshape(1, 1, 4, 4)
BLOCKS = SHUFFLED.reshape(2, 2, 2, 2).transpose(1, 3, 0, 2).reshape(1, 4, 2, 2)
CASES = [
    (Elemwise("add"), (X, X), X + X),
    (Elemwise(mode=Elemwise.Mode.NEGATE), (X,), -X),
    (Elemwise("fuse_mul_add4"), (X, X, X, X), 2 * X * X),
    (Elemwise("clip"), (X, np.float32(1), np.float32(4)), X.clip(1, 4)),
    (ops.TypeCvt("int32"), (X,), X.astype("int32")),
    (ops.Identity(), (X,), X),
    (ops.FastpathCopy(), (X,), X),
    (ops.Copy(), (X,), X),
    (ops.AssertEqual(), (X, X), X),
    (ops.GetVarShape(), (X,), np.array([3, 4])),
    (ops.GetVarShape(axis=1), (X,), np.array([4])),
    (ops.GetVarShape(axis=-1), (X,), np.array([4])),
    (ops.AddAxis([0, 2]), (X,), X[None, :, None]),
    (ops.RemoveAxis([0]), (X[:1],), X[0]),
    (ops.Dimshuffle([1, 0]), (X,), X.T),
    (ops.Dimshuffle([1, -1, 0]), (X,), X.T[:, None]),
    (ops.Reshape(), (X, np.array([4, 3])), X.reshape(4, 3)),
    (ops.Reshape(axis=0), (X, np.array([1, 2])), X.reshape(6, 2)),
    (ops.Broadcast(), (X, np.array([2, 3, 4])), np.stack([X, X])),
    (ops.Concat(axis=1), (X, X), np.concatenate([X, X], 1)),
    (ops.Stack(axis=1), (X, X), np.stack([X, X], 1)),
    (ops.Split(axis=1, nsections=2), (X,), [X[:, :2], X[:, 2:]]),
    (ops.Split(axis=1), (X, np.array(1), np.array(3)), [X[:, :1], X[:, 1:]]),
    (ops.Diag(1), (X,), np.diag(X, 1)),
    (ops.PixelShuffle(1), (IMAGE,), IMAGE),
    (ops.Padding(1, back_offset_dim1=2), (X,), np.pad(X, ((1, 0), (0, 2)))),
    (ops.Reduce("sum", 1), (X,), X.sum(1, keepdims=True)),
    (ops.Reduce("sum_sqr", axis=1, keepdim=False), (X,), (X * X).sum(1)),
    (ops.Reduce("product"), (X + 1,), (X + 1).prod()),
    (ops.Reduce("max"), (X, np.array([1, 4])), X.max(0, keepdims=True)),
    (ops.Argmax(1), (X,), X.argmax(1)[:, None]),
    (ops.Argmin(0), (X,), X.argmin(0)[None]),
    (ops.Argsort("descending"), (X,), [X[:, ::-1], np.tile([3, 2, 1, 0], (3, 1))]),
    (ops.TopK(), (X, np.array(2)), X[:, 1]),
    (ops.TopK("value_idx_sorted"), (X, np.array(-1)), [X[:, 3:], np.full((3, 1), 3)]),
    (ops.Cumsum(1), (X,), X.cumsum(1) - X),
    (ops.Cumsum(1, exclusive=False, reverse=True), (X,), X[:, ::-1].cumsum(1)[:, ::-1]),
    (ops.CondTake(), (X, X > 8), [X[X > 8], np.array([9, 10, 11])]),
    (ops.MaskedFill(-1.0), (X, X > 3), np.where(X > 3, -1, X)),
    (ops.MatrixMul(transposeB=True), (X, X), X @ X.T),
    (ops.BatchedMatrixMul(transposeA=True), (X[None], X[None]), (X.T @ X)[None]),
    (ops.Dot(), (X[0], X[1]), X[0] @ X[1]),
    (ops.MatrixInverse(), (X[:2, :2] + 1,), np.linalg.inv(X[:2, :2] + 1)),
    (ops.Softmax(0), (X * 0,), np.full((3, 4), 1 / 3)),
    (ops.Fill(2.0, "float32"), (np.array([2, 1]),), np.full((2, 1), 2)),
    (ops.FillLike(2.0), (X,), np.full((3, 4), 2)),
    (ops.Eye(), (np.array([2, 3]),), np.eye(2, 3)),
    (ops.Eye(1), (np.array([2, 3]),), np.eye(2, 3, 1)),
    (ops.Eye(-1, "int32"), (np.array([3]),), np.eye(3, k=-1)),
    (ops.Linspace(), (np.float32(0), np.float32(1), np.array(5)), np.linspace(0, 1, 5)),
    (
        ops.Linspace(endpoint=False),
        (np.float32(0), np.float32(1), np.array(4)),
        np.linspace(0, 1, 4, endpoint=False),
    ),
    (ops.Subtensor([(0, True, True, False, False)]), (X, np.array(1), np.array(3)), X[1:3]),
    (ops.Subtensor([(1, *INDEX)]), (X, np.array(2)), X[:, 2]),
    (
        ops.Subtensor([(0, False, False, True, False), (1, True, False, False, False)]),
        (X, np.array([-1]), np.array([2])),
        X[::-1, 2:],
    ),
    (
        ops.SetSubtensor([(0, True, False, False, False)]),
        (X, np.ones((1, 4), "float32"), np.array(2)),
        _changed(slice(2, None), 1),
    ),
    (
        ops.IncrSubtensor([(0, True, False, False, False)]),
        (X, np.ones(4, "float32"), np.array(2)),
        _changed(slice(2, None), 1, add=True),
    ),
    (
        ops.IndexingMultiAxisVec([(0, *INDEX), (1, *INDEX)]),
        (X, ROWS, COLUMNS[:2]),
        X[ROWS, COLUMNS[:2]],
    ),
    (
        ops.IndexingSetMultiAxisVec([(0, *INDEX)]),
        (X, np.ones((2, 4), "float32"), ROWS),
        _changed(ROWS, 1),
    ),
    (
        ops.IndexingIncrMultiAxisVec([(0, *INDEX)]),
        (X, np.ones((2, 4), "float32"), np.array([0, 0])),
        _changed(0, 2, add=True),
    ),
    (
        ops.MeshIndexing([(0, *INDEX), (1, *INDEX)]),
        (X, ROWS, COLUMNS),
        X[np.ix_(ROWS, COLUMNS)],
    ),
    (
        ops.SetMeshIndexing([(0, *INDEX), (1, *INDEX)]),
        (X, np.ones((2, 3), "float32"), ROWS, COLUMNS),
        _changed(np.ix_(ROWS, COLUMNS), 1),
    ),
    (
        ops.IncrMeshIndexing([(0, *INDEX), (1, *INDEX)]),
        (X, np.ones((2, 3), "float32"), ROWS, COLUMNS),
        _changed(np.ix_(ROWS, COLUMNS), 1, add=True),
    ),
    (
        ops.BatchedMeshIndexing([(1, *INDEX)]),
        (X, PER_ROW),
        np.take_along_axis(X, PER_ROW, 1),
    ),
    (
        ops.BatchedSetMeshIndexing([(1, *INDEX)]),
        (X, np.ones((3, 2), "float32"), PER_ROW),
        _changed((np.arange(3)[:, None], PER_ROW), 1),
    ),
    (
        ops.BatchedIncrMeshIndexing([(1, *INDEX)]),
        (X, np.ones((3, 2), "float32"), PER_ROW),
        _changed((np.arange(3)[:, None], PER_ROW), 1, add=True),
    ),
    (ops.IndexingOneHot(1, 2), (X, np.array([1, 2, 3])), np.array([[1], [6], [11]])),
    (
        ops.IndexingSetOneHot(1, 2),
        (X, np.array([1, 2, 3]), np.full((3, 1), -1, "float32")),
        _changed(([0, 1, 2], [1, 2, 3]), -1),
    ),
]


def _name(value) -> str:
    return type(value).__name__ if isinstance(value, OpDef) else ""


def _tensors(arrays):
    return [mge.Tensor(array) for array in arrays]


@pytest.mark.parametrize("op, inputs, want", CASES, ids=_name)
def test_results_match_numpy(op, inputs, want):
    results = apply(op, *_tensors(inputs))
    wants = want if isinstance(want, list) else [want]
    assert isinstance(results, tuple) and len(results) == len(wants)
    for result, expected in zip(results, wants, strict=True):
        np.testing.assert_allclose(result.numpy(), expected, rtol=1e-5)


WEIGHT = np.ones((1, 2, 3, 3), "float32")
SAME_AS = [
    (ops.Convolution(pad_h=1), (IMAGE, WEIGHT), lambda x, w: F.conv2d(x, w, padding=(1, 0))),
    (
        ops.Convolution(sparse="group"),
        (IMAGE, np.ones((2, 1, 1, 3, 3), "float32")),
        lambda x, w: F.conv2d(x, w, groups=2),
    ),
    (
        ops.ConvolutionBackwardData(stride_h=2),
        (np.ones((2, 1, 2, 2), "float32"), IMAGE),
        lambda w, x: F.conv_transpose2d(x, w, stride=(2, 1)),
    ),
    (
        ops.Convolution3D(pad_d=1),
        (IMAGE[:, None], np.ones((1, 1, 2, 2, 2), "float32")),
        lambda x, w: F.conv3d(x, w, padding=(1, 0, 0)),
    ),
    (
        ops.Convolution3DBackwardData(),
        (np.ones((1, 1, 2, 2, 2), "float32"), IMAGE[:, None]),
        lambda w, x: F.conv_transpose3d(x, w),
    ),
    (ops.Pooling(), (IMAGE,), lambda x: F.max_pool2d(x, 2)),
    (
        ops.Pooling("average_count_exclude_padding", 1, 1),
        (IMAGE,),
        lambda x: F.avg_pool2d(x, 2, padding=1),
    ),
    (
        ops.AdaptivePooling("average"),
        (IMAGE, np.array([2, 2])),
        lambda x, _: F.adaptive_avg_pool2d(x, 2),
    ),
    (ops.Images2Neibs(), (IMAGE,), lambda x: F.sliding_window(x, 3)),
    (
        ops.SlidingWindowTranspose(4, 4),
        (np.ones((1, 2, 2, 2, 3, 3), "float32"),),
        lambda x: F.sliding_window_transpose(x, (4, 4), 3),
    ),
    (ops.LRN(), (IMAGE,), F.local_response_norm),
    (ops.Correlation(), (IMAGE, IMAGE), F.vision.correlation),
    (
        ops.CvtColor(),
        (np.ones((1, 2, 2, 3), "float32"),),
        lambda x: F.vision.cvt_color(x, "RGB2GRAY"),
    ),
    (
        ops.Resize(format="NCHW"),
        (IMAGE, np.array([2, 3])),
        lambda x, _: F.vision.resize(x, (2, 3)),
    ),
    (
        ops.Remap(format="NCHW"),
        (IMAGE, np.array([[[[0.5, 0.0]]]], "float32")),
        F.vision.remap,
    ),
    (
        ops.WarpAffine(format="NCHW"),
        (IMAGE, np.array([[[1, 0, 1], [0, 1, 0]]], "float32"), np.array([2, 2])),
        lambda x, m, _: F.warp_affine(x, m, (2, 2), format="NCHW"),
    ),
    (
        ops.WarpPerspective(),
        (IMAGE, np.eye(3, dtype="float32")[None], np.array([2, 2])),
        lambda x, m, _: F.warp_perspective(x, m, (2, 2)),
    ),
    (
        ops.ROIAlign("average"),
        (IMAGE, np.array([[0, 0, 0, 2, 2]], "float32")),
        lambda x, r: F.vision.roi_align(x, r, 1, aligned=False),
    ),
    (
        ops.ROIPooling(),
        (IMAGE, np.array([[0, 0, 0, 2, 2]], "float32"), np.array([2, 2])),
        lambda x, r, _: F.vision.roi_pooling(x, r, 2),
    ),
    (
        ops.GroupLocal(),
        (IMAGE, np.ones((1, 2, 2, 2, 3, 3, 1), "float32")),
        F.local_conv2d,
    ),
    (
        ops.FakeQuant(-128, 127),
        (X, np.array([0.5], "float32"), np.array([0.0], "float32")),
        lambda x, *_: x,
    ),
]


@pytest.mark.parametrize("op, inputs, function", SAME_AS, ids=_name)
def test_results_match_functional(op, inputs, function):
    (result,) = apply(op, *_tensors(inputs))
    np.testing.assert_array_equal(result.numpy(), function(*_tensors(inputs)).numpy())


@pytest.mark.parametrize(
    "op, axes, spread",
    [
        (ops.LayerNorm(False, normalized_dim=2), (2, 3), 1 / IMAGE.std((2, 3))),
        (ops.GroupNorm(False), (1, 2, 3), IMAGE.var((1, 2, 3))),
        (ops.InstanceNorm(False), (2, 3), IMAGE.var((2, 3))),
    ],
    ids=_name,
)
def test_normalisations_return_means_and_deviations_or_variances(op, axes, spread):
    y, mean, found = apply(op, mge.Tensor(IMAGE))
    np.testing.assert_allclose(mean.numpy().ravel(), IMAGE.mean(axes).ravel(), rtol=1e-6)
    np.testing.assert_allclose(found.numpy().ravel(), spread.ravel(), rtol=1e-4)
    np.testing.assert_allclose(y.numpy().mean(axes), 0, atol=1e-6)


UNARY_SLOPES = {"ABS": 1, "ASINH": 1, "ATANH": 1, "GELU": 1, "HSIGMOID": 1, "H_SWISH": 1}
UNARY_SLOPES |= {"RELU6": 1, "SILU": 1, "SOFTPLUS": 1, "FAST_TANH": 1}


@pytest.mark.parametrize("mode", sorted(UNARY_SLOPES))
def test_modes_for_gradients_are_the_slopes(mode):
    x = mge.Tensor(np.array([-0.9, -0.3, 0.4, 0.8], "float32"))
    got = []
    with Grad() as grad:
        grad.wrt(x, callback=got.append)
        (y,) = apply(Elemwise(mode), x)
        grad(y, F.full_like(y, 2.0))
    (slope,) = apply(Elemwise(f"{mode}_GRAD"), x, F.full_like(x, 2.0))
    np.testing.assert_allclose(slope.numpy(), got[0].numpy(), rtol=1e-4, atol=1e-6)


def test_quantised_operands():
    x = mge.Tensor([0.5, 1.0]).astype(qint8(0.5))
    (y,) = apply(ops.ElemwiseMultiType("qadd", qint8(1.0)), x, x)
    assert y.numpy().tolist() == [1, 2]
    (y,) = apply(ops.TypeCvt("float32"), x)
    assert y.numpy().tolist() == [0.5, 1.0]


def test_random_numbers():
    mge.random.seed(3)
    size = mge.Tensor([40, 50], dtype="int32")
    (u,), (n,) = apply(ops.UniformRNG(), size), apply(ops.GaussianRNG(mean=1.0, std=3.0), size)
    assert abs(u.numpy().mean() - 0.5) < 0.05 and abs(n.numpy().std() - 3) < 0.3
    for op in (ops.UniformRNG(dtype="float16"), ops.GaussianRNG(dtype="float16")):
        assert apply(op, size)[0].dtype == "float16"
    assert apply(ops.GammaRNG(), u + 1, u + 1)[0].numpy().min() > 0
    assert 0 < apply(ops.BetaRNG(), u + 1, u + 1)[0].numpy().mean() < 1
    assert abs(apply(ops.PoissonRNG(), u * 0 + 4)[0].numpy().mean() - 4) < 0.3
    assert abs(apply(ops.ExponentialRNG(), u * 0 + 4)[0].numpy().mean() - 0.25) < 0.03
    weights = mge.Tensor([[0.0, 3.0, 1.0], [1.0, 1.0, 0.0]])
    (drawn,) = apply(ops.MultinomialRNG(num_samples=2000, replacement=True), weights)
    assert drawn.shape == (2, 2000)
    np.testing.assert_allclose(drawn.numpy().mean(axis=1), [1.25, 0.5], atol=0.05)
    (kept,) = apply(ops.MultinomialRNG(num_samples=2), weights)
    assert [sorted(row) for row in kept.tolist()] == [[1, 2], [0, 1]]
    assert sorted(apply(ops.PermutationRNG(), mge.Tensor(5))[0].numpy()) == [0, 1, 2, 3, 4]
    (grid,) = apply(ops.PermutationRNG(dtype="float32"), mge.Tensor([3, 2]))
    assert grid.shape == (3, 2) and sorted(grid.numpy().ravel()) == [0, 1, 2, 3, 4, 5]
    shuffled, order = apply(ops.ShuffleRNG(), mge.Tensor(X))
    np.testing.assert_array_equal(shuffled.numpy(), X[order.numpy()])
    kept = apply(ops.Dropout(0.25), F.ones((40, 50)))[0].numpy()
    assert abs((kept == 0).mean() - 0.25) < 0.1


def test_handle_is_a_separate_stream():
    size = mge.Tensor([8], dtype="int32")
    draws = []
    for _ in range(2):
        handle = new_rng_handle("xpux", 11)
        draws.append(apply(ops.GaussianRNG(seed=11, handle=handle), size)[0].numpy())
        apply(ops.UniformRNG(), size)
        delete_rng_handle(handle)
    np.testing.assert_array_equal(*draws)
    handle = new_rng_handle("cpu1", 11)
    rate = F.ones((3, 4), device="cpu1")
    for op in (ops.ExponentialRNG(handle=handle), ops.MultinomialRNG(handle=handle)):
        assert apply(op, rate)[0].device == "cpu1"
    delete_rng_handle(handle)
    with pytest.raises(RuntimeError, match="no stream"):
        apply(ops.GaussianRNG(handle=handle), size)


def test_parameters_are_compared_copied_and_kept_in_files():
    assert Elemwise("add") == Elemwise(mode=Elemwise.Mode.ADD) != Elemwise("sub")
    assert hash(ops.Dimshuffle([1, 0])) == hash(ops.Dimshuffle([1, 0]))
    assert repr(Elemwise("add")) == "ADD" and repr(ops.Reduce()) == "Reduce"
    assert Elemwise("add").mode == "ADD" and repr(Elemwise.Mode.ADD) == "Elemwise.Mode.ADD"
    assert (Elemwise.__module__, Elemwise.Mode.__qualname__) == (
        "megengine.core._imperative_rt.ops",
        "Elemwise.Mode",
    )
    for op, *_ in CASES:
        assert pickle.loads(pickle.dumps(op)) == copy.deepcopy(op) == op
        assert type(op)(**op.params()) == op


@pytest.mark.parametrize(
    "make, kind, text",
    [
        (lambda: Elemwise("addd"), RuntimeError, "no mode 'addd'; there are ABS"),
        (lambda: Elemwise(foo=3), TypeError, "foo"),
        (lambda: apply(Elemwise("add"), mge.Tensor(X)), RuntimeError, "takes 2 inputs, got 1"),
        (lambda: apply(3, mge.Tensor(X)), TypeError, "expected an operator"),
        (lambda: apply(ops.GetVarShape()), ValueError, "one input"),
        (lambda: apply(ops.Subtensor([(0, *INDEX)]), mge.Tensor(X)), RuntimeError, "name 1 input,"),
        (
            lambda: apply(ops.Pooling(format="NHWC"), mge.Tensor(IMAGE)),
            NotImplementedError,
            "format must be 'NCHW'",
        ),
        (lambda: apply(ops.Padding(back_offset_dim4=1), mge.Tensor(X)), RuntimeError, "has 2 axes"),
        (
            lambda: ops.ROIAlign(offset=0.25)(0, 0),
            NotImplementedError,
            "offset must be 0.5, got 0.25",
        ),
        (lambda: ops.GetVarShape(3)(mge.Tensor(X)), ValueError, "GetVarShape"),
        (lambda: ops.Barrier, mge.NotAvailableError, "Barrier is not available"),
        (lambda: core2.get_option("speed"), RuntimeError, "no option 'speed'"),
        (lambda: core2.set_option("speed", 1), RuntimeError, "no option 'speed'"),
    ],
)
def test_wrong_use_raises(make, kind, text):
    with pytest.raises(kind, match=text):
        make()


def test_gradients_go_through_apply():
    x, got = mge.Tensor(X), []
    with Grad() as grad:
        grad.wrt(x, callback=got.append)
        (y,) = apply(ops.IndexingMultiAxisVec([(0, *INDEX)]), x, mge.Tensor([0, 0]))
        (z,) = apply(Elemwise("mul"), y, y)
        grad(z, F.ones_like(z))
    want = np.zeros_like(X)
    want[0] = 4 * X[0]
    np.testing.assert_array_equal(got[0].numpy(), want)


def test_operators_extend_a_network():
    net = Network()
    x = net.make_const(X, name="x")
    (y,) = apply(Elemwise("relu"), x)
    (z,) = apply(ops.Reduce("sum", axis=0), y)
    assert z.graph is x.graph
    np.testing.assert_array_equal(z.numpy(), X.sum(0, keepdims=True))


@pytest.mark.parametrize("symbolic", [True, False])
def test_a_trace_replays_them(symbolic):
    @trace(symbolic=symbolic)
    def step(x):
        (y,) = apply(ops.Cumsum(1), x)
        return apply(Elemwise("add"), y, x)[0]

    for _ in range(3):
        np.testing.assert_array_equal(step(mge.Tensor(X)).numpy(), X.cumsum(1))


class _Net(M.Module):
    def forward(self, x):
        (y,) = apply(Elemwise("add"), x, x)
        return apply(ops.Reduce("max", axis=1), y)[0]


def test_a_traced_module_holds_them(tmp_path):
    traced = trace_module(_Net(), mge.Tensor(X))
    assert [repr(e.opdef) for e in traced.graph._exprs if hasattr(e, "opdef")] == ["ADD", "Reduce"]
    mge.save(traced, tmp_path / "net.tm")
    loaded = mge.load(tmp_path / "net.tm", weights_only=True)
    want = (2 * X).max(1, keepdims=True)
    np.testing.assert_array_equal(loaded(mge.Tensor(X)).numpy(), want)


def test_options_are_kept():
    assert mge.core.get_option("async_level") == 2
    mge.core.set_option("async_level", 0)
    try:
        assert mge.config.async_level == 0
    finally:
        mge.core.set_option("async_level", 2)
    core2.set_option("enable_drop", 1)
    assert core2.get_option("enable_drop") == 1
    core2.set_option("enable_drop", 0)


def test_helpers_by_their_old_names():
    from megengine.core.tensor.array_method import _elwise
    from megengine.functional import elemwise

    assert elemwise.Elemwise is Elemwise
    assert _elwise(mge.Tensor([1.0]), mge.Tensor([2.0]), mode="add").numpy() == 3
    mge.random.seed(7)
    assert get_global_rng_seed() == 7
    x = mge.Tensor([1.0]) + 1
    x._drop()
    assert x.numpy() == 2
    core2.sync()


def test_packed_parameters():
    parts = mge.Tensor(X), mge.Tensor([1.0, 2.0])
    offsets = [0, 12, 12, 14]
    (packed,) = apply(ops.ParamPackConcat(offsets), *parts, mge.Tensor(offsets))
    assert packed.shape == (14,)
    split = apply(ops.ParamPackSplit(offsets, [[3, 4], [2]]), packed)
    for one, other in zip(split, parts, strict=True):
        np.testing.assert_array_equal(one.numpy(), other.numpy())


def test_moved_pixels_and_kept_boxes():
    (blocks,) = apply(ops.PixelShuffleBackward(2), mge.Tensor(SHUFFLED))
    np.testing.assert_array_equal(blocks.numpy(), BLOCKS)
    np.testing.assert_array_equal(F.pixel_shuffle(blocks, 2).numpy(), SHUFFLED)
    indices, counts = apply(ops.NMSKeep(0.5, 3), mge.Tensor(BOXES))
    assert indices.numpy().tolist() == [[0, 2, 2]] and counts.numpy().tolist() == [2]
    indices, counts = apply(ops.NMSKeep(0.5, 3), mge.Tensor(BOXES[:, :0]))
    assert indices.shape == (1, 3) and counts.numpy().tolist() == [0]


@pytest.mark.parametrize("running", [(), (np.float32([0.5, 2]), np.float32([3, 4]))])
@pytest.mark.parametrize("mode", ["training", "inference"])
def test_normalised_channels(running, mode):
    def channels(values):
        return mge.Tensor(np.float32(values).reshape(1, 2, 1, 1))

    if not running and mode == "inference":
        return
    op = ops.BatchNorm("dim_1c11", mode, epsilon=1e-5, avg_factor=0.25)
    factors, old = [channels([1, 2]), channels([3, 4])], [channels(one) for one in running]
    results = apply(op, mge.Tensor(IMAGE), *factors, *old)
    assert len(results) == 2 + 2 * bool(running) + 2 * (mode == "training")
    training = mode == "training"
    expected = F.batch_norm(
        mge.Tensor(IMAGE), *(old or (None, None)), *factors, training=training, momentum=0.75
    )
    np.testing.assert_allclose(results[-1].numpy(), expected.numpy(), rtol=1e-5)
    assert results[-2].shape == (0,)
    for one, other in zip(results, old, strict=False):  # batch_norm has changed the old ones
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5)


def test_normalised_axes():
    x = mge.Tensor(IMAGE)
    y, mean, factor = apply(ops.GeneralNorm(False, 1e-5, 1, 3), x)
    np.testing.assert_allclose(y.numpy(), F.nn.general_norm(x, (1, 2), False).numpy(), rtol=1e-5)
    np.testing.assert_allclose(mean.numpy(), IMAGE.mean((1, 2)))
    np.testing.assert_allclose(factor.numpy(), IMAGE.std((1, 2)) ** -1, rtol=1e-5)
    y, *_ = apply(ops.InstanceNorm(False), x)
    np.testing.assert_allclose(y.numpy(), F.nn.instance_norm(x, False).numpy(), rtol=1e-5)


def test_biased_convolution():
    x, weight = mge.Tensor(IMAGE), mge.Tensor(np.ones((3, 2, 3, 3), "float32"))
    bias, residual = mge.Tensor(np.full((1, 3, 1, 1), -200.0, "float32")), F.ones((1, 3, 4, 4))
    plain = F.conv2d(x, weight, bias, padding=1)
    (y,) = apply(ops.ConvBias("relu", pad_h=1, pad_w=1), x, weight, bias)
    np.testing.assert_allclose(y.numpy(), F.relu(plain).numpy())
    (y,) = apply(ops.ConvBias(pad_h=1, pad_w=1), x, weight, bias, residual)
    np.testing.assert_allclose(y.numpy(), plain.numpy() + 1)


def test_recurrent_networks():
    cell, net = M.LSTMCell(3, 4), M.LSTM(3, 4)
    x, h, c = F.ones((2, 3)), F.ones((2, 4)), F.ones((2, 4))
    row = [cell.bias_ih.reshape(1, -1), cell.bias_hh.reshape(1, -1)]
    state, memory, _ = apply(
        ops.LSTMCell(), x, cell.weight_ih, row[0], h, cell.weight_hh, row[1], c
    )
    for one, other in zip((state, memory), cell(x, (h, c)), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)
    start = F.zeros((1, 2, 4))
    sequence = F.ones((5, 2, 3))
    op = ops.LSTM(hidden_size=4)
    output, *states, _ = apply(op, sequence, start, start, net._flatten_weights)
    expected, expected_states = net(sequence)
    for one, other in zip((output, *states), (expected, *expected_states), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6)
    net = M.RNN(3, 4)
    op = ops.RNN(hidden_size=4, nonlineMode="tanh")
    output, *_ = apply(op, sequence, start, net._flatten_weights)
    np.testing.assert_allclose(output.numpy(), net(sequence)[0].numpy(), rtol=1e-6)
    cell = M.RNNCell(3, 4)
    row = [cell.bias_ih.reshape(1, -1), cell.bias_hh.reshape(1, -1)]
    op = ops.RNNCell("tanh")
    (state,) = apply(op, x, cell.weight_ih, row[0], h, cell.weight_hh, row[1])
    np.testing.assert_allclose(state.numpy(), cell(x, h).numpy(), rtol=1e-6)


def test_assignment_accepts_constructor_values():
    op = ops.Reduce()
    op.mode, op.axis = "max", 1
    assert op == ops.Reduce(mode="MAX", axis=1) and op.mode is ops.Reduce.Mode.MAX
    assert apply(op, mge.Tensor(X))[0].numpy().tolist() == X.max(1, keepdims=True).tolist()
    with pytest.raises(RuntimeError, match="there is no mode 'nosuch'"):
        op.mode = "nosuch"
    op = ops.Dimshuffle([1, 0])
    op.pattern = [0, 1]
    assert op.pattern == (0, 1) and hash(op) == hash(ops.Dimshuffle((0, 1)))


def test_states():
    assert Elemwise("ADD").__getstate__() == {"mode": "ADD"}
    state = ops.Convolution(stride_h=2).__getstate__()
    assert state["stride_h"] == 2 and state["format"] == "NCHW"
    op = ops.Convolution()
    op.__setstate__({"stride_h": 2})
    assert op == ops.Convolution(stride_h=2)
    for op in (ops.TypeCvt(dtype=qint8(0.5)), ops.Convolution(mode="CONVOLUTION")):
        assert pickle.loads(pickle.dumps(op)) == op == copy.deepcopy(op)


def test_strategies_are_sets():
    kind = ops.Convolution.Strategy
    assert kind is F.debug_param.Strategy is ops.MatrixMul.Strategy
    both = kind.PROFILE | kind.REPRODUCIBLE
    assert both & kind.PROFILE == kind.PROFILE and both != kind.PROFILE
    assert ops.Convolution().strategy == kind.HEURISTIC
    assert ops.Convolution(strategy=both) != ops.Convolution()
    assert ops.Convolution(strategy=2).params() == {"strategy": 2}


def test_a_step_of_lamb():
    zero, one = F.zeros(3), F.ones(3)
    op = ops.LAMBUpdate(beta_1=0.5, beta_2=0.75, step=1, lr=0.1, weight_decay=0, eps=0)
    mean, square, param = apply(op, zero, zero, one, one * 2)
    np.testing.assert_allclose(mean.numpy(), 1)
    np.testing.assert_allclose(square.numpy(), 1)
    np.testing.assert_allclose(param.numpy(), 0.9, rtol=1e-6)
    half = apply(op, zero, zero, one, (one * 2).astype("float16"))
    np.testing.assert_array_equal(half[2].numpy(), param.numpy())


def test_regions_and_volumes():
    rois = mge.Tensor([[0.0, 0.0, 0.0, 3.0, 3.0]])
    op = ops.DeformablePSROIPooling(pooled_h=2, pooled_w=2, sample_per_part=2)
    (y,) = apply(op, mge.Tensor(IMAGE), rois, F.zeros((1, 2, 1, 1)))
    assert y.shape == (1, 2, 2, 2)
    (y,) = apply(ops.Resize3D(format="NCDHW"), F.ones((1, 1, 2, 2, 2)), mge.Tensor([3, 4, 5]))
    assert y.shape == (1, 1, 3, 4, 5)


@pytest.mark.parametrize("name", ["MultiHeadAttn", "CollectiveComm", "RemoteSend", "RemoteRecv"])
def test_objects_that_nothing_runs(name):
    with pytest.raises(mge.NotAvailableError, match=name):
        apply(getattr(ops, name)(), mge.Tensor([1.0]))
