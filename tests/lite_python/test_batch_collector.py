# SPDX-License-Identifier: Apache-2.0
"""TensorBatchCollector: batches that are put together from single images."""

import ctypes
import threading

import numpy as np
import pytest

from megenginelite import (
    LiteDataType,
    LiteDeviceType,
    LiteLayout,
    LiteNetwork,
    LiteTensor,
    TensorBatchCollector,
)

from .conftest import scores_of

CPU = LiteDeviceType.LITE_CPU


def collector(*shape, dtype=LiteDataType.LITE_INT):
    return TensorBatchCollector(list(shape), dtype=dtype, device_type=CPU)


def expect_items(batch, values):
    data = batch.to_numpy()
    assert data.shape == tuple(batch.shape)
    for item, value in zip(data, values, strict=True):
        assert (item == value).all()


def test_items_in_order():
    batch = collector(4, 8, 8)
    array = np.ones([8, 8], "int32")
    for _ in range(2):
        for item in range(4):
            assert batch.collect(array) == item
            array += 1
        batch.free(range(4))
    expect_items(batch, [5, 6, 7, 8])


def test_items_by_number():
    batch = collector(4, 8, 8)
    for item in (1, 0, 2, 3):
        batch.collect_id(np.full([8, 8], item + 1, "int32"), item)
    expect_items(batch, [1, 2, 3, 4])
    batch.free(range(4))
    with pytest.warns(UserWarning, match="item 2 .* not in use"):
        batch.free([2])


@pytest.mark.parametrize("dtype", [LiteDataType.LITE_BOOL, LiteDataType.LITE_DOUBLE])
def test_items_of_the_types_without_a_name(dtype):
    batch = collector(2, 3, dtype=dtype)
    values = np.array([[1, 0, 1], [0, 1, 1]], batch.to_numpy().dtype)
    batch.collect(values[0])
    batch.collect_id(values[1], 1)
    expect_items(batch, values)


def test_items_of_another_byte_order():
    batch = collector(2, 3, dtype=LiteDataType.LITE_FLOAT)
    batch.collect(np.full(3, 1.5, ">f4"))
    batch.collect_id(np.full(3, 2.5, ">f4"), 1)
    expect_items(batch, [1.5, 2.5])


def test_items_from_pointers():
    batch = collector(4, 6, 8)
    array = np.ones([6, 8], "int32")
    for _ in range(2):
        for item in range(4):
            pointer = ctypes.c_void_p(array.ctypes.data)
            assert batch.collect_by_ctypes(pointer, array.nbytes) == item
            array += 1
        batch.free(range(4))
    expect_items(batch, [5, 6, 7, 8])
    with pytest.raises(AssertionError, match="192 bytes, got 10"):
        batch.collect_by_ctypes(array.ctypes.data, 10)


def test_items_from_tensors():
    batch = collector(4, 6, 8)
    array = np.ones([6, 8], "int32")
    tensor = LiteTensor(LiteLayout([6, 8], LiteDataType.LITE_INT))
    for _ in range(2):
        for _ in range(4):
            tensor.set_data_by_share(array)
            batch.collect(tensor)
            array += 1
        batch.free(range(4))
    expect_items(batch, [5, 6, 7, 8])


def test_tensor_that_is_given():
    whole = LiteTensor(LiteLayout([4, 6, 8], dtype=LiteDataType.LITE_INT))
    batch = TensorBatchCollector([4, 6, 8], tensor=whole)
    assert batch.get() is whole and batch.dtype == LiteDataType.LITE_INT
    assert (batch.dev_type, batch.dev_id, batch.is_pinned_host) == (CPU, 0, False)
    for item in range(4):
        batch.collect(np.full([6, 8], item, "int32"))
    expect_items(batch, range(4))
    with pytest.raises(AssertionError, match="shape"):
        TensorBatchCollector([4, 8, 6], tensor=whole)
    with pytest.raises(AssertionError, match="dtype"):
        TensorBatchCollector([4, 6, 8], dtype="float32", tensor=whole)


