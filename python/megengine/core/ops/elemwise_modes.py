# SPDX-License-Identifier: Apache-2.0
"""The elementwise operators behind MegEngine's mode names."""

from typing import Any

import numpy as np

from ... import _mge
from ..annotations import Tensor
from ..counted import counted
from ..operands import Operand
from .error_functions import Function, erfc, erfcinv, erfinv

_ops = _mge.ops


def _fast_tanh(x: Tensor) -> Tensor:
    square = x * x
    return x * (27.0 + square) / (27.0 + 9.0 * square)


def _fast_tanh_grad(x: Tensor, dy: Tensor) -> Tensor:
    square = x * x
    root = (9.0 - square) / (9.0 + 3.0 * square)
    return root * root * dy


def _hswish_grad(x: Tensor, dy: Tensor) -> Tensor:
    slope = _ops.where(x < -3.0, 0.0, (2.0 * x + 3.0) / 6.0)
    return _ops.where(x > 3.0, 1.0, slope) * dy


def _silu_grad(x: Tensor, dy: Tensor) -> Tensor:
    y = _ops.sigmoid(x)
    return dy * y * (1.0 + x * (1.0 - y))


def _moved_where(mask: Tensor, x: Operand) -> Tensor:
    return _ops.where(mask, x, 0)


def _as_number(compare: Function) -> Function:
    """A comparison whose result is 1 or 0 in the dtype of its operands."""

    def answered(x: Tensor, y: Tensor) -> Tensor:
        answer = compare(x, y)
        return answer.astype(_ops.where(answer, x, y).dtype)

    return answered


def _clip(x: Operand, lower: Operand, upper: Operand) -> Tensor:
    """``x`` between two bounds. If the bounds cross, the lower one is checked first; NaN gives the
    upper one. The gradient of an element on a bound is that of ``x``."""
    limited = _ops.where(_ops.less_equal(x, upper), x, upper)
    return _ops.where(_ops.less_equal(x, lower), _ops.maximum(x, lower), limited)


def _rounded_high_product(x: Tensor, y: Tensor) -> Tensor:
    """x y / 2^b of integers with b bits besides the sign, rounded to the nearest, halves up.

    The largest integer if both are the lowest, of unsigned ones too, as in MegEngine.
    """
    dtype = _ops.add(x, y).dtype
    if dtype.kind not in "iu":
        raise RuntimeError(f"[Elemwise] mode RMULH takes integers, got {dtype}")
    limits = np.iinfo(dtype)
    bits = int(limits.max).bit_length()
    if bits < 31:
        product = x.astype("int32") * y.astype("int32") + 2 ** (bits - 1)
        rounded = _ops.right_shift(product, bits).astype(dtype)
    else:
        rounded = _rounded_high_product_of_32_bits(x, y)
    overflows = _ops.logical_and(_ops.equal(x, limits.min), _ops.equal(y, limits.min))
    return _ops.where(overflows, limits.max, rounded)


def _rounded_high_product_of_32_bits(x: Tensor, y: Tensor) -> Tensor:
    """(x y + 2^30) / 2^31 without a wider integer, for x or y above the lowest.

    With x = 2^15 a + b and y = 2^15 c + d: x y = 2^30 a c + 2^15 (a d + b c) + b d.
    """
    mask = 2**15 - 1
    a, c = _ops.right_shift(x, 15), _ops.right_shift(y, 15)
    b, d = (_ops.bitwise_and(v, mask) for v in (x, y))
    parts = (a * d, b * c, _ops.right_shift(b * d, 15))
    low = _ops.right_shift(sum(_ops.bitwise_and(part, mask) for part in parts), 15)
    # (a c + 1 + middle) / 2, where a c takes 33 bits
    middle = sum(_ops.right_shift(part, 15) for part in parts) + low
    half, odd = _ops.right_shift(a, 1), _ops.bitwise_and(a, 1)
    return half * c + _ops.right_shift(odd * c + middle + 1, 1)


def _between(x: Tensor, lower: Operand, upper: Operand) -> Tensor:
    return _ops.logical_and(x > lower, x < upper)


UNARY: dict[str, Function] = {
    "ABS": _ops.abs,
    "ACOS": _ops.acos,
    "ACOSH": _ops.acosh,
    "ASIN": _ops.asin,
    "ASINH": _ops.asinh,
    "ATANH": _ops.atanh,
    "CEIL": _ops.ceil,
    "COS": _ops.cos,
    "COSH": _ops.cosh,
    "ERF": _ops.erf,
    "ERFC": erfc,
    "ERFCINV": erfcinv,
    "ERFINV": erfinv,
    "EXP": _ops.exp,
    "EXPM1": _ops.expm1,
    "FAST_TANH": _fast_tanh,
    "FLOOR": _ops.floor,
    "GELU": _ops.gelu,
    "HSIGMOID": _ops.hsigmoid,
    "H_SWISH": _ops.hswish,
    "ISINF": _ops.isinf,
    "ISNAN": _ops.isnan,
    "LOG": _ops.log,
    "LOG1P": _ops.log1p,
    "LOGSIGMOID": _ops.logsigmoid,
    "NEGATE": _ops.neg,
    "NOT": _ops.logical_not,
    "RELU": _ops.relu,
    "RELU6": _ops.relu6,
    "ROUND": _ops.round,
    "SIGMOID": _ops.sigmoid,
    "SIGN": _ops.sign,
    "SILU": _ops.silu,
    "SIN": _ops.sin,
    "SINH": _ops.sinh,
    "SOFTPLUS": _ops.softplus,
    "SQRT": _ops.sqrt,
    "SQUARE": _ops.square,
    "TAN": _ops.tan,
    "TANH": _ops.tanh,
}

