# SPDX-License-Identifier: Apache-2.0
"""Tensors and collectors in the style of MegEngine Lite's own tests (reference_style.py)."""

import ctypes
import threading

import numpy as np

from megenginelite import (
    LiteDataType,
    LiteDeviceType,
    LiteLayout,
    LiteTensor,
    LiteTensorConcat,
    TensorBatchCollector,
)

# --- tensors ---


def test_tensor_make():
    empty = LiteTensor()
    assert empty.layout.ndim == 0
    layout = LiteLayout([4, 16])
    assert layout.data_type == LiteDataType.LITE_FLOAT
    for dtype, size in {"float32": 4, "int32": 4, "int8": 1, "uint8": 1, "int16": 2}.items():
        for spelling in (dtype, np.dtype(dtype), getattr(np, dtype)):
            layout = LiteLayout([4, 16], spelling)
            assert list(layout.shapes[0 : layout.ndim]) == [4, 16]
            assert LiteTensor(layout).nbytes == 64 * size
    tensor = LiteTensor(layout, device_type=LiteDeviceType.LITE_CPU, device_id=1)
    assert tensor.device_id == 1
    assert not tensor.is_pinned_host
    tensor.layout = LiteLayout([8, 2])
    assert list(tensor.layout.shapes) == [8, 2]


def test_tensor_of_shapes_and_dtype():
    tensor = LiteTensor(shapes=[4, 16], dtype=np.int16)
    assert list(tensor.layout.shapes) == [4, 16]
    assert tensor.layout.data_type == LiteDataType.LITE_INT16
    assert tensor.nbytes == 128


def test_tensor_layout_of_a_list():
    tensor = LiteTensor(LiteLayout([4, 16]))
    tensor.layout = [2, 8]
    assert list(tensor.layout.shapes) == [2, 8]


def test_tensor_set_data():
    tensor = LiteTensor(LiteLayout([2, 16], "int8"))
    assert tensor.nbytes == 32
    data = list(range(32))
    tensor.set_data_by_copy(data)
    assert (tensor.to_numpy().reshape(32) == data).all()
    array = np.arange(32, 0, -1).astype(np.int8).reshape(2, 16)
    tensor.set_data_by_copy(array)
    assert (tensor.to_numpy() == array).all()
    tensor.set_data_by_share(array)
    assert (tensor.to_numpy() == array).all()
    array[0][8] = 100
    array[1][3] = 20
    assert (tensor.to_numpy() == array).all()


def test_fill_zero():
    tensor = LiteTensor(LiteLayout([4, 8], "int32"))
    tensor.set_data_by_copy(np.ones((4, 8), np.int32))
    tensor.fill_zero()
    assert (tensor.to_numpy() == 0).all()


def test_copy_from():
    source = LiteTensor(LiteLayout([4, 32], "int16"))
    array = np.arange(128).astype(np.int16).reshape(4, 32)
    source.set_data_by_copy(array)
    target = LiteTensor()
    target.copy_from(source)
    assert list(target.layout.shapes) == [4, 32]
    assert (target.to_numpy() == array).all()


def test_reshape():
    tensor = LiteTensor(LiteLayout([8, 8], "int32"))
    tensor.set_data_by_copy(list(range(64)))
    before = tensor.get_ctypes_memory().value
    for shape in ([16, 4], [2, 2, -1], [64]):
        tensor.reshape(shape)
        assert (tensor.to_numpy().reshape(64) == np.arange(64)).all()
    assert list(tensor.layout.shapes) == [64]
    assert tensor.get_ctypes_memory().value == before


def test_slice():
    array = np.arange(64).astype(np.int32).reshape(8, 8)
    tensor = LiteTensor(LiteLayout([8, 8], "int32"))
    tensor.set_data_by_copy(array)
    part = tensor.slice([4], [8])
    assert (part.to_numpy() == array[4:8]).all()
    part = tensor.slice([2, 3], [6, 7])
    assert not part.is_continue
    assert (part.to_numpy() == array[2:6, 3:7]).all()
    part = tensor.slice([0, 0], [8, 8], [2, 4])
    assert (part.to_numpy() == array[::2, ::4]).all()


