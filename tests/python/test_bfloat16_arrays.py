# SPDX-License-Identifier: Apache-2.0
"""bfloat16 as a dtype of NumPy's arrays."""

import copy
import pickle

import numpy as np
import pytest

import megengine as mge
from megengine import Tensor
from megengine.core import _imperative_rt
from megengine.core.tensor.dtype import bfloat16, is_bfloat16

NUMBERS = "bool i1 u1 i2 u2 i4 u4 i8 u8 f2 f4 f8".split()
# Numbers, and what remains of them in 8 bits; halves are rounded to even.
ROUNDED = [(0.1, 0.10009765625), (-3.14159, -3.140625), (1 + 2**-8, 1), (1 + 3 * 2**-8, 1 + 2**-6)]


def test_numbers_are_rounded():
    array = np.array([number for number, _ in ROUNDED], bfloat16)
    assert array.dtype is bfloat16 and array.tolist() == [rounded for _, rounded in ROUNDED]
    assert type(array[0]) is float and array.itemsize == 2
    special = np.array([np.nan, np.inf, -np.inf, 1e39, -0.0], bfloat16).tolist()
    assert np.isnan(special[0]) and special[1:] == [np.inf, -np.inf, np.inf, 0]
    for wrong in ([None], [[]][0:1], [1j], ["x"]):
        with pytest.raises((TypeError, ValueError)):
            np.array([wrong], bfloat16).reshape(())[()]


@pytest.mark.parametrize("code", NUMBERS)
def test_conversion(code):
    values = np.array([0, 1, 3, 100] if code != "bool" else [False, True]).astype(code)
    halves = values.astype(bfloat16)
    assert halves.dtype is bfloat16 and halves.tolist() == values.tolist()
    np.testing.assert_array_equal(halves.astype(code), values)
    assert halves.astype(code).dtype == values.dtype


def test_numbers_that_integers_lack():
    halves = np.array([-1, 2.75, 300, np.nan, np.inf, -(2.0**63), 2.0**63, 2.0**64], bfloat16)
    with np.errstate(invalid="ignore"):  # NumPy warns about NaN
        assert halves.astype("u1").tolist() == [255, 2, 44, 0, 0, 0, 0, 0]
        assert halves.astype("i8").tolist()[-3:] == [-(2**63), -(2**63), 0]
        assert halves.astype("u8").tolist()[-2:] == [2**63, 0]
    assert halves.astype(bool).all()


def test_functions_of_numpy():
    array = np.array([1.5, -2.25, 3], bfloat16)
    assert (array + array).tolist() == [3, -4.5, 6] and (array + array).dtype == np.float64
    assert (array == array).all() and (array < 2).tolist() == [True, True, False]
    assert np.sort(array).tolist() == [-2.25, 1.5, 3] and array.sum() == 2.25
    assert np.sort(np.array([np.nan, 1, -np.inf], bfloat16)).tolist()[:2] == [-np.inf, 1]
    assert np.concatenate([array, array])[[1, 5]].tolist() == [-2.25, 3]
    assert array[array > 0].tolist() == [1.5, 3] and np.nonzero(array - 3)[0].tolist() == [0, 1]
    assert np.arange(0, 2, 0.5, dtype=bfloat16).tolist() == [0, 0.5, 1, 1.5]
    assert (
        np.zeros(2, bfloat16).tolist() == [0, 0] and np.full(2, 0.1, bfloat16)[1] == ROUNDED[0][1]
    )
    assert str(array) == "[1.5 -2.25 3.0]" and array[::-1].copy().tolist() == [3, -2.25, 1.5]
    np.testing.assert_allclose(array, np.array([1.5, -2.25, 3], np.float32))
    array[0] = 7
    assert array.tobytes()[:2] == np.array([7], np.float32).tobytes()[2:]


def test_scalars():
    kind = _imperative_rt.pybfloat16
    one = kind(1.1)
    assert bfloat16.type is kind and np.dtype(kind) is bfloat16
    assert float(one) == 1.1015625 and int(one) == 1 and repr(one) == str(one) == "1.1015625"
    assert one == 1.1015625 and one < kind(2) and hash(one) == hash(1.1015625)
    for wrong in ((), ("x",), (None,)):
        with pytest.raises((TypeError, ValueError)):
            kind(*wrong)


def test_the_dtype():
    swapped = bfloat16.newbyteorder(">")
    assert all(map(is_bfloat16, (bfloat16, swapped, "bfloat16", bfloat16.type)))
    assert not any(map(is_bfloat16, (np.uint16, np.dtype("u2"), np.dtype("V2"), "V2", None, float)))
    array = np.array([1.5, -2.25], bfloat16)
    other = array.astype(swapped)
    assert other.tobytes() == array.view("u2").byteswap().tobytes() and other.tolist() == [
        1.5,
        -2.25,
    ]
    other[0] = 3
    assert other.astype("f4").tolist() == Tensor(other).astype("float32").tolist() == [3, -2.25]
    for again in (pickle.loads(pickle.dumps(array)), copy.deepcopy(array)):
        assert again.dtype is bfloat16 and again.tolist() == [1.5, -2.25]


def test_tensors():
    array = np.array([[1.5, -2.25]], bfloat16)
    for x in (
        Tensor(array),
        Tensor(array, dtype=bfloat16),
        Tensor([[1.5, -2.25]], dtype="bfloat16"),
    ):
        assert x.dtype is bfloat16 and x.numpy().dtype is bfloat16
        assert x.numpy().tolist() == x.tolist() == [[1.5, -2.25]] and x[0, 1].item() == -2.25
    assert Tensor(array, dtype="float32").tolist() == [[1.5, -2.25]]
    assert Tensor(array, dtype="int32").tolist() == [[1, -2]]
    assert (Tensor(array) + array).dtype is bfloat16 and mge.functional.concat(
        [array, array]
    ).shape == (2, 2)
    x = Tensor(np.zeros((2, 2), np.float32))
    x[1] = array[0]
    assert x.tolist() == [[0, 0], [1.5, -2.25]]
