# SPDX-License-Identifier: Apache-2.0
"""Calls that MegEngine 1.13 takes although their arguments are not quite what it documents."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Tensor, jit

LOGITS = Tensor(np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32))


@pytest.mark.parametrize("label", [np.array([1.0, 0.0, 2.7], "float32"), [True, False, True]])
def test_labels_of_floats_and_bools_are_class_numbers(label):
    whole = Tensor(np.asarray(label).astype("int32"))
    for given in (Tensor(label), np.asarray(label)):
        same = F.nn.cross_entropy(LOGITS, given).numpy()
        assert same == F.nn.cross_entropy(LOGITS, whole).numpy()
        picked = F.nn.indexing_one_hot(LOGITS, given).numpy()
        assert np.array_equal(picked, F.nn.indexing_one_hot(LOGITS, whole).numpy())


def test_normalisation_returns_statistics_only_if_it_changes_them():
    x, zeros, ones = F.ones((2, 3, 4, 4)), F.zeros((1, 3, 1, 1)), F.ones((1, 3, 1, 1))
    assert isinstance(F.nn.batch_norm(x, training=True, inplace=False), Tensor)
    assert isinstance(F.nn.batch_norm(x, zeros, ones, inplace=False), Tensor)
    assert len(F.nn.batch_norm(x, zeros, ones, training=True, inplace=False)) == 3
    assert len(F.nn.batch_norm(x, zeros, training=True, inplace=False)) == 3


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int32"])
def test_logsumexp_of_integers(dtype):
    values = np.array([[1, 120], [100, 119]], dtype)
    expected = np.log(np.exp(values.astype(np.float64)).sum(0))
    np.testing.assert_allclose(F.logsumexp(Tensor(values), 0).numpy(), expected, rtol=1e-6)


def test_grids_are_a_tuple():
    assert isinstance(F.meshgrid(Tensor([1, 2]), Tensor([3])), tuple)


def test_zero_dimensional_arrays_are_numbers():
    three, half = np.array(3), np.array(0.5, "float32")
    full = F.full((2,), three)
    assert full.dtype == np.int32 and full.numpy().tolist() == [3, 3]
    assert F.full_like(full, three).numpy().tolist() == [3, 3]
    assert F.arange(three).numpy().tolist() == [0, 1, 2]
    assert F.linspace(np.array(0), half, three).numpy().tolist() == [0, 0.25, 0.5]
    assert F.zeros((three, 2)).shape == (3, 2)


def test_axes_and_sizes_may_be_arrays_without_axes():
    x, image = LOGITS.reshape(3, 5, 1), F.ones((1, 4, 6, 6))
    one, two = np.array(1), np.array(2)
    assert F.softmax(x, one).shape == F.cumsum(x, one).shape == (3, 5, 1)
    assert F.concat([x, x], axis=one).shape == (3, 10, 1)
    assert F.stack([x, x], axis=one).shape == (3, 2, 5, 1)
    assert F.squeeze(F.expand_dims(x, one), one).shape == x.shape == (3, 5, 1)
    assert F.flatten(x, one).shape == (3, 5) and len(F.split(x, two, axis=one)) == 2
    assert F.one_hot(Tensor([0, 1]), two).shape == (2, 2)
    assert F.conv2d(image, F.ones((2, 4, 3, 3)), stride=two, padding=one).shape == (1, 2, 3, 3)
    assert F.max_pool2d(image, two).shape == (1, 4, 3, 3)
    assert F.adaptive_avg_pool2d(image, two).shape == (1, 4, 2, 2)
    assert F.pixel_shuffle(image, two).shape == (1, 1, 12, 12)
    half, small = np.array(0.5, "float32"), np.array(1e-5, "float32")
    assert F.leaky_relu(Tensor([-2.0]), half).item() == -1
    assert F.batch_norm(image, training=True, eps=small).shape == image.shape
    assert F.group_norm(image, two, False).shape == image.shape
    with pytest.raises(TypeError):
        F.leaky_relu(x, np.array("a"))


@pytest.mark.parametrize("shape", [(), (1, 1, 1, 1), (4, 1, 1), (3,), (2, 4, 3, 3), (1, 4, 1, 1)])
def test_a_bias_of_conv2d_broadcasts(shape):
    x, weight = Tensor(np.ones((2, 3, 5, 5), np.float32)), Tensor(np.ones((4, 3, 3, 3), np.float32))
    bias = np.arange(np.prod(shape, dtype=int), dtype=np.float32).reshape(shape) + 1
    got = F.conv2d(x, weight, Tensor(bias))
    np.testing.assert_allclose(got.numpy(), np.broadcast_to(27 + bias, (2, 4, 3, 3)))


def test_a_bias_that_is_a_number():
    x = Tensor(np.ones((2, 3, 5, 5), np.float32))
    grouped = F.conv2d(x, F.ones((3, 2, 1, 3, 3)), F.ones((1, 6, 1, 1)), groups=3)
    np.testing.assert_array_equal(grouped.numpy(), np.full((2, 6, 3, 3), 10))
    np.testing.assert_array_equal(F.conv2d(x, F.ones((1, 3, 5, 5)), 2.0).numpy(), [[[[77]]]] * 2)
    sequences = F.conv1d(F.ones((1, 2, 3)), F.ones((4, 2, 3)), F.ones((1, 1, 1)))
    np.testing.assert_array_equal(sequences.numpy(), np.full((1, 4, 1), 7))
    for bias in (2.0, Tensor(2.0), Tensor([2.0]), Tensor([[2.0, 2.0]])):
        got = F.linear(F.ones((1, 3)), F.ones((2, 3)), bias)
        np.testing.assert_array_equal(got.numpy(), [[5, 5]])


def test_the_bias_of_a_vector_has_a_value_for_each_row():
    x, weight, bias = Tensor([[1.0, 2.0], [3.0, 4.0]]), Tensor([1.0, 10.0]), Tensor([100.0, 200.0])
    np.testing.assert_array_equal(F.linear(x, weight, bias).numpy(), [121, 243])
    traced = jit.trace(lambda x: F.matmul(x, weight) + bias, symbolic=True, capture_as_const=True)
    for _ in range(2):
        np.testing.assert_array_equal(traced(x).numpy(), [121, 243])


@pytest.mark.parametrize("shape", [(6, 3), (4, 3, 5), (2, 3, 4, 5), (2, 3, 2, 2, 3)])
@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_any_rank(shape, training):
    x = np.random.default_rng(1).normal(2, 3, shape).astype(np.float32)
    means, variances = F.full((1, 3, 1, 1), 0.5), F.full((1, 3, 1, 1), 2.0)
    got = F.batch_norm(Tensor(x), means, variances, training=training, momentum=0.75)
    axes = (0, *range(2, len(shape)))
    parts = (1, 3, *(1,) * (len(shape) - 2))
    mean = x.mean(axes) if training else np.full(3, 0.5)
    var = x.var(axes) if training else np.full(3, 2.0)
    want = (x - mean.reshape(parts)) / np.sqrt(var.reshape(parts) + 1e-5)
    np.testing.assert_allclose(got.numpy(), want, rtol=1e-4, atol=1e-5)
    kept = 0.375 + 0.25 * mean if training else mean
    np.testing.assert_allclose(means.numpy().ravel(), kept, rtol=1e-5)


def test_dtypes_of_results_from_other_dtypes():
    bytes_, halves = Tensor(np.uint8([5, 1])), Tensor(np.float16([5, 1]))
    square = F.nn.square_loss(bytes_, bytes_ - 1, reduction="none")
    assert square.dtype == np.float32 and square.numpy().tolist() == [1, 1]
    assert F.nn.hinge_loss(F.expand_dims(bytes_, 0), F.expand_dims(bytes_, 0)).item() == 0
    image, half = F.ones((1, 1, 4, 4)), F.ones((1, 1, 4, 4), dtype="float16")
    regions = Tensor(np.float32([[0, 0, 0, 2, 2]]))
    assert F.vision.roi_align(half, regions, (2, 2)).dtype == np.float32
    assert F.vision.warp_perspective(half, F.expand_dims(F.eye(3), 0), (2, 2)).dtype == np.float32
    assert F.vision.correlation(half, half).dtype == np.float16
    assert F.vision.correlation(image, image).dtype == np.float32
    small = Tensor(np.int8([-128, -3, 4, 127]).reshape(1, 1, 2, 2))
    moved = F.vision.warp_perspective(small, F.expand_dims(F.eye(3), 0), (2, 2))
    assert moved.dtype == np.int8 and moved.numpy().ravel().tolist() == [-128, -3, 4, 127]
    assert F.polar(halves, bytes_).dtype == np.complex64


@pytest.mark.parametrize("training", [True, False])
def test_batch_norm_of_halves_only(training):
    x = Tensor(np.random.default_rng(2).normal(size=(4, 3, 2, 2)).astype(np.float16))
    wide = [F.full((1, 3, 1, 1), v) for v in (0.5, 2.0, 1.5, 0.25)]
    halves = [t.astype("float16") for t in wide]
    got = F.batch_norm(x, *halves, training=training)
    want = F.batch_norm(x, *wide, training=training)
    assert got.dtype == np.float16 and halves[0].dtype == np.float16
    np.testing.assert_array_equal(got.numpy(), want.numpy())
    np.testing.assert_allclose(halves[0].numpy(), wide[0].numpy(), rtol=1e-3)


def test_general_norm_of_halves():
    x = Tensor(np.float16([[1, 3], [2, 6]]))
    assert F.nn.general_norm(x, 1, False).numpy().tolist() == [[-1, 1], [-1, 1]]
    assert F.nn.general_norm(x, 1, False).dtype == np.float16


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16", "uint16"])
def test_labels_of_all_integers_are_class_numbers(dtype):
    labels = np.array([1, 0, 4], dtype)
    expected = F.nn.cross_entropy(LOGITS, Tensor([1, 0, 4])).numpy()
    picked = LOGITS.numpy()[range(3), [1, 0, 4]]
    for given in (Tensor(labels), labels):
        assert F.nn.cross_entropy(LOGITS, given).numpy() == expected
        assert np.array_equal(F.nn.indexing_one_hot(LOGITS, given).numpy(), picked)


def test_whole_floats_are_extents():
    """Half of an even extent is written ``n / 2``."""
    x, half = Tensor(np.arange(12).reshape(2, 6)), 6 / 2
    assert x.reshape(half, 4).shape == F.reshape(x, (np.float32(3), -1)).shape == (3, 4)
    assert F.zeros((half, 2)).shape == F.full((half, 2), 1).shape == (3, 2)
    assert F.broadcast_to(Tensor([[1], [2]]), (2.0, half)).shape == (2, 3)
    assert F.eye(half).shape == (3, 3) and F.linspace(0, 1, half).shape == (3,)
    assert F.one_hot(Tensor([0, 2]), half).shape == (2, 3)
    assert F.topk(x, half)[0].shape == (2, 3)


def test_whole_floats_are_counts_axes_and_steps():
    x, image = Tensor(np.arange(12).reshape(2, 6)), F.ones((1, 1, 4, 4))
    assert [part.shape for part in F.split(x, 3.0, axis=1)] == [(2, 2)] * 3
    assert [part.shape for part in F.split(x, [2.0, 3], axis=1)] == [(2, 2), (2, 1), (2, 3)]
    assert F.repeat(x, 2.0, axis=0).shape == (4, 6) and F.tile(x, (1.0, 2)).shape == (2, 12)
    assert F.squeeze(F.expand_dims(x, 0.0), 0.0).shape == (2, 6)
    assert F.roll(x, 1.0, 1.0).numpy()[0].tolist() == [5, 0, 1, 2, 3, 4]
    assert F.conv2d(image, image[..., :2, :2], stride=2.0).shape == (1, 1, 2, 2)
    assert F.max_pool2d(image, 2.0).shape == (1, 1, 2, 2)
    assert F.vision.interpolate(image, (8.0, 6.0)).shape == (1, 1, 8, 6)
    assert M.Conv2d(2, 2, 3.0).kernel_size == (3, 3)


def test_fraction_is_not_an_extent():
    with pytest.raises(TypeError, match="must be an integer, got 2.5"):
        F.zeros((2.5, 2))
    with pytest.raises(TypeError):
        F.split(F.ones(4), 2.5)


def test_one_k_of_several_is_one_k():
    target = Tensor([0, 1, 2])
    one = F.metric.topk_accuracy(LOGITS, target, (2,))
    assert isinstance(one, Tensor) and one == F.metric.topk_accuracy(LOGITS, target, 2)
    assert len(F.metric.topk_accuracy(LOGITS, target, [1, 2])) == 2


def test_a_tensor_without_axes_counts_parts():
    assert [part.shape for part in F.split(F.ones((2, 6)), Tensor(3), axis=1)] == [(2, 2)] * 3


def test_parameters_and_groups_of_them_are_not_mixed():
    first, second = mge.Parameter([1.0]), mge.Parameter([2.0])
    for mixed in ([{"params": [first]}, second], [first, {"params": [second]}]):
        with pytest.raises(TypeError):
            mge.optimizer.SGD(mixed, lr=0.1)


@pytest.mark.parametrize("shape", [(1, 4, 1, 1), (4, 1, 1), (2, 2)])
def test_factors_of_channels_have_any_shape(shape):
    rng = np.random.default_rng(1)
    x = Tensor(rng.normal(size=(2, 4, 3, 3)).astype("float32"))
    weight, bias = (Tensor(rng.normal(size=4).astype("float32")) for _ in range(2))
    shaped = weight.reshape(shape), bias.reshape(shape)
    for norm in (lambda *f: F.group_norm(x, 2, True, *f), lambda *f: F.instance_norm(x, True, *f)):
        assert np.array_equal(norm(*shaped).numpy(), norm(weight, bias).numpy())
    with pytest.raises(RuntimeError, match=r"weight must have shape \(4,\), got \(1, 3\)"):
        F.group_norm(x, 2, True, F.ones((1, 3)), bias)


def test_an_axis_of_numpy_is_an_axis():
    x = Tensor(np.random.default_rng(2).normal(size=(2, 3, 4)).astype("float32"))
    for function in (F.logsumexp, lambda x, axis: F.nn.general_norm(x, axis, False)):
        assert np.array_equal(function(x, np.int64(1)).numpy(), function(x, 1).numpy())


def test_fractions_are_neither_counts_nor_sizes():
    x = F.ones((1, 1, 4, 4))
    with pytest.raises(TypeError, match="kernel_size must be an int or two ints, got 2.5"):
        F.max_pool2d(x, 2.5)
    with pytest.raises(TypeError, match="stride must be an int or two ints, got 1.5"):
        F.conv2d(x, x, stride=1.5)
    with pytest.raises(TypeError, match="a count must be an integer, got 1.5"):
        F.split(x, 1.5, 2)


def test_expand_dims_names_a_place_twice():
    x = F.arange(6).reshape(2, 3)
    places = ([0, 0], [1, 1], [0, 2, 2], [2, 2], [0, 0, 0], [0, 1, 0])
    shapes = [F.expand_dims(x, axes).shape for axes in places]
    assert shapes[:3] == [(1, 1, 2, 3), (2, 1, 1, 3), (1, 2, 1, 1, 3)]
    assert shapes[3:] == [(2, 3, 1, 1), (1, 1, 1, 2, 3), (1, 1, 1, 2, 3)]
    for axes in ([-1, -1], [3, 3]):
        with pytest.raises(RuntimeError, match="axes must lie in rank 4"):
            F.expand_dims(x, axes)


class _Indexable:
    """A sequence by its methods alone."""

    def __init__(self, *items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def test_tensors_in_a_sequence_by_its_methods():
    a, b = Tensor([1.0, 2.0]), Tensor([3.0, 4.0])
    assert F.concat(_Indexable(a, b)).numpy().tolist() == [1, 2, 3, 4]
    assert F.stack(_Indexable(a, b)).numpy().tolist() == [[1, 2], [3, 4]]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("one", [1, np.float32(1), np.ones((1, 1)), Tensor([1.0])], ids=repr)
def test_one_number_in_an_array(one):
    parameter = mge.Parameter([3.0, 4.0])
    parameter.grad = Tensor([3.0, 4.0])
    mge.optimizer.clip_grad_norm(parameter, one)
    np.testing.assert_allclose(parameter.grad.numpy(), [0.6, 0.8], rtol=1e-5)