def test_fill_zero_of_a_slice():
    tensor = LiteTensor(LiteLayout([4, 4], "int32"))
    tensor.set_data_by_copy(np.ones((4, 4), np.int32))
    tensor.slice([1, 1], [3, 3]).fill_zero()
    value = tensor.to_numpy()
    assert value.sum() == 12
    assert (value[1:3, 1:3] == 0).all()


def test_copy_into_a_slice():
    tensor, source = (LiteTensor(LiteLayout(shape, "int32")) for shape in ([4, 4], [2, 2]))
    tensor.set_data_by_copy(np.zeros((4, 4), np.int32))
    source.set_data_by_copy(np.full((2, 2), 7, np.int32))
    tensor.slice([1, 1], [3, 3]).copy_from(source)
    assert tensor.to_numpy().sum() == 28
    assert (tensor.to_numpy()[1:3, 1:3] == 7).all()


def test_tensor_share_memory():
    array = np.arange(32).astype(np.int32).reshape(4, 8)
    tensor = LiteTensor(LiteLayout([4, 8], "int32"))
    tensor.set_data_by_share(array)
    shared = tensor.get_data_by_share()
    shared[2, 5] = 99
    assert array[2, 5] == 99
    assert tensor.to_numpy()[2, 5] == 99


def test_tensor_share_ctype_memory():
    array = np.arange(64).astype(np.int32).reshape(8, 8)
    source, tensor = (LiteTensor(LiteLayout([8, 8], "int32")) for _ in range(2))
    source.set_data_by_copy(array)
    pointer = source.get_ctypes_memory()
    tensor.set_data_by_share(pointer, tensor.nbytes)
    assert (tensor.to_numpy() == array).all()
    copied = LiteTensor(LiteLayout([8, 8], "int32"))
    copied.set_data_by_copy(pointer, copied.nbytes)
    assert (copied.to_numpy() == array).all()
    laid_out = LiteTensor()
    laid_out.set_data_by_copy(pointer, layout=LiteLayout([4, 16], "int32"))
    assert (laid_out.to_numpy() == array.reshape(4, 16)).all()


def test_tensor_share_memory_with():
    array = np.arange(64).astype(np.int32).reshape(8, 8)
    source, tensor = (LiteTensor(LiteLayout([8, 8], "int32")) for _ in range(2))
    source.set_data_by_copy(array)
    tensor.share_memory_with(source)
    source.fill_zero()
    assert (tensor.to_numpy() == 0).all()
    del source
    assert (tensor.to_numpy() == 0).all()


def test_tensor_concat():
    tensors = []
    for i in range(4):
        tensors.append(LiteTensor(LiteLayout([8, 8], "int32")))
        tensors[-1].set_data_by_copy(np.full((8, 8), i, np.int32))
    rows = LiteTensorConcat(tensors, 0)
    assert list(rows.layout.shapes) == [32, 8]
    assert (rows.to_numpy() == np.repeat(np.arange(4), 64).reshape(32, 8)).all()
    columns = LiteTensorConcat(tensors, 1)
    assert list(columns.layout.shapes) == [8, 32]
    assert (columns.to_numpy()[0] == np.repeat(np.arange(4), 8)).all()


def test_tensor_get_memory_by_share():
    tensor = LiteTensor(LiteLayout([4, 32], "int16"))
    tensor.set_data_by_copy(np.zeros((4, 32), np.int16))
    array = tensor.get_data_by_share()
    tensor.set_data_by_copy(np.ones((4, 32), np.int16))
    assert (array == 1).all()


def fails_with_assertion(call):
    try:
        call()
    except AssertionError:
        return
    raise RuntimeError("an AssertionError was expected")


