# SPDX-License-Identifier: Apache-2.0
"""LiteLayout: shapes and types of elements, however they are spelled."""

import numpy as np
import pytest

from megenginelite import LiteDataType, LiteLayout, LiteTensor, lite_dtype_2_numpy

TYPES = {
    "float32": LiteDataType.LITE_FLOAT,
    "float16": LiteDataType.LITE_HALF,
    "int32": LiteDataType.LITE_INT,
    "int16": LiteDataType.LITE_INT16,
    "int8": LiteDataType.LITE_INT8,
    "uint8": LiteDataType.LITE_UINT8,
    "uint32": LiteDataType.LITE_UINT,
    "uint16": LiteDataType.LITE_UINT16,
    "int64": LiteDataType.LITE_INT64,
}


@pytest.mark.parametrize("name", TYPES)
def test_spellings_of_a_type_are_equal(name):
    layout = LiteLayout([2, 3], name)
    scalar = getattr(np, name)
    for dtype in (TYPES[name], int(TYPES[name]), np.dtype(name), scalar):
        assert LiteLayout([2, 3], dtype) == layout
    assert layout.data_type == TYPES[name]
    assert layout.dtype is scalar and lite_dtype_2_numpy(TYPES[name]) is scalar
    assert layout._nbytes == 6 * np.dtype(name).itemsize


@pytest.mark.parametrize("dtype", [LiteDataType.LITE_BOOL, LiteDataType.LITE_DOUBLE])
def test_types_that_megengine_lacks_are_numbers(dtype):
    layout = LiteLayout([2, 3], dtype)
    assert LiteLayout([2, 3], int(dtype)) == layout
    assert layout.dtype is lite_dtype_2_numpy(dtype)
    array = np.arange(6).reshape(2, 3).astype(layout.dtype)
    tensor = LiteTensor(layout)
    for write in (tensor.set_data_by_copy, tensor.set_data_by_share):
        write(array)
        assert tensor.layout == layout and np.array_equal(tensor.to_numpy(), array)
    tensor.set_data_by_copy([1, 0, 0, 1])
    assert tensor.to_numpy().ravel().tolist() == [1, 0, 0, 1, *array.ravel()[4:]]
    with pytest.raises(RuntimeError, match=r"float32, float16.*int64"):
        LiteTensor(shapes=[2, 3]).set_data_by_copy(array)


def test_type_is_float32_by_default():
    assert LiteLayout([1]).dtype is np.float32
    assert LiteLayout().data_type == LiteDataType.LITE_FLOAT


@pytest.mark.parametrize("dtype", ["float64", np.float64, np.dtype("bool"), "nothing", 9, -1, []])
def test_unknown_type_lists_the_known(dtype):
    with pytest.raises(RuntimeError, match="float32, float16.*int64") as error:
        LiteLayout([2], dtype)
    assert isinstance(error.value, KeyError) and str(error.value).startswith("[LiteLayout] dtype")


def test_shapes():
    layout = LiteLayout([4, 16], "int8")
    assert (layout.shapes, layout.ndim) == ([4, 16], 2)
    assert (LiteLayout().shapes, LiteLayout().ndim) == ([], 0)
    assert LiteLayout(np.array([2, 3])) == LiteLayout((2, 3))
    layout.shapes = [3]
    assert (layout.shapes, layout.ndim) == ([3], 1)
    assert LiteLayout(range(1, 8)).ndim == 7


@pytest.mark.parametrize("shape", [[1] * 8, [2, -1], [(1 << 64) + 2]])
def test_invalid_shapes(shape):
    with pytest.raises(AssertionError, match="up to 7 sizes, none negative"):
        LiteLayout(shape)
    layout = LiteLayout([5])
    with pytest.raises(AssertionError):
        layout.shapes = shape
    assert layout.shapes == [5]


@pytest.mark.parametrize("size", [1.5, 2.0, "2", None])
def test_sizes_are_whole_numbers(size):
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        LiteLayout([2, size])
    assert LiteLayout([np.int64(2), True]).shapes == [2, 1]


def test_equality_is_of_contents():
    assert LiteLayout([2], "int8") == LiteLayout([2], "int8")
    assert LiteLayout([2], "int8") != LiteLayout([2], "uint8")
    assert LiteLayout([2], "int8") != LiteLayout([2, 1], "int8")
    assert LiteLayout([2]) != [2]
    longer = LiteLayout([2, 9])
    longer.shapes = [2]
    assert longer == LiteLayout([2])


def test_printed():
    expected = "{'shapes': [2, 3], 'ndim': 2, 'data_type': <class 'numpy.int8'>}"
    assert str(LiteLayout([2, 3], "int8")) == expected


def test_dtype_has_to_be_one_of_lite():
    with pytest.raises(AssertionError, match="LiteDataType"):
        lite_dtype_2_numpy(1)


@pytest.mark.parametrize("name", sorted(set(TYPES) - {"uint32"}))
def test_each_type_makes_a_usable_tensor(name):
    values = np.arange(6).reshape(2, 3).astype(name)
    tensor = LiteTensor(shapes=[2, 3], dtype=name)
    assert tensor.layout == LiteLayout([2, 3], name) and tensor.nbytes == values.nbytes
    tensor.set_data_by_copy(values)
    assert tensor.to_numpy().dtype == values.dtype
    np.testing.assert_array_equal(tensor.to_numpy(), values)
