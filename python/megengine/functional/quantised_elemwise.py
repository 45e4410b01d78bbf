# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of quantised Tensors by their modes: on the real numbers, then rounded."""

from .. import _mge
from ..core.quantised import scale_tensor, to_real, to_steps, zero_tensor
from ..core.tensor.dtype import is_quantize, quantised_meta
from ..tensor import Tensor

_ops = _mge.ops


def _fast_tanh(x):
    square = x * x
    return x * (27.0 + square) / (27.0 + 9.0 * square)


def _fast_tanh_grad(x, dy):
    square = x * x
    root = (9.0 - square) / (9.0 + 3.0 * square)
    return root * root * dy


def _hswish_grad(x, dy):
    slope = _ops.where(x < -3.0, 0.0 * x, (2.0 * x + 3.0) / 6.0)
    return _ops.where(x > 3.0, 0.0 * x + 1.0, slope) * dy


def _moved_where(mask, x):
    return _ops.where(mask, x, 0.0 * x)


_MODES = {
    "ABS": _ops.abs,
    "ABS_GRAD": lambda x, dy: _ops.where(x > 0.0, dy, -dy),
    "ACOS": _ops.acos,
    "ADD": _ops.add,
    "ASIN": _ops.asin,
    "ATAN2": _ops.atan2,
    "CEIL": _ops.ceil,
    "COND_LEQ_MOV": lambda x, y, z: _moved_where(x <= y, z),
    "COND_LT_MOV": lambda x, y, z: _moved_where(x < y, z),
    "COS": _ops.cos,
    "EQ": _ops.equal,
    "ERF": _ops.erf,
    "ERFC": lambda x: 1.0 - _ops.erf(x),
    "EXP": _ops.exp,
    "EXPM1": _ops.expm1,
    "FAST_TANH": _fast_tanh,
    "FAST_TANH_GRAD": _fast_tanh_grad,
    "FLOOR": _ops.floor,
    "FLOOR_DIV": _ops.floor_div,
    "FUSE_ADD_H_SWISH": lambda x, y: _ops.hswish(x + y),
    "FUSE_ADD_RELU": lambda x, y: _ops.relu(x + y),
    "FUSE_ADD_SIGMOID": lambda x, y: _ops.sigmoid(x + y),
    "FUSE_ADD_TANH": lambda x, y: _ops.tanh(x + y),
    "FUSE_MUL_ADD3": lambda x, y, z: x * y + z,
    "H_SWISH": _ops.hswish,
    "H_SWISH_GRAD": _hswish_grad,
    "LEQ": _ops.less_equal,
    "LOG": _ops.log,
    "LOG1P": _ops.log1p,
    "LOG_SUM_EXP": _ops.logaddexp,
    "LT": _ops.less,
    "MAX": _ops.maximum,
    "MIN": _ops.minimum,
    "MOD": _ops.mod,
    "MUL": _ops.mul,
    "NEGATE": _ops.neg,
    "POW": _ops.pow,
    "RELU": _ops.relu,
    "ROUND": _ops.round,
    "SIGMOID": _ops.sigmoid,
    "SIGMOID_GRAD": lambda y, dy: y * (1.0 - y) * dy,
    "SIN": _ops.sin,
    "SUB": _ops.sub,
    "SWITCH_GT0": lambda x, dy: _moved_where(x > 0.0, dy),
    "TANH": _ops.tanh,
    "TANH_GRAD": lambda y, dy: (1.0 - y * y) * dy,
    "TRUE_DIV": _ops.div,
}


def _elemwise_multi_type(*args: Tensor, mode: str, dtype) -> Tensor:
    """An elementwise function of the real numbers of quantised Tensors.

    Args:
        args: of one kind of quantised dtypes, whose scales may differ; they are broadcast.
        mode: its name with a ``q`` before it, in any case, for example ``"qadd"``.
        dtype: the quantised dtype of the result.
    Returns:
        Tensor of that dtype: the nearest steps.
    Raises:
        RuntimeError: there is no such mode, or the dtypes are not quantised or of several kinds.
    Example:
        >>> from megengine.core.tensor.dtype import qint8
        >>> x = Tensor([0.5, 1.0]).astype(qint8(0.5))
        >>> _elemwise_multi_type(x, x, mode="qadd", dtype=qint8(1.0))
        Tensor([1 2], dtype=int8, device=xpux:0)
    """
    function = _MODES.get(mode.upper()[1:]) if mode[:1] in "qQ" else None
    if function is None:
        raise RuntimeError(f"[elemwise] there is no mode {mode!r}; there are q{', q'.join(_MODES)}")
    if not is_quantize(dtype):
        raise RuntimeError(f"[elemwise] the result has to be of a quantised dtype, not {dtype}")
    if len({quantised_meta(x.dtype) for x in args} | {None}) != 2:
        raise RuntimeError(f"[elemwise] mode {mode} takes Tensors of one kind of quantised dtypes")
    if mode.upper() in ("QADD", "QFUSE_ADD_RELU") and _are_bytes_of_one_shape(args, dtype):
        return _sum(*args, dtype, mode.upper() != "QADD")
    return to_steps(function(*(to_real(x) for x in args)), dtype)


def _are_bytes_of_one_shape(args, dtype) -> bool:
    a, b = args
    return a.dtype.itemsize == dtype.itemsize == 1 and a._tuple_shape == b._tuple_shape


def _sum(a: Tensor, b: Tensor, dtype, relu: bool) -> Tensor:
    """The same in one step."""
    meta, dtypes = quantised_meta(dtype), (a.dtype, b.dtype, dtype)
    steps = _ops.quantized_add(
        a._plain(),
        b._plain(),
        *(scale_tensor(each, a.device) for each in dtypes),
        *(zero_tensor(each, a.device) for each in dtypes),
        relu=relu,
        dtype=meta.np_dtype_str,
        lower=meta.qmin,
        upper=meta.qmax,
    )
    return steps._meant_as(dtype)
