# SPDX-License-Identifier: Apache-2.0
"""LiteTensor on the CPU: construction, properties, threads, the end of its life."""

import copy
import ctypes
import pickle
import threading
from ctypes import byref, c_void_p

import numpy as np
import pytest
from lite_tensors import CPU, address_of, counted

from megenginelite import (
    LiteDataType,
    LiteDeviceType,
    LiteGlobal,
    LiteLayout,
    LiteTensor,
)
from megenginelite._library import library


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
def test_missing_gpu():
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


def test_tensor_without_storage():
    tensor = LiteTensor(physic_construct=False)
    with pytest.raises(RuntimeError, match="null"):
        tensor.fill_zero()


def test_made_in_one_thread_and_freed_in_another():
    tensors = [counted(16)[1] for _ in range(100)]
    thread = threading.Thread(target=tensors.clear)
    thread.start()
    thread.join()
    assert not tensors


def test_errors_are_per_thread():
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
