# SPDX-License-Identifier: Apache-2.0
"""The modes of elementwise operators: values, dtypes, and the places that take their names."""

import math

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine.autodiff import GradManager
from megengine.core.ops.builtin import Elemwise
from megengine.core.ops.elemwise_modes import ARITIES
from megengine.functional.elemwise import _elwise
from megengine.jit import trace

X = np.array([-4, -3, -1, -0.5, 0, 0.25, 1, 2, 3, 6.5], "float32")
Y = np.array([1, -2, 0.5, -1, 2, 0, 1, 3, 3, -0.5], "float32")
Z = np.array([2, 1, -3, -1, 0.5, -2, 1, 4, np.inf, np.nan], "float32")


def _sigmoid(x):
    return 1 / (1 + np.exp(-x))


_erf, _erfc = np.vectorize(math.erf), np.vectorize(math.erfc)


def _normal(x):
    return _erfc(-x / np.sqrt(2)) / 2


VALUES = {
    "ABS_GRAD": (lambda x, y: np.where(x > 0, y, -y), X, Y),
    "CLIP": (np.clip, X, Y, Y + 1),
    "COND_LEQ_MOV": (lambda x, y, z: np.where(x <= y, z, 0), X, Y, Z),
    "COND_LT_MOV": (lambda x, y, z: np.where(x < y, z, 0), X, Y, Z),
    "EQ": (lambda x, y: np.float32(x == y), X, Y),
    "ERFC": (_erfc, X),
    "FUSE_ADD_H_SWISH": (lambda x, y: (x + y) * np.clip(x + y + 3, 0, 6) / 6, X, Y),
    "GELU": (lambda x: x * _normal(x), X),
    "GELU_GRAD": (lambda x, y: y * (_normal(x) + x * np.exp(-x * x / 2) / 2.5066283), X, Y),
    "HSIGMOID": (lambda x: np.clip(x + 3, 0, 6) / 6, X),
    "LEQ": (lambda x, y: np.float32(x <= y), X, Y),
    "LOGSIGMOID": (lambda x: np.log(_sigmoid(x)), X),
    "LT": (lambda x, y: np.float32(x < y), X, Y),
    "PRELU": (lambda x, y: np.where(x > 0, x, x * y), X, Y),
    "RELU6": (lambda x: np.clip(x, 0, 6), X),
    "RELU6_GRAD": (lambda x, y: np.where((x > 0) & (x < 6), y, 0), X, Z),
    "SIGN": (np.sign, X),
    "SOFTPLUS": (lambda x: np.log1p(np.exp(x)), X),
    "SQRT": (np.sqrt, np.abs(X)),
    "SQUARE": (np.square, X),
    "SWITCH_GT0": (lambda x, y: np.where(x > 0, y, 0), X, Z),
    "TAN": (np.tan, X),
}


@pytest.mark.parametrize("mode", sorted(VALUES))
def test_values_as_a_module_traced_and_not(mode):
    function, *operands = VALUES[mode]
    tensors = [mge.Tensor(operand) for operand in operands]
    want = function(*operands)
    for module in (M.Elemwise(mode), M.Elemwise(mode.lower())):
        got = module(*tensors)
        assert got.dtype == np.float32
        np.testing.assert_allclose(got.numpy(), want, rtol=2e-5, atol=1e-6)
    traced = trace(module, symbolic=True, capture_as_const=True)
    for _ in range(2):
        np.testing.assert_allclose(traced(*tensors).numpy(), want, rtol=2e-5, atol=1e-6)


def test_every_mode_is_a_module():
    assert len(ARITIES) == 86
    integers, answers = ("SHL", "SHR", "RMULH"), ("AND", "OR", "XOR", "NOT")
    for mode, count in ARITIES.items():
        dtype = "bool" if mode in answers else "int32" if mode in integers else "float32"
        operands = [mge.Tensor([1, 1], dtype=dtype)] * count
        got = M.Elemwise(mode)(*operands)
        assert got.shape == (2,), mode
        assert got.dtype == (dtype if mode not in ("NEQ", "ISNAN", "ISINF") else np.bool_), mode


def test_invalid_modes_and_operand_counts():
    assert M.Elemwise(Elemwise.Mode.ADD)(mge.Tensor(1), mge.Tensor(2)).item() == 3
    for wrong in ("nope", None, 3):
        with pytest.raises(RuntimeError, match="there is no mode .*; there are ABS"):
            M.Elemwise(wrong)
    with pytest.raises(RuntimeError, match="takes 2 inputs, got 1"):
        M.Elemwise("add")(mge.Tensor([1.0]))


def test_the_complement_of_the_error_function_keeps_its_digits():
    x = np.linspace(-5, 9, 1401, dtype="float32")
    np.testing.assert_allclose(_elwise(mge.Tensor(x), mode="erfc").numpy(), _erfc(x), rtol=2e-5)