def test_set_data_by_copy_not_continuous():
    array = np.arange(32).astype(np.float32).reshape(4, 8).transpose()
    fails_with_assertion(lambda: LiteTensor(LiteLayout([8, 4])).set_data_by_copy(array))


def test_set_data_by_share_not_continuous():
    array = np.arange(32).astype(np.float32).reshape(4, 8).transpose()
    fails_with_assertion(lambda: LiteTensor(LiteLayout([8, 4])).set_data_by_share(array))


def test_empty_tensor():
    assert LiteTensor().to_numpy().shape == np.array([]).shape


def test_tensor_by_set_copy_with_new_layout():
    tensor = LiteTensor(LiteLayout([4, 8], "int32"))
    array = np.ones((2, 2), np.float32)
    tensor.set_data_by_copy(array)
    assert list(tensor.layout.shapes) == [2, 2]
    assert tensor.layout.data_type == LiteDataType.LITE_FLOAT
    assert (tensor.to_numpy() == array).all()


def test_memory_of_another_thread():
    tensors = []

    def make():
        tensor = LiteTensor(LiteLayout([4, 4], "int32"))
        tensor.set_data_by_copy(np.full((4, 4), 3, np.int32))
        tensors.append(tensor)

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    assert (tensors.pop().to_numpy() == 3).all()


# --- collectors ---


def test_tensor_collect_batch_cpu():
    collector = TensorBatchCollector(
        [4, 6, 8], dtype=LiteDataType.LITE_INT, device_type=LiteDeviceType.LITE_CPU
    )
    arrays = [np.full((6, 8), i, np.int32) for i in range(4)]
    for i, array in enumerate(arrays):
        assert collector.collect(array) == i
    assert (collector.to_numpy() == np.stack(arrays)).all()


def test_tensor_collect_batch_by_index_cpu():
    collector = TensorBatchCollector(
        [4, 6, 8], dtype=LiteDataType.LITE_INT, device_type=LiteDeviceType.LITE_CPU
    )
    for i in (1, 0, 2, 3):
        collector.collect_id(np.full((6, 8), i, np.int32), i)
    assert (collector.to_numpy()[:, 0, 0] == np.arange(4)).all()


def test_tensor_collect_batch_tensor_cpu():
    collector = TensorBatchCollector(
        [4, 6, 8], dtype=LiteDataType.LITE_INT, device_type=LiteDeviceType.LITE_CPU
    )
    tensor = LiteTensor(LiteLayout([6, 8], "int32"))
    for i in range(4):
        tensor.set_data_by_copy(np.full((6, 8), i, np.int32))
        collector.collect(tensor)
    assert (collector.to_numpy()[:, 0, 0] == np.arange(4)).all()


def test_tensor_collect_batch_ctypes_cpu():
    collector = TensorBatchCollector(
        [4, 6, 8], dtype=LiteDataType.LITE_INT, device_type=LiteDeviceType.LITE_CPU
    )
    for i in range(4):
        array = np.full((6, 8), i, np.int32)
        collector.collect_by_ctypes(array.ctypes.data_as(ctypes.c_void_p), array.nbytes)
    assert (collector.to_numpy()[:, 0, 0] == np.arange(4)).all()


def test_tensor_collect_again_after_free():
    collector = TensorBatchCollector(
        [4, 6, 8], dtype=LiteDataType.LITE_INT, device_type=LiteDeviceType.LITE_CPU
    )
    for turn in range(2):
        for i in range(4):
            collector.collect(np.full((6, 8), 10 * turn + i, np.int32))
        assert (collector.to_numpy()[:, 0, 0] == 10 * turn + np.arange(4)).all()
        collector.free(list(range(4)))


def test_tensor_of_a_collector():
    collector = TensorBatchCollector(
        [4, 6, 8], dtype=LiteDataType.LITE_INT, device_type=LiteDeviceType.LITE_CPU
    )
    collector.collect(np.full((6, 8), 5, np.int32))
    assert (collector.get_tensor_at(0).to_numpy() == 5).all()
    assert list(collector.get().layout.shapes) == [4, 6, 8]
