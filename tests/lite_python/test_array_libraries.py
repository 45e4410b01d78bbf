# SPDX-License-Identifier: Apache-2.0
"""LiteTensor for array libraries: numpy.asarray() and DLPack."""

import gc
import weakref

import numpy as np
import pytest
from lite_tensors import address_of, counted

from megenginelite import LiteDataType, LiteLayout, LiteTensor, _dlpack


def test_asarray_shows_the_memory_of_the_tensor():
    array, tensor = counted(2, 3)
    seen = np.asarray(tensor)
    np.testing.assert_array_equal(seen, array)
    assert seen.dtype == array.dtype and seen.ctypes.data == address_of(tensor)
    tensor.fill_zero()
    assert not seen.any()
    part = np.asarray(counted(4, 8)[1].slice([1, 2], [3, 5]))
    assert part.tolist() == [[10, 11, 12], [18, 19, 20]]


def test_asarray_copies_when_it_has_to():
    array, tensor = counted(2, 3)
    assert np.array(tensor).ctypes.data != address_of(tensor)
    floats = np.asarray(tensor, "float32")
    assert floats.dtype == np.float32 and (floats == array).all()
    with pytest.raises(ValueError, match="copy"):
        tensor.__array__("float32", copy=False)
    assert np.asarray(LiteTensor()).shape == (0,)
    assert (array + tensor == 2 * array).all()


@pytest.mark.parametrize("data_type", LiteDataType)
def test_dlpack_of_every_type(data_type):
    tensor = LiteTensor(LiteLayout([2, 1, 3], data_type))
    tensor.set_data_by_copy([1, 2, 3, 4, 5, 6])
    assert tensor.__dlpack_device__() == (1, 0)
    for other in (tensor, tensor.slice([0, 0, 0], [2, 1, 2])):
        shared = np.from_dlpack(other)
        assert shared.ctypes.data == address_of(tensor)
        np.testing.assert_array_equal(shared, other.to_numpy())
        assert shared.dtype == other.layout.dtype
    assert np.from_dlpack(LiteTensor(LiteLayout([0, 3], data_type))).shape == (0, 3)


def tensor_over(array):
    """A tensor in the memory of an array, and a reference that ends with the array."""
    tensor = LiteTensor()
    tensor.set_data_by_share(array)
    return tensor, weakref.ref(array)


def test_memory_lives_as_long_as_its_consumer():
    tensor, memory = tensor_over(np.arange(6, dtype="int32"))
    shared = np.from_dlpack(tensor)
    del tensor
    gc.collect()
    assert memory() is not None and shared.tolist() == [0, 1, 2, 3, 4, 5]
    del shared
    gc.collect()
    assert memory() is None


@pytest.mark.parametrize("max_version", [None, (0, 8), (1, 0), (2, 1)])
def test_unused_capsules(max_version):
    tensor, memory = tensor_over(np.arange(2, dtype="int32"))
    capsule = tensor.__dlpack__(max_version=max_version)
    is_versioned = max_version is not None and max_version >= (1, 0)
    assert ('"dltensor_versioned"' if is_versioned else '"dltensor"') in repr(capsule)
    del tensor
    gc.collect()
    assert memory() is not None
    del capsule
    gc.collect()
    assert memory() is None


def test_memory_is_released_while_an_exception_propagates():
    def fail(_):
        raise KeyError("own")

    tensor = counted(2)[1]
    for take in (np.from_dlpack, lambda one: one.__dlpack__()):
        with pytest.raises(KeyError, match="own"):
            fail(take(tensor))
        with pytest.raises(AttributeError, match="nothing"):
            take(tensor).nothing  # noqa: B018
        with pytest.raises(TypeError, match="integer"):
            int("x", take(tensor))


def test_devices_of_capsules():
    array = np.arange(2, dtype="float32")
    for version in (None, (1, 0)):
        capsule = _dlpack.capsule_of(array, (2, 3), version)
        view = _dlpack._view_of(capsule)
        assert (view.data, view.device_type, view.device_id) == (array.ctypes.data, 2, 3)


def test_read_only_memory_is_not_handed_out_for_writing():
    array = np.arange(3, dtype="float32")
    array.flags.writeable = False
    tensor = LiteTensor()
    tensor.set_data_by_share(array)
    with pytest.raises(BufferError, match="(?i)read-?only"):
        tensor.__dlpack__()
    shared = np.from_dlpack(tensor)
    assert shared.tolist() == [0, 1, 2] and not shared.flags.writeable
    assert not np.asarray(tensor).flags.writeable
    assert tensor.__dlpack__(copy=True)


def test_unsupported_devices():
    tensor = counted(2)[1]
    assert tensor.__dlpack__(dl_device=(1, 0))
    with pytest.raises(BufferError, match="not handed out on"):
        tensor.__dlpack__(dl_device=(2, 0))
    with pytest.raises(RuntimeError, match="no layout"):
        LiteTensor().__dlpack__()


def test_megengine_shares_the_memory():
    mge = pytest.importorskip("megengine")
    array, tensor = counted(2, 3)
    taken = mge.Tensor(tensor)
    assert taken.numpy().ctypes.data == address_of(tensor)
    np.testing.assert_array_equal((taken + 1).numpy(), array + 1)
    tensor.set_data_by_copy(taken)
    np.testing.assert_array_equal(tensor.to_numpy(), array)
