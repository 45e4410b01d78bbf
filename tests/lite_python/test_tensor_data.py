# SPDX-License-Identifier: Apache-2.0
"""LiteTensor: lists, arrays and pointers that are copied into it."""

import ctypes
from ctypes import c_void_p

import numpy as np
import pytest
from lite_tensors import counted

from megenginelite import (
    LiteLayout,
    LiteTensor,
)


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "int8", "uint16", "int64"])
def test_list(dtype):
    tensor = LiteTensor(shapes=[4, 8], dtype=dtype)
    tensor.set_data_by_copy(list(range(32)))
    np.testing.assert_array_equal(tensor.to_numpy(), np.arange(32).reshape(4, 8).astype(dtype))
    tensor.set_data_by_copy([[9] * 8] * 4)
    assert (tensor.to_numpy() == 9).all() and tensor.layout == LiteLayout([4, 8], dtype)


def test_shorter_list_fills_the_first_elements():
    tensor = LiteTensor(shapes=[4, 8], dtype="int32")
    tensor.set_data_by_copy([5] * 32)
    tensor.set_data_by_copy(list(range(16)))
    assert tensor.to_numpy().ravel().tolist() == list(range(16)) + [5] * 16
    tensor.set_data_by_copy([])
    assert tensor.to_numpy()[0, 1] == 1


def test_list_into_a_slice():
    array, tensor = counted(4, 8)
    tensor.slice([1, 2], [3, 4]).set_data_by_copy([-1, -2, -3])
    array[1, 2:4], array[2, 2] = [-1, -2], -3
    np.testing.assert_array_equal(tensor.to_numpy(), array)


def test_list_with_a_layout():
    tensor = LiteTensor()
    tensor.set_data_by_copy([1, 2], layout=LiteLayout([2], "uint8"))
    assert tensor.to_numpy().tolist() == [1, 2]


@pytest.mark.parametrize(
    ("dtype", "numbers", "error", "message"),
    [
        ("int8", [0] * 33, AssertionError, "33 numbers, the tensor 32"),
        ("int8", [128], RuntimeError, "out of the range of int8"),
        ("uint8", [-1], RuntimeError, "out of the range of uint8"),
        ("uint16", [1.0, 65536.0], RuntimeError, "out of the range of uint16"),
        ("float16", [1e6], RuntimeError, "out of the range of float16"),
        ("int32", [float("nan")], RuntimeError, "out of the range of int32"),
        ("int64", [2**63], RuntimeError, "out of the range of int64"),
        ("int8", ["a"], TypeError, "list of numbers"),
    ],
)
def test_mismatched_list(dtype, numbers, error, message):
    tensor = LiteTensor(shapes=[4, 8], dtype=dtype)
    tensor.fill_zero()
    with pytest.raises(error, match=message):
        tensor.set_data_by_copy(numbers)
    assert not tensor.to_numpy().any()


def test_special_values_in_a_list():
    tensor = LiteTensor(shapes=[2], dtype="float16")
    tensor.set_data_by_copy([float("inf"), float("nan")])
    assert np.isposinf(tensor.to_numpy()[0]) and np.isnan(tensor.to_numpy()[1])


@pytest.mark.parametrize("method", ["set_data_by_copy", "set_data_by_share"])
def test_layout_follows_the_array(method):
    tensor = LiteTensor(shapes=[4, 8], dtype="int32")
    array = np.arange(4, dtype="float32").reshape(2, 2)
    getattr(tensor, method)(array)
    assert tensor.layout == LiteLayout([2, 2], "float32")
    np.testing.assert_array_equal(tensor.to_numpy(), array)
    same_bytes = np.linspace(0, 1, 4, dtype="float32")
    getattr(tensor, method)(same_bytes)
    np.testing.assert_array_equal(tensor.to_numpy().ravel(), same_bytes)


@pytest.mark.parametrize("method", ["set_data_by_copy", "set_data_by_share"])
def test_same_bytes_of_another_type(method):
    tensor = LiteTensor(shapes=[2], dtype="int32")
    getattr(tensor, method)(np.array([1.5, 2.5], "float32"))
    assert tensor.to_numpy().tolist() == [1.5, 2.5]


@pytest.mark.parametrize("method", ["set_data_by_copy", "set_data_by_share"])
def test_array_with_gaps(method):
    tensor = LiteTensor()
    with pytest.raises(AssertionError, match="ascontiguousarray"):
        getattr(tensor, method)(np.ones([2, 3], "int8").T)


@pytest.mark.parametrize("method", ["set_data_by_copy", "set_data_by_share"])
def test_array_of_a_type_that_tensors_do_not_have(method):
    with pytest.raises(RuntimeError, match="float64"):
        getattr(LiteTensor(), method)(np.ones(3))


@pytest.mark.parametrize("method", ["set_data_by_copy", "set_data_by_share"])
def test_invalid_data(method):
    with pytest.raises(TypeError, match="got object"):
        getattr(LiteTensor(shapes=[2]), method)(object(), 8)