BINARY: dict[str, Function] = {
    "ABS_GRAD": lambda x, dy: _ops.where(x > 0.0, dy, -dy),
    "ACOSH_GRAD": lambda x, dy: dy / _ops.sqrt(x * x - 1.0),
    "ADD": _ops.add,
    "AND": _ops.logical_and,
    "ASINH_GRAD": lambda x, dy: dy / _ops.sqrt(x * x + 1.0),
    "ATAN2": _ops.atan2,
    "ATANH_GRAD": lambda x, dy: dy / (1.0 - x * x),
    "EQ": _as_number(_ops.equal),
    "FAST_TANH_GRAD": _fast_tanh_grad,
    "FLOOR_DIV": _ops.floor_div,
    "FUSE_ADD_H_SWISH": lambda x, y: _ops.hswish(x + y),
    "FUSE_ADD_RELU": lambda x, y: _ops.relu(x + y),
    "FUSE_ADD_SIGMOID": lambda x, y: _ops.sigmoid(x + y),
    "FUSE_ADD_TANH": lambda x, y: _ops.tanh(x + y),
    "GELU_GRAD": lambda x, dy: _ops.gelu_slope(x) * dy,
    "HSIGMOID_GRAD": lambda x, dy: _moved_where(_between(x, -3.0, 3.0), dy / 6.0),
    "H_SWISH_GRAD": _hswish_grad,
    "LEQ": _as_number(_ops.less_equal),
    "LOG_SUM_EXP": _ops.logaddexp,
    "LT": _as_number(_ops.less),
    "MAX": _ops.maximum,
    "MIN": _ops.minimum,
    "MOD": _ops.mod,
    "MUL": _ops.mul,
    "NEQ": _ops.not_equal,
    "OR": _ops.logical_or,
    "POW": _ops.pow,
    "RMULH": _rounded_high_product,
    "PRELU": lambda x, slope: _ops.where(x > 0.0, x, x * slope),
    "RELU6_GRAD": lambda x, dy: _moved_where(_between(x, 0.0, 6.0), dy),
    "SHL": _ops.left_shift,
    "SHR": _ops.right_shift,
    "SIGMOID_GRAD": lambda y, dy: y * (1 - y) * dy,
    "SILU_GRAD": _silu_grad,
    "SOFTPLUS_GRAD": lambda x, dy: _ops.sigmoid(x) * dy,
    "SUB": _ops.sub,
    "SWITCH_GT0": lambda x, dy: _moved_where(x > 0.0, dy),
    "TANH_GRAD": lambda y, dy: (1 - y * y) * dy,
    "TRUE_DIV": _ops.div,
    "XOR": _ops.logical_xor,
}

TERNARY: dict[str, Function] = {
    "CLIP": _clip,
    "COND_LEQ_MOV": lambda x, y, z: _moved_where(x <= y, z),
    "COND_LT_MOV": lambda x, y, z: _moved_where(x < y, z),
    "FUSE_MUL_ADD3": lambda x, y, z: x * y + z,
    "PRELU_GRAD": lambda x, dy, slope: _ops.where(x > 0.0, dy, dy * slope),
}

QUATERNARY: dict[str, Function] = {"FUSE_MUL_ADD4": lambda x, y, z, w: x * y + z * w}

ARITIES = {
    mode: count
    for count, table in enumerate((UNARY, BINARY, TERNARY, QUATERNARY), 1)
    for mode in table
}
FUNCTIONS = UNARY | BINARY | TERNARY | QUATERNARY


def mode_of(name: Any) -> str:
    """Returns the mode for a name in any case.

    Raises:
        RuntimeError: there is no such mode.
    """
    mode = name.upper() if isinstance(name, str) else name
    if mode not in FUNCTIONS:
        known = ", ".join(sorted(FUNCTIONS))
        raise RuntimeError(f"[Elemwise] there is no mode {name!r}; there are {known}")
    return mode


def elementwise(mode: str, *inputs: Any) -> Tensor:
    """Applies the function of a mode.

    Args:
        mode: its name, in any case.
        inputs: the operands.
    Raises:
        RuntimeError: there is no such mode, or it has another number of inputs.
    """
    mode = mode_of(mode)
    wanted = ARITIES[mode]
    if len(inputs) != wanted:
        raise RuntimeError(
            f"[Elemwise] mode {mode} takes {counted(wanted, 'input')}, got {len(inputs)}"
        )
    return FUNCTIONS[mode](*inputs)
