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