def _check_inverse(y, tail):
    """Compares erfc(|y|) with what it should be; an error of y weighs 2 y^2 times as much."""
    y = np.abs(y.astype("float64"))
    np.testing.assert_array_less(np.abs(_erfc(y) / tail - 1), 1e-6 * (1 + 2 * y * y))


def test_inverses_of_error_functions():
    x = np.concatenate([np.linspace(-0.999, 0.999, 801), 1 - 2.0 ** -np.arange(1, 25)])
    x = x.astype("float32")
    got = M.Elemwise("erfinv")(mge.Tensor(x)).numpy()
    np.testing.assert_array_equal(np.sign(got), np.sign(x))
    _check_inverse(got, 1 - np.abs(x.astype("float64")))
    x = np.concatenate([np.linspace(0.001, 1.999, 801), 2.0 ** -np.arange(126)]).astype("float32")
    got = M.Elemwise("erfcinv")(mge.Tensor(x)).numpy()
    np.testing.assert_array_equal(np.sign(got), np.sign(1 - x))
    _check_inverse(got, np.minimum(x, 2 - x.astype("float64")))


def test_inverses_at_their_ends_and_of_half_precision():
    ends = mge.Tensor([-1.0, 1.0, 0.0, 2.0, -3.0, np.nan])
    inf, nan = np.inf, np.nan
    got = [_elwise(ends, mode=mode).numpy() for mode in ("ERFINV", "ERFCINV")]
    np.testing.assert_array_equal(got[0], [-inf, inf, 0, nan, nan, nan])
    np.testing.assert_array_equal(got[1], [nan, 0, inf, -inf, nan, nan])
    for mode, want in (("ERFINV", 0.2253), ("ERFCINV", 0.8134), ("ERFC", 0.7237)):
        got = _elwise(mge.Tensor([0.25], dtype="float16"), mode=mode)
        assert got.dtype == np.float16
        np.testing.assert_allclose(got.numpy(), [want], rtol=1e-3)


def test_gradients_of_inverses_are_finite_and_right():
    for mode, x in (("ERFINV", [-0.999, -0.5, 0.0, 0.7, 0.99]), ("ERFCINV", [1e-9, 0.3, 1.0, 1.9])):
        leaf = mge.Tensor(x)
        with GradManager().attach(leaf) as manager:
            y = _elwise(leaf, mode=mode)
            manager.backward(y)
        slope = np.sqrt(np.pi) / 2 * np.exp(y.numpy().astype("float64") ** 2)
        sign = 1 if mode == "ERFINV" else -1
        np.testing.assert_allclose(leaf.grad.numpy(), sign * slope, rtol=2e-4)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_high_products_are_rounded_and_saturated(dtype):
    limits = np.iinfo(dtype)
    corners = np.array([limits.min, limits.min + 1, -1, 0, 1, 2, limits.max], dtype)
    rng = np.random.default_rng(1)
    x, y = rng.integers(limits.min, limits.max, (2, 200), dtype=dtype, endpoint=True)
    x, y = np.append(x, np.repeat(corners, 7)), np.append(y, np.tile(corners, 7))
    bits = limits.bits - 1
    want = [
        min((int(a) * int(b) + 2 ** (bits - 1)) >> bits, int(limits.max))
        for a, b in zip(x, y, strict=True)
    ]
    got = M.Elemwise("rmulh")(mge.Tensor(x), mge.Tensor(y))
    assert got.dtype == dtype and got.numpy().tolist() == want
    with pytest.raises(RuntimeError, match="RMULH takes integers, got float32"):
        M.Elemwise("rmulh")(mge.Tensor([1.0]), mge.Tensor([1.0]))


def test_modes_keep_the_dtype_of_integers():
    x, y = mge.Tensor([3, -1], dtype="int8"), mge.Tensor([2, 5], dtype="int8")
    for mode, want in (("SWITCH_GT0", [2, 0]), ("LT", [0, 1]), ("SIGMOID_GRAD", [-12, -10])):
        got = M.Elemwise(mode)(x, y)
        assert got.dtype == np.int8 and got.numpy().tolist() == want, mode
    assert _elwise(mge.Tensor([True]), mge.Tensor([True]), mode="EQ").dtype == np.bool_
    assert _elwise(mge.Tensor([1]), 1.5, mode="LT").dtype == np.float32


def test_bounds_in_the_wrong_order():
    got = M.Elemwise("clip")(mge.Tensor([-1.0, 0.3, 2.0]), mge.Tensor(1.0), mge.Tensor(0.0))
    np.testing.assert_array_equal(got.numpy(), [1, 1, 0])
    np.testing.assert_array_equal(F.clip(mge.Tensor([-1.0, 2.0]), 0.0, 1.0).numpy(), [0, 1])