def test_full_and_used():
    batch = collector(2, 3)
    array = np.zeros(3, "int32")
    batch.collect_id(array, 1)
    assert batch.collect(array) == 0
    with pytest.warns(UserWarning, match="no item"):
        assert batch.collect(array + 9) == -1
    with pytest.warns(UserWarning, match="no item"):
        assert batch.collect_by_ctypes(array.ctypes.data, 12) == -1
    with pytest.warns(UserWarning, match="item 1 .* in use"):
        batch.collect_id(array + 7, 1)
    expect_items(batch, [0, 7])
    batch.free([0])
    assert batch.collect(array + 5) == 0


@pytest.mark.parametrize(
    "array",
    [
        np.zeros([3, 2], "int32"),
        np.zeros([1, 2, 3], "int32"),
        np.zeros([2, 3], "int8"),
        LiteTensor(shapes=[2, 3], dtype="float32"),
    ],
)
def test_invalid_items_free_their_slot(array):
    batch = collector(2, 2, 3)
    for collect in (batch.collect, lambda a: batch.collect_id(a, 0)):
        with pytest.raises(AssertionError, match="an item is"):
            collect(array)
    assert batch.collect(np.zeros([2, 3], "int32")) == 0


def test_failed_copies_free_their_slot():
    batch = collector(2, 3)
    with_gaps = np.zeros(6, "int32")[::2]
    for collect in (batch.collect, lambda a: batch.collect_id(a, 0)):
        with pytest.raises(AssertionError, match="not contiguous"):
            collect(with_gaps)
    with pytest.raises(AssertionError, match="null pointer"):
        batch.collect_by_ctypes(ctypes.c_void_p(), 12)
    assert [batch.collect(with_gaps.copy()) for _ in range(2)] == [0, 1]


def test_missing_items():
    batch = collector(2, 3)
    array = np.zeros(3, "int32")
    for item in (-1, 2):
        with pytest.raises(AssertionError, match="2 items"):
            batch.collect_id(array, item)
        with pytest.raises(AssertionError, match="2 items"):
            batch.get_tensor_at(item)
        with pytest.raises(AssertionError, match="2 items"):
            batch.free([item])
    with pytest.raises(AssertionError, match="at least one"):
        collector()


def test_item_is_a_batch_of_one_in_the_same_memory():
    batch = collector(4, 8)
    array = np.arange(8, dtype="int32")
    batch.collect_id(array, 2)
    part = batch.get_tensor_at(2)
    assert part.layout == LiteLayout([1, 8], "int32")
    np.testing.assert_array_equal(part.to_numpy()[0], array)
    part.fill_zero()
    assert not batch.to_numpy()[2].any()


def test_batch_is_an_input_without_copy(model_path, image):
    batch = collector(3, 3, 224, 224, dtype="float32")
    for factor in (1, 2, 3):
        batch.collect(image[0] * factor)
    network = LiteNetwork()
    network.load(model_path)
    data = network.get_io_tensor("data")
    data.share_memory_with(batch.get())
    network.forward()
    network.wait()
    assert data.get_ctypes_memory().value == batch.get().get_ctypes_memory().value
    images = np.concatenate([image, image * 2, image * 3])
    np.testing.assert_array_equal(
        network.get_io_tensor("score").to_numpy(), scores_of(LiteNetwork(), model_path, images)
    )


def test_items_that_are_numbers():
    batch = collector(3)
    for value in (7, 8, 9):
        batch.collect(np.array(value, "int32"))
    assert batch.to_numpy().tolist() == [7, 8, 9]


@pytest.mark.parametrize("dtype", ["float32", "float16", "uint16", "uint8", "int64"])
def test_types(dtype):
    batch = collector(2, 3, dtype=dtype)
    for value in (1, 2):
        batch.collect(np.full(3, value, dtype))
    assert batch.to_numpy().dtype == dtype
    expect_items(batch, [1, 2])


def test_threads_take_each_item_once():
    batch = collector(8000, 2)
    taken = [[] for _ in range(8)]

    def collect(number):
        for _ in range(1000):
            taken[number].append(batch.collect(np.full(2, number, "int32")))

    threads = [threading.Thread(target=collect, args=[number]) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(sum(taken, [])) == list(range(8000))
    data = batch.to_numpy()
    for number, items in enumerate(taken):
        assert (data[items] == number).all()
