# SPDX-License-Identifier: Apache-2.0
"""LiteTensor on the CPU: its memory, what shares it, and what is copied."""

import copy
import ctypes
import gc
import pickle
import threading
from ctypes import byref, c_void_p

import numpy as np
import pytest

from megenginelite import (
    LiteDataType,
    LiteDeviceType,
    LiteGlobal,
    LiteLayout,
    LiteTensor,
    LiteTensorConcat,
)
from megenginelite._library import library

CPU = LiteDeviceType.LITE_CPU


def counted(*shape, dtype="int32"):
    """An array 0, 1, 2, … and a tensor with a copy of it."""
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    tensor = LiteTensor()
    tensor.set_data_by_copy(array)
    return array, tensor


def address_of(tensor):
    return tensor.get_ctypes_memory().value


# Construction and properties


def test_empty_tensor():
    tensor = LiteTensor()
    assert (tensor.layout, tensor.nbytes) == (LiteLayout(), 0)
    assert (tensor.device_type, tensor.device_id) == (CPU, 0)
    assert not tensor.is_pinned_host
    assert tensor.to_numpy().size == 0


@pytest.mark.parametrize("dtype", ["int8", np.int8, np.dtype("int8"), LiteDataType.LITE_INT8])
def test_made_from_a_layout_or_from_shapes(dtype):
    layout = LiteLayout([4, 16], dtype)
    for tensor in (
        LiteTensor(layout),
        LiteTensor(layout, CPU),
        LiteTensor(layout=layout, device_type=CPU, device_id=1),
        LiteTensor(shapes=[4, 16], dtype=dtype),
    ):
        assert tensor.layout == layout and tensor.layout.dtype is np.int8
        assert tensor.nbytes == 64 and tensor.is_continue
    assert LiteTensor(shapes=[4, 16]).layout.dtype is np.float32


def test_device_number_of_a_cpu():
    tensor = LiteTensor(layout=LiteLayout([4, 16], "int8"), device_id=1)
    assert (tensor.device_type, tensor.device_id) == (CPU, 1)


@pytest.mark.parametrize("name", ["LITE_ATLAS", "LITE_NPU", "LITE_CAMBRICON"])
def test_devices_that_are_not_built(name):
    with pytest.raises(RuntimeError, match=name.removeprefix("LITE_")):
        LiteTensor(LiteLayout([2]), LiteDeviceType[name])


@pytest.mark.skipif(
    LiteGlobal.get_device_count(LiteDeviceType.LITE_CUDA) > 0, reason="there is a GPU"
)
def test_gpu_that_is_not_there():
    with pytest.raises(RuntimeError, match="(?i)cuda|gpu"):
        LiteTensor(LiteLayout([2]), LiteDeviceType.LITE_CUDA)


def test_layout_keeps_memory_that_is_large_enough():
    tensor = LiteTensor(LiteLayout([1, 3, 224, 224], "float32"))
    address = address_of(tensor)
    tensor.layout = LiteLayout([1, 3, 100, 100], "int8")
    assert address_of(tensor) == address
    assert tensor.nbytes == 30000
    tensor.layout = [8]
    assert tensor.layout == LiteLayout([8], "int8") and address_of(tensor) == address
    tensor.layout = LiteLayout([2, 3, 224, 224], "float32")
    tensor.get_data_by_share()[:] = 1  # the larger memory is there


def test_a_tensor_of_seven_dimensions():
    array, tensor = counted(1, 2, 1, 2, 1, 2, 1)
    np.testing.assert_array_equal(tensor.to_numpy(), array)


def test_properties_follow_the_tensor_of_c():
    tensor = LiteTensor(LiteLayout([4], "int8"))
    library.LITE_set_tensor_layout(tensor._tensor, LiteLayout([2, 3], "int16"))
    tensor.update()
    assert tensor.layout == LiteLayout([2, 3], "int16") and tensor.nbytes == 12
    other = LiteTensor(LiteLayout([5], "uint8"), device_id=2)
    library.LITE_tensor_share_memory_with(tensor._tensor, other._tensor)
    tensor.update()
    assert tensor.layout == LiteLayout([5], "uint8") and tensor.device_id == 2


