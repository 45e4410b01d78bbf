# SPDX-License-Identifier: Apache-2.0
"""Dtypes of new Tensors: names, types and NumPy dtypes are treated alike."""

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F

MAKERS = {
    "arange": lambda dtype: F.arange(3, dtype=dtype),
    "eye": lambda dtype: F.eye(2, dtype=dtype),
    "full": lambda dtype: F.full((2,), 1, dtype=dtype),
    "full of a Tensor": lambda dtype: F.full((2,), mge.tensor(1), dtype=dtype),
    "full of a list": lambda dtype: F.full((2,), [1, 2], dtype=dtype),
    "linspace": lambda dtype: F.linspace(0, 1, 3, dtype=dtype),
    "logspace": lambda dtype: F.logspace(0, 1, 3, dtype=dtype),
    "ones": lambda dtype: F.ones(2, dtype=dtype),
    "tensor": lambda dtype: mge.tensor([1, 2], dtype=dtype),
    "zeros": lambda dtype: F.zeros((2, 3), dtype=dtype),
}


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("dtype", ["int64", np.int64, int, "int", "float64", np.float64, float])
def test_dtypes_of_64_bits_are_refused_by_name(name, dtype):
    # np.dtype(int) has 64 bits on the platforms that are supported.
    with pytest.raises(RuntimeError, match=f"{np.dtype(dtype).name}.*allowed are.*int32"):
        MAKERS[name](dtype)


@pytest.mark.parametrize("name", MAKERS)
@pytest.mark.parametrize("dtype", ["int32", "uint8", "float16", "float32"])
def test_a_name_means_what_its_numpy_dtype_means(name, dtype):
    for given in (dtype, np.dtype(dtype), getattr(np, dtype)):
        assert MAKERS[name](given).dtype == np.dtype(dtype)
