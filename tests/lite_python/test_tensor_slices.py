# SPDX-License-Identifier: Apache-2.0
"""LiteTensor: reshaped, cut, copied and joined."""

import gc

import numpy as np
import pytest
from lite_tensors import CPU, address_of, counted

from megenginelite import (
    LiteLayout,
    LiteTensor,
    LiteTensorConcat,
)


def test_reshape():
    array, tensor = counted(8, 8)
    address = address_of(tensor)
    for shape in ([16, 4], [2, -1, 2], [-1], [64]):
        tensor.reshape(shape)
        np.testing.assert_array_equal(tensor.to_numpy(), array.reshape(shape))
    assert address_of(tensor) == address
    for shape in ([63], [-1, -1], [0, -1], [7, -1], [2, -2], [(1 << 32) + 64]):
        with pytest.raises(RuntimeError, match="reshape"):
            tensor.reshape(shape)
    with pytest.raises(RuntimeError):
        LiteTensor().reshape([1])


@pytest.mark.parametrize("step", [None, [1, 1], [1, 2], [3, 5]])
def test_slice(step):
    array, tensor = counted(4, 8)
    part = tensor.slice([1, 3], [4, 8], step)
    rows, columns = step or (1, 1)
    expected = array[1:4:rows, 3:8:columns]
    assert part.layout.shapes == list(expected.shape)
    assert part.is_continue == (expected.size == 1)
    np.testing.assert_array_equal(part.to_numpy(), expected)
    part.fill_zero()
    expected[:] = 0
    np.testing.assert_array_equal(tensor.to_numpy(), array)


def test_slice_of_leading_dimensions():
    array, tensor = counted(4, 2, 3)
    part = tensor.slice([1], [3])
    assert part.is_continue and address_of(part) == address_of(tensor) + array[1:].strides[0]
    np.testing.assert_array_equal(part.to_numpy(), array[1:3])
    del tensor
    gc.collect()
    np.testing.assert_array_equal(part.to_numpy(), array[1:3])


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (([0], [1, 2]), AssertionError),
        (([0, 0], [1, 2], [1]), AssertionError),
        (([-1], [1]), AssertionError),
        (([0], [1], [-1]), AssertionError),
        (([1 << 64], [1]), AssertionError),
        (([0, 0, 0], [1, 1, 1]), RuntimeError),
        (([2], [1]), RuntimeError),
        (([0], [5]), RuntimeError),
        (([0], [2], [0]), RuntimeError),
    ],
)
def test_slices_out_of_range(arguments, error):
    _, tensor = counted(4, 8)
    with pytest.raises(error, match="slice|start"):
        tensor.slice(*arguments)


def test_fill_zero():
    _, tensor = counted(4, 8)
    tensor.fill_zero()
    assert not tensor.to_numpy().any()
    with pytest.raises(RuntimeError, match="layout"):
        LiteTensor().fill_zero()


def test_copy_from():
    array, source = counted(4, 8)
    tensor = LiteTensor(shapes=[2], dtype="int8")
    tensor.copy_from(source)
    assert tensor.layout == source.layout and address_of(tensor) != address_of(source)
    np.testing.assert_array_equal(tensor.to_numpy(), array)
    with pytest.raises(RuntimeError, match="layout"):
        tensor.copy_from(LiteTensor())


def test_copy_between_slices():
    array, source = counted(4, 8)
    target_array, target = counted(4, 8)
    target.slice([0, 4], [4, 8]).copy_from(source.slice([0, 0], [4, 4]))
    target_array[:, 4:8] = array[:, 0:4]
    np.testing.assert_array_equal(target.to_numpy(), target_array)
    plain = LiteTensor()
    plain.copy_from(source.slice([0, 0], [4, 8], [2, 2]))
    assert plain.is_continue
    np.testing.assert_array_equal(plain.to_numpy(), array[::2, ::2])
    with pytest.raises(RuntimeError, match="slice"):
        target.slice([0, 4], [4, 8]).copy_from(plain)


def test_copy_between_overlapping_slices():
    array, tensor = counted(10)
    tensor.slice([2], [10]).copy_from(tensor.slice([0], [8]))
    array[2:] = array[:8].copy()
    np.testing.assert_array_equal(tensor.to_numpy(), array)


@pytest.mark.parametrize("dim", [0, 1, 2, -1, -3])
def test_concat(dim):
    pairs = [counted(5, 5, 5, dtype="float32") for _ in range(4)]
    result = LiteTensorConcat([tensor for _, tensor in pairs], dim)
    expected = np.concatenate([array for array, _ in pairs], dim)
    np.testing.assert_array_equal(result.to_numpy(), expected)
    assert LiteTensorConcat([pairs[0][1]], dim, CPU, 0).layout.shapes == [5, 5, 5]


def test_concat_of_mismatched_shapes():
    _, tensor = counted(2, 3)
    for other, dim in ((counted(3, 3)[1], 1), (counted(2, 3, dtype="int8")[1], 0)):
        with pytest.raises(RuntimeError, match="concat"):
            LiteTensorConcat([tensor, other], dim)
    for dim in (2, -3):
        with pytest.raises(RuntimeError, match="dimension"):
            LiteTensorConcat([tensor, tensor], dim)
    assert LiteTensorConcat([], 0).layout == LiteLayout()
