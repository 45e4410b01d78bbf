# SPDX-License-Identifier: Apache-2.0
"""Memory that Tensors share with arrays: DLPack, from_numpy, the buffer protocol."""

import gc
import os
import threading

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine.core.tensor import dtype as dtypes
from megengine.utils.dlpack import from_dlpack, from_numpy, to_dlpack

DTYPES = ("bool", "uint8", "int8", "uint16", "int16", "int32", "float16", "float32")


def address(array):
    return array.__array_interface__["data"][0]


class Producer:
    """As PyTorch's tensors: an array behind DLPack and NumPy's older protocol."""

    def __init__(self, array, versions=True):
        self.array, self.versions, self.calls = array, versions, []

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **keywords):
        self.calls.append(keywords)
        if keywords and not self.versions:
            raise TypeError("no such keyword")
        return self.array.__dlpack__(**keywords)

    def __array__(self, dtype=None, copy=None):
        return self.array.astype(dtype or self.array.dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(), (0, 3), (1,), (2, 3, 4)])
def test_arrays_and_tensors_have_the_same_memory(dtype, shape):
    array = np.ones(shape, dtype)
    for make in (from_numpy, from_dlpack):
        tensor = make(array)
        assert tensor.shape == shape and tensor.dtype == array.dtype
        assert address(tensor.numpy()) == address(array) or array.size == 0
    tensor = mge.Tensor(array)
    back = np.from_dlpack(tensor)
    assert back.shape == shape and back.dtype == array.dtype
    assert address(back) == address(tensor.numpy()) or array.size == 0


def test_writing_is_seen_on_both_sides():
    array = np.zeros((2, 3), np.float32)
    x = from_numpy(array)
    x[0] = 5
    x += 1
    x._reset(x * 2)
    np.testing.assert_array_equal(array, [[12] * 3, [2] * 3])
    array[1, 1] = -1
    assert x.numpy()[1, 1] == -1
    other = x.reshape(-1)
    other += 1  # a Tensor of its own
    assert array[0, 0] == 12
    x._reset(mge.Tensor([1.0]))  # does not fit
    assert x.shape == (1,) and array[0, 0] == 12


def test_an_optimizer_steps_in_the_array():
    array = np.ones(3, np.float32)
    param = mge.Parameter(Producer(array))
    optimizer = mge.optimizer.SGD([param], lr=0.5, momentum=0.9)
    for _ in range(2):
        param.grad = mge.Tensor([1.0, 0.0, -1.0])
        optimizer.step()
    np.testing.assert_allclose(array, [-0.45, 1, 2.45], rtol=1e-6)


def test_a_trace_reads_and_writes_the_array():
    array, steps = np.ones(2, np.float32), np.zeros(2, np.float32)
    weight, sums = from_numpy(array), from_numpy(steps)

    def step(x):
        sums.__iadd__(x)
        return x * weight

    for symbolic in (False, True):
        traced = mge.jit.trace(step, symbolic=symbolic)
        steps[:] = 0
        for k in range(4):
            array[:] = k
            np.testing.assert_array_equal(traced(mge.Tensor([1.0, 2.0])).numpy(), [k, 2 * k])
            np.testing.assert_array_equal(steps, [k + 1, 2 * k + 2])


def test_read_only_data_is_not_written():
    array = np.arange(3, dtype=np.float32)
    array.flags.writeable = False
    x = from_numpy(array)
    assert address(x.numpy()) == address(array)
    assert np.from_dlpack(x).flags.writeable  # a copy, which may be written
    assert address(np.from_dlpack(x)) != address(array)
    with pytest.raises(BufferError, match="only be exported as a copy"):
        x.__dlpack__(copy=False)
    x += 1
    np.testing.assert_array_equal(array, [0, 1, 2])
    np.testing.assert_array_equal(x.numpy(), [1, 2, 3])


def test_memory_lives_as_long_as_its_references():
    tensor = mge.Tensor(np.arange(1000, dtype=np.float32))
    array = np.from_dlpack(tensor)
    del tensor
    mge.Tensor(np.zeros(1000, np.float32))
    np.testing.assert_array_equal(array, np.arange(1000))
    tensor = from_numpy(array)
    del array
    gc.collect()
    np.testing.assert_array_equal(tensor.numpy(), np.arange(1000))
    capsule = to_dlpack(tensor)
    del tensor
    assert from_dlpack(capsule).numpy()[999] == 999
    to_dlpack(mge.Tensor([1.0]))  # unused capsule


def test_elements_that_are_not_dense_are_copied():
    array = np.arange(24, dtype=np.int32).reshape(2, 3, 4)
    for view in (array[:, ::2], array[::-1], array.T, np.broadcast_to(array[0], (5, 3, 4))):
        np.testing.assert_array_equal(from_dlpack(view).numpy(), view)
        with pytest.raises(BufferError, match="can only be copied"):
            from_dlpack(view, copy=False)
        with pytest.raises(ValueError, match="only dense arrays"):
            from_numpy(view)
    assert address(from_dlpack(array, copy=True).numpy()) != address(array)
    assert address(from_dlpack(array[1]).numpy()) == address(array[1])


def test_copies_are_made_on_demand():
    tensor = mge.Tensor([1.0, 2.0])
    copy = np.from_dlpack(tensor, copy=True)
    copy[0] = 5
    assert tensor.numpy()[0] == 1
    consumed = np.from_dlpack(tensor)
    consumed[0] = 7  # shared memory may be written
    assert tensor.numpy()[0] == 7
    tensor += 1  # and the Tensor takes memory of its own
    assert consumed[0] == 7 and tensor.numpy()[0] == 8


