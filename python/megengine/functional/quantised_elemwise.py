# SPDX-License-Identifier: Apache-2.0
"""Elementwise functions of quantised Tensors by their modes: on the real numbers, then rounded."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _mge
from ..core.ops.elemwise_modes import FUNCTIONS
from ..core.ops.error_functions import Function
from ..core.quantised import meta_of, scale_tensor, to_real, to_steps, zero_tensor
from ..core.tensor.dtype import is_quantize, quantised_meta
from ..tensor import Tensor

_ops = _mge.ops
_QUESTIONS: dict[str, Function] = {
    "EQ": _ops.equal,
    "NEQ": _ops.not_equal,
    "LT": _ops.less,
    "LEQ": _ops.less_equal,
    "ISNAN": _ops.isnan,
    "ISINF": _ops.isinf,
}


def _elemwise_multi_type(*args: Tensor, mode: str, dtype: Any) -> Tensor:
    """An elementwise function of the real numbers of quantised Tensors, or a question about plain
    ones.

    Args:
        args: Tensors of one quantised type, whose scales may differ; they are broadcast.
        mode: its name with a ``q`` before it, in any case, for example ``"qadd"``; or ``"eq"``,
            ``"neq"``, ``"lt"``, ``"leq"``, ``"isnan"`` or ``"isinf"`` for plain Tensors.
        dtype: the quantised dtype of the result; bool for comparisons and predicates.
    Returns:
        Tensor of that dtype, rounded to the nearest steps.
    Raises:
        RuntimeError: there is no such mode, the dtypes are not quantised or of several types, or
            the dtype of a comparison is not bool.
    Example:
        >>> from megengine.core.tensor.dtype import qint8
        >>> x = Tensor([0.5, 1.0]).astype(qint8(0.5))
        >>> _elemwise_multi_type(x, x, mode="qadd", dtype=qint8(1.0))
        Tensor([1 2], dtype=int8, device=xpux:0)
    """
    if mode.upper() in _QUESTIONS:
        if np.dtype(dtype) != np.bool_:
            raise RuntimeError(f"[elemwise] mode {mode} answers in bool, not in {dtype}")
        return _QUESTIONS[mode.upper()](*args)
    function = FUNCTIONS.get(mode.upper()[1:]) if mode[:1] in "qQ" else None
    if function is None:
        raise RuntimeError(
            f"[elemwise] there is no mode {mode!r}; there are {', '.join(_QUESTIONS)},"
            f" q{', q'.join(FUNCTIONS)}"
        )
    if not is_quantize(dtype):
        raise RuntimeError(f"[elemwise] the result must be of a quantised dtype, not {dtype}")
    if len({quantised_meta(x.dtype) for x in args} | {None}) != 2:
        raise RuntimeError(f"[elemwise] mode {mode} takes Tensors of one kind of quantised dtypes")
    if mode.upper() in ("QADD", "QFUSE_ADD_RELU") and _are_bytes_of_one_shape(args, dtype):
        return _sum(args[0], args[1], dtype, mode.upper() != "QADD")
    return to_steps(function(*(to_real(x) for x in args)), dtype)


def _are_bytes_of_one_shape(args: Sequence[Tensor], dtype: Any) -> bool:
    a, b = args
    return a.dtype.itemsize == dtype.itemsize == 1 and a._tuple_shape == b._tuple_shape


def _sum(a: Tensor, b: Tensor, dtype: Any, relu: bool) -> Tensor:
    """The same in one step."""
    meta, dtypes = meta_of(dtype), (a.dtype, b.dtype, dtype)
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
