# SPDX-License-Identifier: Apache-2.0
"""intb1, intb2 and intb4: odd numbers of few bits, as arrays of NumPy and as Tensors."""

import copy
import io
import pickle

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import Parameter, Tensor
from megengine.core._imperative_rt import common
from megengine.core.tensor.dtype import get_dtype_bit, intb1, intb2, intb4, is_lowbit, is_quantize
from megengine.jit import trace

DTYPES = {1: intb1, 2: intb2, 4: intb4}
BITS = pytest.mark.parametrize("bits", DTYPES)
NUMBERS = "int8 uint8 int16 uint16 int32 uint32 int64 uint64 float32 float64".split()


def all_of(bits):
    """All numbers of a dtype as int64."""
    largest = (1 << bits) - 1
    return np.arange(-largest, largest + 1, 2)


@BITS
def test_arrays(bits):
    dtype, numbers = DTYPES[bits], all_of(bits)
    array = np.array(numbers.tolist(), dtype)
    assert array.dtype is dtype and dtype.itemsize == 1 and dtype.name == f"pyintb{bits}"
    assert array.tolist() == numbers.tolist() and array.tobytes() == numbers.astype("i1").tobytes()
    for one, number in zip(array, numbers, strict=True):
        assert one == number and str(one) == str(number) and int(one) == number
        one = dtype.type(one)
        assert type(one) is getattr(common, f"pyintb{bits}") and one == number and one < number + 1
        assert str(one) == repr(one) == str(number) and int(one) == float(one) == number
        assert hash(one) == hash(int(number)) and one == dtype.type(one) and np.array(one) == number
    np.testing.assert_array_equal(np.arange(numbers[0], numbers[-1] + 2, 2, dtype=dtype), array)
    np.testing.assert_array_equal(np.sort(array[::-1].copy()), array)
    assert str(array[:1]) == f"[{numbers[0]}]" and (array == numbers).all()
    assert (array + array).tolist() == (2 * numbers).tolist()
    array[0] = array[-1]
    assert array[0] == numbers[-1]


@BITS
@pytest.mark.parametrize("other", NUMBERS)
def test_conversion_of_arrays(bits, other):
    numbers = all_of(bits)
    numbers = numbers[numbers > 0] if other.startswith("u") else numbers
    array = numbers.astype(other).astype(DTYPES[bits])
    assert array.dtype is DTYPES[bits]
    np.testing.assert_array_equal(array.astype(other), numbers.astype(other))
    for wrong in ([1, 2, 1], [1, 1 + 2**bits]):
        with pytest.raises(ValueError, match="low bit dtype number error"):
            np.array(wrong, other).astype(DTYPES[bits])


