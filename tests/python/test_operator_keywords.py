# SPDX-License-Identifier: Apache-2.0
"""Parameters of operators by keyword: a function remembers those of its last calls."""

import numpy as np
import pytest

from megengine import Tensor, _mge

ROWS = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def summed(**keywords):
    return _mge.ops.sum(Tensor(ROWS), **keywords).numpy()


def test_other_values_of_the_same_keywords():
    for _ in range(2):
        for axes in ([0], (0,), (1,), (2,), (0, 1), (1, 2), (0, 2), [1], (0, 1, 2)):
            for keep_dims in (False, True):
                wanted = ROWS.sum(axis=tuple(axes), keepdims=keep_dims)
                np.testing.assert_array_equal(summed(axes=axes, keepdims=keep_dims), wanted)


def test_the_same_values_of_other_keywords():
    x = Tensor(ROWS[0])
    for _ in range(3):
        a = _mge.ops.matmul(x, x, transpose_a=True).numpy()
        b = _mge.ops.matmul(x, x, transpose_b=True).numpy()
        np.testing.assert_array_equal(a, ROWS[0].T @ ROWS[0])
        np.testing.assert_array_equal(b, ROWS[0] @ ROWS[0].T)


def test_keywords_in_another_order():
    for _ in range(3):
        first = summed(axes=(1,), keepdims=True)
        np.testing.assert_array_equal(first, summed(keepdims=True, axes=(1,)))


def test_a_list_that_changes_between_calls():
    axes = [0]
    first = summed(axes=axes)
    axes[0] = 2
    assert first.shape == (3, 4) and summed(axes=axes).shape == (2, 3)


def test_usage_error_has_another_exit_code():
    for _ in range(3):
        np.testing.assert_array_equal(summed(axes=(2,)), ROWS.sum(axis=2))
        with pytest.raises(TypeError, match="has no argument 'axis'"):
            summed(axis=(2,))
        with pytest.raises(Exception, match="axis"):
            summed(axes=(7,))
        with pytest.raises(TypeError):
            summed(axes=("2",))


def test_inputs_by_name_and_position():
    a, b = (Tensor(np.full((2, 2), value, np.float32)) for value in (1, 2))
    for other, wanted in ((a, 2), (b, 4), (a, 2)):
        given = _mge.ops.matmul(a, b=other, transpose_a=True).numpy()
        np.testing.assert_array_equal(given, np.full((2, 2), wanted))


def test_value_of_another_type():
    for _ in range(2):
        for low in (2, 2.0, np.float32(2)):
            got = _mge.ops.clip(Tensor(ROWS), lower=low, upper=5.0).numpy()
            np.testing.assert_array_equal(got, ROWS.clip(2, 5))
        with pytest.raises(TypeError, match="lower"):
            _mge.ops.clip(Tensor(ROWS), lower="2", upper=5.0)