def test_printed():
    text = str(LiteTensor(shapes=[2], dtype="int8", device_id=3))
    assert text == (
        "{'layout': {'shapes': [2], 'ndim': 1, 'data_type': <class 'numpy.int8'>}, "
        "'device_type': <LiteDeviceType.LITE_CPU: 0>, 'device_id': 3, 'is_pinned_host': False}"
    )


def test_address():
    array, tensor = counted(4)
    pointer = tensor.get_ctypes_memory()
    assert isinstance(pointer, c_void_p)
    ctypes.cast(pointer, ctypes.POINTER(ctypes.c_int32))[2] = 77
    assert tensor.to_numpy().tolist() == [0, 1, 77, 3]
    with pytest.raises(RuntimeError, match="layout"):
        LiteTensor().get_ctypes_memory()


def test_handles_belong_to_one_object():
    _, tensor = counted(2)
    for duplicate in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="to_numpy"):
            duplicate(tensor)


def test_tensor_without_one_behind_it():
    tensor = LiteTensor(physic_construct=False)
    with pytest.raises(RuntimeError, match="null"):
        tensor.fill_zero()


# Values by copy


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
def test_list_that_does_not_fit(dtype, numbers, error, message):
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
def test_what_is_no_data(method):
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


# Memory that is shared


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
def test_who_shares_an_array_keeps_it(by):
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


def test_bytes_are_read_and_texts_are_no_memory():
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


# Parts and shapes


def test_reshape():
    array, tensor = counted(8, 8)
    address = address_of(tensor)
    for shape in ([16, 4], [2, -1, 2], [-1], [64]):
        tensor.reshape(shape)
        np.testing.assert_array_equal(tensor.to_numpy(), array.reshape(shape))
    assert address_of(tensor) == address
    for shape in ([63], [-1, -1], [0, -1], [7, -1], [2, -2]):
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
        (([0, 0, 0], [1, 1, 1]), RuntimeError),
        (([2], [1]), RuntimeError),
        (([0], [5]), RuntimeError),
        (([0], [2], [0]), RuntimeError),
    ],
)
def test_slices_that_are_not_there(arguments, error):
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


def test_concat_of_what_does_not_fit():
    _, tensor = counted(2, 3)
    for other, dim in ((counted(3, 3)[1], 1), (counted(2, 3, dtype="int8")[1], 0)):
        with pytest.raises(RuntimeError, match="concat"):
            LiteTensorConcat([tensor, other], dim)
    for dim in (2, -3):
        with pytest.raises(RuntimeError, match="dimension"):
            LiteTensorConcat([tensor, tensor], dim)
    assert LiteTensorConcat([], 0).layout == LiteLayout()


# Threads and ends


def test_made_in_one_thread_and_freed_in_another():
    tensors = [counted(16)[1] for _ in range(100)]
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    assert not tensors


def test_errors_of_threads_are_their_own():
    failures = []

    def fail(size):
        _, tensor = counted(4)
        for _ in range(200):
            try:
                tensor.reshape([size])
            except RuntimeError as error:
                failures.append(str(size) in str(error))

    threads = [threading.Thread(target=fail, args=[size]) for size in (50, 60, 70)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(failures) == 600 and all(failures)


def test_destroying_twice_does_nothing():
    handle = c_void_p()
    _, source = counted(2)
    library.LITE_tensor_slice(
        source._tensor, (ctypes.c_size_t * 1)(0), (ctypes.c_size_t * 1)(1), None, 1, byref(handle)
    )
    library.LITE_destroy_tensor(handle)
    library.LITE_destroy_tensor(handle)
    with pytest.raises(RuntimeError, match="null"):
        library.LITE_destroy_tensor(None)