def test_a_number_as_array():
    tensor = LiteTensor()
    tensor.set_data_by_copy(np.array(3, "int16"))
    assert tensor.layout == LiteLayout([1], "int16") and tensor.to_numpy().tolist() == [3]


def test_array_into_a_slice_with_gaps():
    array, tensor = counted(4, 8)
    part = tensor.slice([1, 4], [3, 8])
    part.set_data_by_copy(np.full([2, 4], -1, "int32"))
    array[1:3, 4:8] = -1
    np.testing.assert_array_equal(tensor.to_numpy(), array)
    with pytest.raises(RuntimeError, match="slice"):
        part.set_data_by_copy(np.ones([2, 2], "int32"))
    with pytest.raises(AssertionError, match="slice with gaps"):
        part.set_data_by_share(np.ones([2, 4], "int32"))
    np.testing.assert_array_equal(tensor.to_numpy(), array)


@pytest.mark.parametrize("kind", ["c_void_p", "address", "array of ctypes"])
def test_pointer(kind):
    values = (ctypes.c_int16 * 6)(*range(6))
    data = {
        "c_void_p": ctypes.cast(values, c_void_p),
        "address": ctypes.addressof(values),
        "array of ctypes": values,
    }[kind]
    tensor = LiteTensor(shapes=[6], dtype="int16")
    tensor.set_data_by_copy(data, 12)
    assert tensor.to_numpy().tolist() == list(range(6))
    tensor.set_data_by_copy(data, layout=LiteLayout([2, 3], "int16"))
    assert tensor.to_numpy().tolist() == [[0, 1, 2], [3, 4, 5]]
    for wrong in (
        {},
        {"data_length": 10},
        {"data_length": 10, "layout": LiteLayout([6], "int16")},
    ):
        with pytest.raises(AssertionError, match="data"):
            tensor.set_data_by_copy(data, **wrong)


def test_null_pointers():
    tensor = LiteTensor(shapes=[2])
    for data in (0, c_void_p()):
        with pytest.raises(AssertionError, match="null"):
            tensor.set_data_by_copy(data, 8)
        with pytest.raises(AssertionError, match="null"):
            tensor.set_data_by_share(data, 8)


NUMBERS = np.arange(1, 7).reshape(2, 3)


@pytest.mark.parametrize("code", ["f4", "f2", "i4", "i2", "u2", "i8", "u4"])
def test_elements_of_another_byte_order_are_converted(code):
    array, tensor = NUMBERS.astype(">" + code), LiteTensor(LiteLayout([2, 3]))
    tensor.set_data_by_copy(array)
    assert tensor.to_numpy().dtype == code
    np.testing.assert_array_equal(tensor.to_numpy(), NUMBERS)
    for numbers in (list(-array[0]), [-array[0]]):
        if code[0] != "u":
            tensor.set_data_by_copy(numbers)
            np.testing.assert_array_equal(tensor.to_numpy(), [-NUMBERS[0], NUMBERS[1]])
    tensor.set_data_by_copy(array, layout=LiteLayout([6], code))
    np.testing.assert_array_equal(tensor.to_numpy(), NUMBERS.ravel())
    with pytest.raises(TypeError, match="byte order"):
        tensor.set_data_by_share(array)


def test_records_of_another_byte_order():
    pairs = np.ones(2, [("a", ">f4"), ("b", ">f4")])
    tensor = LiteTensor()
    tensor.set_data_by_copy(pairs, layout=LiteLayout([4]))
    assert tensor.to_numpy().tolist() == [1, 1, 1, 1]
    with pytest.raises(TypeError, match="byte order"):
        tensor.set_data_by_share(pairs, layout=LiteLayout([4]))


@pytest.mark.parametrize("method", ["set_data_by_copy", "set_data_by_share"])
def test_elements_of_foreign_byte_order(method):
    class Big(ctypes.BigEndianStructure):
        _fields_ = [("a", ctypes.c_int)]

    take = getattr(LiteTensor(shapes=[2], dtype="int32"), method)
    for data in ((ctypes.c_int.__ctype_be__ * 2)(1, 2), (Big * 2)()):
        with pytest.raises(TypeError, match="byte order"):
            take(data, 8)
    with pytest.raises(TypeError, match="objects"):
        take(np.array([1, None]), layout=LiteLayout([2], "int64"))


def test_array_like_objects():
    class Data:
        def __array__(self, dtype=None, copy=None):
            return np.arange(3, dtype=">i4")

    _, other = counted(2, 2)
    tensor = LiteTensor()
    tensor.set_data_by_copy(Data())
    assert tensor.to_numpy().tolist() == [0, 1, 2]
    tensor.set_data_by_copy(other)
    assert tensor.to_numpy().tolist() == [[0, 1], [2, 3]]
