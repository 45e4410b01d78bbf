# SPDX-License-Identifier: Apache-2.0
"""LiteTensor: memory that arrays, pointers and tensors share with it."""

import ctypes
import gc
from ctypes import c_void_p

import numpy as np
import pytest
from lite_tensors import address_of, counted

from megenginelite import (
    LiteLayout,
    LiteTensor,
)


def test_array_is_shared_and_kept():
    array = np.ones([2, 3], "float32")
    tensor = LiteTensor()
    tensor.set_data_by_share(array)
    assert address_of(tensor) == array.ctypes.data
    array[1, 2] = 8
    assert tensor.to_numpy()[1, 2] == 8
    expected = array.copy()
    del array
    gc.collect()
    churn = [np.full([2, 3], 7, "float32") for _ in range(100)]
    np.testing.assert_array_equal(tensor.to_numpy(), expected)
    assert churn


@pytest.mark.parametrize("by", ["slice", "share_memory_with", "get_data_by_share"])
def test_sharing_keeps_the_array_alive(by):
    tensor = LiteTensor()
    tensor.set_data_by_share(np.arange(1000, dtype="int32"))
    if by == "slice":
        held = tensor.slice([10], [20])
        read = held.to_numpy
    elif by == "share_memory_with":
        held = LiteTensor()
        held.share_memory_with(tensor)
        read = lambda: held.to_numpy()[10:20]  # noqa: E731
    else:
        held = tensor.get_data_by_share()
        read = lambda: held[10:20]  # noqa: E731
    tensor.set_data_by_share(np.zeros(1000, "int32"))
    del tensor
    gc.collect()
    churn = [np.full(1000, 7, "int32") for _ in range(100)]
    assert read().tolist() == list(range(10, 20))
    assert churn


def test_a_shared_array_of_another_rank_leaves_the_shape():
    tensor = LiteTensor(LiteLayout([1, 2, 3], "float32"))
    array = np.arange(6, dtype="float32")
    tensor.set_data_by_share(array)
    assert tensor.layout.shapes == [1, 2, 3] and address_of(tensor) == array.ctypes.data
    assert tensor.to_numpy().tolist() == [[[0, 1, 2], [3, 4, 5]]]
    tensor.set_data_by_share(array.astype("int32"))
    assert tensor.layout == LiteLayout([1, 2, 3], "int32")
    tensor.set_data_by_share(array.reshape(1, 3, 2))
    assert tensor.layout == LiteLayout([1, 3, 2], "float32")
    tensor.set_data_by_share(array[:4])
    assert tensor.layout == LiteLayout([4], "float32")


def test_pointer_is_shared():
    values = (ctypes.c_int32 * 4)(1, 2, 3, 4)
    tensor = LiteTensor(shapes=[4], dtype="int32")
    tensor.set_data_by_share(values, 16)
    values[0] = 9
    assert tensor.to_numpy().tolist() == [9, 2, 3, 4]
    del values
    gc.collect()
    assert tensor.to_numpy().tolist() == [9, 2, 3, 4]


@pytest.mark.parametrize("length", [0, 16])
def test_address_is_shared(length):
    array = np.arange(4, dtype="int32")
    tensor = LiteTensor(shapes=[4], dtype="int32")
    tensor.set_data_by_share(array.ctypes.data, length)
    assert address_of(tensor) == array.ctypes.data
    tensor.set_data_by_share(c_void_p(array.ctypes.data), layout=LiteLayout([2, 2], "int32"))
    assert tensor.to_numpy().tolist() == [[0, 1], [2, 3]]
    with pytest.raises(AssertionError, match="12 bytes"):
        tensor.set_data_by_share(array.ctypes.data, 12)


def test_array_of_other_layout_of_equal_bytes():
    array = np.arange(4, dtype="int32")
    tensor = LiteTensor()
    tensor.set_data_by_share(array, layout=LiteLayout([2, 2], "int32"))
    assert tensor.to_numpy().tolist() == [[0, 1], [2, 3]]
    with pytest.raises(AssertionError, match="16 bytes"):
        tensor.set_data_by_share(array, layout=LiteLayout([3], "int32"))


def test_read_only_arrays_are_read():
    array = np.frombuffer(bytes(range(8)), "uint8")
    tensor = LiteTensor()
    tensor.set_data_by_share(array)
    part = tensor.slice([2], [4])
    view = tensor.get_data_by_share()
    assert view.tolist() == list(range(8)) and not view.flags.writeable
    for write in (
        tensor.fill_zero,
        part.fill_zero,
        lambda: tensor.set_data_by_copy([1]),
        lambda: part.copy_from(counted(2, dtype="uint8")[1]),
    ):
        with pytest.raises(RuntimeError, match="read-only"):
            write()
    assert array.tolist() == list(range(8))
    tensor.layout = [100]  # other memory
    tensor.fill_zero()
    tensor.set_data_by_share(np.zeros(8, "uint8"))
    tensor.fill_zero()


def test_bytes_are_read_and_text_is_refused_as_memory():
    data = bytes(range(8))
    tensor = LiteTensor(LiteLayout([8], "uint8"))
    tensor.set_data_by_share(data, 8)
    assert tensor.to_numpy().tolist() == list(data)
    with pytest.raises(RuntimeError, match="read-only"):
        tensor.fill_zero()
    assert data == bytes(range(8))
    for take in (tensor.set_data_by_share, tensor.set_data_by_copy):
        with pytest.raises(TypeError, match="or an address; got str"):
            take("a text", 8)


def test_data_by_share_follows_the_tensor():
    array, tensor = counted(4, 32, dtype="int16")
    view = tensor.get_data_by_share()
    np.testing.assert_array_equal(view, array)
    array[1][18], array[3][7] = 5, 345
    tensor.set_data_by_copy(array)
    assert view[1][18] == 5 and view[3][7] == 345
    view[0, 0] = 11
    assert tensor.to_numpy()[0, 0] == 11


def test_data_by_share_of_a_slice():
    array, tensor = counted(4, 6, 5)
    part = tensor.slice([1, 0, 1], [4, 6, 5], [2, 3, 1])
    view = part.get_data_by_share()
    np.testing.assert_array_equal(view, array[1:4:2, 0:6:3, 1:5])
    view[:] = -1
    array[1:4:2, 0:6:3, 1:5] = -1
    np.testing.assert_array_equal(tensor.to_numpy(), array)


def test_data_by_share_outlives_the_tensor_and_its_memory():
    array, tensor = counted(100)
    view = tensor.get_data_by_share()
    tensor.layout = [10_000_000]
    tensor.fill_zero()
    np.testing.assert_array_equal(view, array)
    del tensor
    gc.collect()
    churn = [counted(100, dtype="int32")[1] for _ in range(50)]
    np.testing.assert_array_equal(view, array)
    assert churn


def test_to_numpy_is_a_copy():
    array, tensor = counted(3)
    copied = tensor.to_numpy()
    tensor.fill_zero()
    np.testing.assert_array_equal(copied, array)


def test_share_memory_with():
    array, source = counted(4, 8, dtype="int16")
    tensor = LiteTensor(shapes=[3])
    tensor.share_memory_with(source)
    assert address_of(tensor) == address_of(source) and tensor.layout == source.layout
    source.get_data_by_share()[0, 0] = 99
    assert tensor.to_numpy()[0, 0] == 99
    del source
    gc.collect()
    assert tensor.to_numpy()[3, 7] == 31
    with pytest.raises(RuntimeError, match="layout"):
        tensor.share_memory_with(LiteTensor())
