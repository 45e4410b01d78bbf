# SPDX-License-Identifier: Apache-2.0
"""Calls that MegEngine 1.13 takes although their arguments are not quite what it documents."""

import numpy as np
import pytest

import megengine.functional as F
from megengine import Tensor

LOGITS = Tensor(np.random.default_rng(0).normal(size=(3, 5)).astype(np.float32))


@pytest.mark.parametrize("label", [np.array([1.0, 0.0, 2.7], "float32"), [True, False, True]])
def test_labels_of_floats_and_bools_are_class_numbers(label):
    whole = Tensor(np.asarray(label).astype("int32"))
    for given in (Tensor(label), np.asarray(label)):
        same = F.nn.cross_entropy(LOGITS, given).numpy()
        assert same == F.nn.cross_entropy(LOGITS, whole).numpy()
        picked = F.nn.indexing_one_hot(LOGITS, given).numpy()
        assert np.array_equal(picked, F.nn.indexing_one_hot(LOGITS, whole).numpy())


def test_normalisation_gives_statistics_only_where_it_changes_some():
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


def test_arrays_without_axes_are_numbers():
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