def test_both_forms_of_capsules():
    array = np.arange(3, dtype=np.float32)
    new, old = Producer(array), Producer(array, versions=False)
    for producer in (new, old):
        assert address(from_dlpack(producer).numpy()) == address(array)
    assert new.calls == [{"max_version": (1, 0)}] and old.calls[1:] == [{}]
    tensor = mge.Tensor([1.0])
    assert "dltensor_versioned" in repr(tensor.__dlpack__(max_version=(1, 2)))
    assert '"dltensor"' in repr(tensor.__dlpack__(max_version=(0, 8)))
    capsule = to_dlpack(tensor)
    from_dlpack(capsule)
    with pytest.raises(ValueError, match="an unused DLPack capsule"):
        from_dlpack(capsule)


def test_constructor_shares_memory_if_possible():
    array = np.ones(3, np.float32)
    assert address(mge.Tensor(Producer(array)).numpy()) == address(array)
    assert address(mge.Tensor(Producer(array), no_cache=True).numpy()) != address(array)
    wide = mge.Tensor(Producer(np.arange(3)))
    assert wide.dtype == np.int32 and list(wide.numpy()) == [0, 1, 2]


def test_unshareable_tensors_are_refused():
    for array, message in (
        (np.zeros(2), "type code 2 with 64 bits"),
        (np.zeros(2, np.int64), "type code 0 with 64 bits"),
        (np.zeros(2, np.complex64), "type code 5"),
        (np.zeros((1,) * 8, np.float32), "rank 8"),
    ):
        with pytest.raises(BufferError, match=message):
            from_dlpack(array)
    with pytest.raises(TypeError, match="list has no __dlpack__"):
        from_dlpack([1])
    with pytest.raises(TypeError, match="expected an array, got list"):
        from_numpy([1])
    with pytest.raises(TypeError, match="byte order"):
        from_numpy(np.zeros(2, ">i4"))
    with pytest.raises(BufferError, match="no streams"):
        mge.Tensor([1.0]).__dlpack__(stream=3)
    with pytest.raises(BufferError, match="quantised and complex Tensors are not"):
        to_dlpack(mge.Tensor([1.0]).astype(dtypes.qint8(0.1)))
    elsewhere = Producer(np.zeros(1, np.float32))
    elsewhere.__class__ = type("Elsewhere", (Producer,), {"__dlpack_device__": lambda _: (2, 0)})
    with pytest.raises(BufferError, match="device of type 2"):
        from_dlpack(elsewhere)


def test_bfloat16_passes_through_capsules():
    tensor = mge.Tensor([1.5, -2.0], dtype="bfloat16")
    back = from_dlpack(tensor)
    assert dtypes.is_bfloat16(back.dtype)
    np.testing.assert_array_equal(back.astype("float32").numpy(), [1.5, -2])


def test_gradients_go_through_shared_tensors():
    x = from_numpy(np.array([1, 2], np.float32))
    with mge.autodiff.GradManager().attach(x) as gm:
        gm.backward(F.sum(x * x))
    np.testing.assert_array_equal(x.grad.numpy(), [2, 4])


def test_buffers():
    for dtype in DTYPES:
        tensor = mge.Tensor(np.ones((2, 3), dtype))
        view = memoryview(tensor)
        assert view.readonly and view.c_contiguous and view.shape == (2, 3)
        assert view.format == np.dtype(dtype).char
        assert address(np.asarray(tensor)) == address(tensor.numpy())
    assert np.asarray(mge.Tensor([1.0], dtype="bfloat16")).dtype == dtypes.bfloat16
    with pytest.raises(BufferError, match="no such dtype"):
        memoryview(mge.Tensor([1.0], dtype="bfloat16"))
    with pytest.raises(BufferError, match="read only"):
        os.preadv(0, [mge.Tensor([1.0])], 0)  # asks for a buffer to write


def test_arrays_of_tensors():
    tensor = mge.Tensor([1.0, 2.0])
    assert address(tensor.__array__()) == address(tensor.numpy())
    assert address(tensor.__array__(np.float32, copy=False)) == address(tensor.numpy())
    assert address(tensor.__array__(copy=True)) != address(tensor.numpy())
    assert tensor.__array__(np.float64).dtype == np.float64
    with pytest.raises(ValueError, match="only be made by copying"):
        tensor.__array__(np.int32, copy=False)


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif("MGE_SANITIZED" in os.environ, reason="the sanitizer keeps freed memory")
def test_many_round_trips_need_no_more_memory():
    array = np.zeros(10_000, np.float32)

    def trips(count):
        for _ in range(count):
            back = np.from_dlpack(from_dlpack(array))
            assert memoryview(from_numpy(back)).nbytes == array.nbytes

    trips(1000)
    before = resident()
    trips(int(os.environ.get("MGE_NIGHTLY", "0")) * 90_000 + 10_000)
    assert resident() - before < 4 << 20


def test_memory_may_be_released_in_any_thread():
    held = [np.from_dlpack(mge.Tensor(np.zeros(100, np.float32))) for _ in range(50)]
    held += [from_numpy(np.zeros(100, np.float32)) for _ in range(50)]
    threads = [threading.Thread(target=held.pop) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not held


def test_pytorch_shares_memory():
    torch = pytest.importorskip("torch")
    tensor = mge.Tensor([1.0, 2.0])
    there = torch.from_dlpack(tensor)
    assert there.data_ptr() == address(tensor.numpy())
    assert address(mge.Tensor(torch.ones(3)).numpy()) != 0
    there = torch.ones(3)
    assert address(mge.Tensor(there).numpy()) == there.data_ptr()
    assert address(np.asarray(from_dlpack(there))) == there.data_ptr()