@BITS
def test_ranges_go_on_with_the_smallest_number(bits):
    numbers = all_of(bits)
    for step in (2, -2, 4):
        start = numbers[0 if step > 0 else -1]
        if abs(step) == 4 and bits == 1:
            continue
        many = np.arange(start, start + 20 * step, step, dtype=DTYPES[bits])
        assert many.tolist() == np.resize(numbers[:: step // 2], 20).tolist()


def test_numbers_out_of_range():
    for wrong in ([2], [5], [-5], ["a"], [None], [1.5], [2**70], [float("nan")], [float("inf")]):
        with pytest.raises((ValueError, OverflowError)):
            np.array(wrong, intb2)
    for wrong in ([1.5], [np.nan], [np.inf], [-np.inf], [1e30]):
        with pytest.raises(ValueError):
            np.array(wrong, "float32").astype(intb2)
    for numbers in ((-3, 3), (-5, 3, 2), (-3, 9, 5)):
        with pytest.raises(ValueError):
            np.arange(*numbers, dtype=intb2)
    with pytest.raises(ValueError):
        intb2.type(4)
    with pytest.raises(TypeError):
        intb2.type()
    for wrong in (2**64 - 1, 2**64 - 3, 2**63 + 1):
        with pytest.raises(ValueError):
            np.array([wrong], "uint64").astype(intb2)
    array = np.array([1, -1], intb2)
    with pytest.raises(ValueError):
        array[0] = 2
    with pytest.raises(ValueError):
        mge._mge.low_bit_dtype(3)
    with pytest.raises(TypeError):
        array.astype(intb4)


def test_dtype_properties():
    assert all(is_lowbit(dtype) and not is_quantize(dtype) for dtype in DTYPES.values())
    assert not is_lowbit(np.dtype("int8")) and not is_lowbit("intb1")
    assert intb1 != intb2 and intb2 != np.int8 and {intb4: 1}[intb4] == 1
    assert np.dtype(common.pyintb4) is intb4 and common.intb4 is intb4
    assert get_dtype_bit(intb4.name) == 4
    assert common.is_dtype_equal(intb1, intb1) and not common.is_dtype_equal(intb1, intb2)
    with pytest.raises(RuntimeError):
        common.get_scale(intb1)
    assert pickle.loads(pickle.dumps(intb2)) is intb2


@BITS
def test_tensors(bits):
    dtype, numbers = DTYPES[bits], all_of(bits)
    made = [
        Tensor(numbers.astype(dtype)),
        Tensor(numbers.astype(dtype), dtype=dtype, device="xpux"),
        Tensor(numbers.tolist(), dtype=dtype),
        Tensor(numbers.astype("float32"), dtype=dtype),
        Parameter(numbers.astype(dtype)),
        Tensor(Tensor(numbers, dtype=dtype), dtype=dtype),
        copy.deepcopy(Tensor(numbers, dtype=dtype)),
        pickle.loads(pickle.dumps(Tensor(numbers, dtype=dtype))),
        Tensor(numbers, dtype=dtype).astype(dtype),
        Tensor(numbers, dtype=dtype).detach(),
        Tensor(numbers, dtype=dtype).to("cpu1"),
    ]
    for x in made:
        assert x.dtype is dtype and x.shape == numbers.shape and x.numpy().dtype is dtype
        np.testing.assert_array_equal(x.numpy(), numbers)
        assert x.tolist() == numbers.tolist()
        np.testing.assert_array_equal(x.astype("int8").numpy(), numbers)
        np.testing.assert_array_equal(x.astype("float32").numpy(), numbers)
    assert repr(made[0]).startswith("Tensor([") and f"dtype=pyintb{bits}" in repr(made[0])
    assert Tensor(1, dtype=dtype).item() == 1
    with pytest.raises(RuntimeError, match="low bit dtype number error"):
        Tensor([0, 1], dtype=dtype)
    assert Tensor(numbers.astype(dtype), dtype="int8").dtype == np.int8


def test_moved_values():
    array = np.array([[1, -1, 3], [3, 1, -3]], intb2)
    x = Tensor(array)
    moved = [
        (x.reshape(3, 2), array.reshape(3, 2)),
        (x.transpose(1, 0), array.T),
        (F.flatten(x), array.ravel()),
        (F.squeeze(F.expand_dims(x, 0), 0), array),
        (F.broadcast_to(x, (2, 2, 3)), np.broadcast_to(array, (2, 2, 3))),
        (x[0], array[0]),
        (x[:, ::2], array[:, ::2]),
        (x[[1, 0]], array[[1, 0]]),
        (F.concat([x, x]), np.concatenate([array, array])),
        (F.stack([x, x]), np.stack([array, array])),
        (F.split(x, 3, axis=1)[1], array[:, 1:2]),
        (
            F.where(Tensor(array.astype("int8")) > 0, x, x[::-1]),
            np.where(array > 0, array, array[::-1]),
        ),
        (F.copy(x), array),
    ]
    for got, want in moved:
        assert got.dtype is intb2
        np.testing.assert_array_equal(got.numpy(), want)
    other = Tensor(array[0], dtype="int8").astype("int8")
    for work in (
        lambda: x + x,
        lambda: F.relu(x),
        lambda: x.sum(),
        lambda: F.concat([x[0], other]),
        lambda: F.concat([x[0], Tensor([1, 1], dtype=intb4)]),
        lambda: F.matmul(x, x.T),
        lambda: F.full((2,), 1, dtype=intb2),
        lambda: other.astype(intb2),
        lambda: Tensor(x, dtype="int8"),
        lambda: Tensor(x, dtype=intb4),
    ):
        with pytest.raises(RuntimeError):
            work()


def test_files():
    x = Tensor([1, -1, 3], dtype=intb2)
    for options in ({}, {"weights_only": True}):
        file = io.BytesIO()
        mge.save({"x": x, "array": x.numpy()}, file)
        file.seek(0)
        loaded = mge.load(file, **options)
        for y in (loaded["x"].numpy(), loaded["array"]):
            assert y.dtype is intb2 and y.tolist() == [1, -1, 3]


def test_traces():
    @trace(symbolic=True, capture_as_const=True)
    def turned(x):
        return x.reshape(3, 1)

    for _ in range(3):
        y = turned(Tensor([1, -1, 3], dtype=intb2))
        np.testing.assert_array_equal(y.astype("int8").numpy(), [[1], [-1], [3]])
