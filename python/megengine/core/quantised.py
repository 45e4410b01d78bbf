# SPDX-License-Identifier: Apache-2.0
"""Operators on Tensors of quantised dtypes.

The library computes with steps, which are integers. A Tensor of a quantised dtype consists of such
integers and the dtype that maps them to real numbers. Operators with a quantised operand have a
rule here: they work on the steps, or on the real numbers, or raise an error. Plain operands next to
quantised ones are real numbers.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import _mge
from .annotations import Tensor
from .tensor.dtype import (
    QuantDtypeMeta,
    checked_dtype,
    get_scale,
    is_dtype_equal,
    is_quantize,
    qint32,
    quantised_meta,
)


def meta_of(dtype: Any) -> QuantDtypeMeta:
    """The kind of a dtype that is quantised.

    Args:
        dtype: the dtype.
    """
    meta = quantised_meta(dtype)
    assert meta is not None
    return meta


def tensor_dtype(dtype: Any) -> Any:
    """A quantised dtype as Tensors have it, with a float32 scale; None for other dtypes."""
    meta = quantised_meta(dtype)
    if meta is None:
        return None
    about = dict(dtype.metadata["mgb_dtype"])
    about["scale"] = float(np.float32(about["scale"]))
    return np.dtype(meta.np_dtype_str, metadata={"mgb_dtype": about})


def call(op: str, /, *args: Any, **kwargs: Any) -> Any:
    """The result of an operator that has Tensors of quantised dtypes among its operands.

    Raises:
        RuntimeError: the operator does not support them, or their dtypes do not match.
    """
    rule = _RULES.get(op)
    if rule is None:
        raise RuntimeError(
            f"[{op}] has no meaning for Tensors of quantised dtypes; convert them with"
            " astype('float32')"
        )
    return rule(op, args, kwargs)


def zero_point(dtype: Any) -> int:
    """The step that represents 0, for any quantised dtype."""
    return int(dtype.metadata["mgb_dtype"].get("zero_point", 0))


def scale_tensor(dtype: Any, device: Any) -> _mge.Tensor:
    """The scale of a quantised dtype as operators take it."""
    return _mge.Tensor(np.float32(get_scale(dtype)), device=device)


def zero_tensor(dtype: Any, device: Any) -> _mge.Tensor | None:
    """The zero point as an operand; None if it is 0."""
    zero = zero_point(dtype)
    return _mge.Tensor(np.int32(zero), device=device) if zero else None


def to_real(x: Tensor) -> Tensor:
    """The float32 numbers that a Tensor of a quantised dtype represents."""
    dtype, device = x._quantised, x.device
    return _mge.ops.dequantize(x._plain(), scale_tensor(dtype, device), zero_tensor(dtype, device))


def _as_plain(x: Any, dtype: Any) -> Any:
    """A Tensor in another plain dtype; records nothing if it has that dtype already."""
    return x if x.dtype == dtype else _mge.ops.convert(x, dtype=dtype)


def to_steps(x: _mge.Tensor, dtype: Any) -> Tensor:
    """The nearest steps of a quantised dtype to real numbers, a Tensor of that dtype."""
    meta, device = meta_of(dtype), x.device
    steps = _mge.ops.quantize(
        _as_plain(x, np.dtype(np.float32)),
        scale_tensor(dtype, device),
        zero_tensor(dtype, device),
        dtype=meta.np_dtype_str,
        lower=meta.qmin,
        upper=meta.qmax,
    )
    return steps._meant_as(dtype)


def converted(x: Any, dtype: Any) -> Any:
    """``x.astype(dtype)`` where one of the two dtypes is quantised.

    Raises:
        RuntimeError: bool to a quantised dtype, or a dtype that Tensors cannot have.
    """
    if not is_quantize(dtype):
        return _as_plain(to_real(x), checked_dtype(dtype))
    if x._quantised is not None:
        same = is_dtype_equal(x._quantised, tensor_dtype(dtype))
        return x if same else to_steps(to_real(x), dtype)
    if x.dtype == np.bool_:
        raise RuntimeError("[astype] a bool Tensor cannot become one of a quantised dtype")
    return to_steps(x, dtype)


def on_steps(function: Callable[..., Any], x: Tensor, *args: Any, **kwargs: Any) -> Any:
    """Apply a function to the steps of a quantised Tensor; the result keeps the dtype."""
    return function(x._plain(), *args, **kwargs)._meant_as(x._quantised)


def _flat(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[Any]:
    yield from args
    yield from kwargs.values()


def _is_quantised(value: Any) -> bool:
    return isinstance(value, _mge.Tensor) and value._quantised is not None


def _common_dtype(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The one dtype of all quantised operands.

    Raises:
        RuntimeError: there are several.
    """
    dtypes = [value._quantised for value in _flat(args, kwargs) if _is_quantised(value)]
    for other in dtypes[1:]:
        if not _go_together(dtypes[0], other):
            raise RuntimeError(
                f"[{op}] takes Tensors of one quantised dtype, got"
                f" {shown(dtypes[0])} and {shown(other)}; convert one with astype"
            )
    return dtypes[0]


def _go_together(a: Any, b: Any) -> bool:
    return (
        meta_of(a) is meta_of(b)
        and zero_point(a) == zero_point(b)
        and abs(get_scale(a) - get_scale(b)) < 1e-6
    )


def shown(dtype: Any) -> str:
    """A dtype with scale and zero point, for messages."""
    if not is_quantize(dtype):
        return str(dtype)
    about = dict(dtype.metadata["mgb_dtype"])
    return f"{about.pop('name')}({', '.join(str(value) for value in about.values())})"


def _is_real(value: Any) -> bool:
    """Whether a plain operand consists of real numbers, and is not an index, a mask or a size."""
    return hasattr(value, "dtype") and np.issubdtype(value.dtype, np.floating)


def _steps_of(value: Any, dtype: Any) -> Any:
    if _is_quantised(value):
        return value._plain()
    return to_steps(_mge.Tensor(value), dtype)._plain() if _is_real(value) else value


def _apply(op: str, args: tuple[Any, ...], kwargs: dict[str, Any], plain: Any) -> Any:
    kwargs = {name: plain(value) for name, value in kwargs.items()}
    return getattr(_mge.ops, op)(*(plain(value) for value in args), **kwargs)


def _carrying(result: Any, dtype: Any) -> Any:
    if isinstance(result, tuple):
        return tuple(_carrying(tensor, dtype) for tensor in result)
    return result._meant_as(dtype)


def _moved(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Steps that are chosen, moved or compared, not computed with."""
    dtype = _common_dtype(op, args, kwargs)
    return _carrying(_apply(op, args, kwargs, lambda value: _steps_of(value, dtype)), dtype)


def _exchanged(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Steps go to other processes as they are, and are compared; they are not added up."""
    mode = kwargs.get("mode", "all_reduce_sum")
    if mode.endswith("_sum"):
        raise RuntimeError(
            f"[{mode}] has no meaning for Tensors of {shown(args[0]._quantised)}; convert them with"
            " astype('float32')"
        )
    return _moved(op, args, kwargs)


def _with_places(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operators that return steps and their indices, which are plain."""
    steps, places = getattr(_mge.ops, op)(args[0]._plain(), *args[1:], **kwargs)
    return steps._meant_as(args[0]._quantised), places


def _looked_at(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operators whose results are not values of the operand: shapes and indices."""
    return getattr(_mge.ops, op)(args[0]._plain(), *args[1:], **kwargs)


def _symmetric_dtype(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    dtype = _common_dtype(op, args, kwargs)
    if meta_of(dtype).is_unsigned:
        raise RuntimeError(f"[{op}] has no meaning for Tensors of {shown(dtype)}; convert them")
    return dtype


def _operand_steps(value: Any, dtype: Any, device: Any) -> Any:
    """Steps of an operand of elementwise arithmetic: plain ones are real numbers."""
    if _is_quantised(value):
        return value._plain()
    plain = value if isinstance(value, _mge.Tensor) else _mge.Tensor(value, device=device)
    return to_steps(plain, dtype)._plain()


def _arithmetic(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Sums and differences of steps, which stay in the range of the dtype."""
    dtype = _symmetric_dtype(op, args, kwargs)
    meta = meta_of(dtype)
    device = next(value.device for value in _flat(args, kwargs) if _is_quantised(value))
    steps = [_operand_steps(value, dtype, device) for value in _flat(args, kwargs)]
    if meta.np_dtype_str != "int32":
        steps = [_mge.ops.convert(value, dtype="int32") for value in steps]
    result = getattr(_mge.ops, op)(*steps)
    if meta.np_dtype_str != "int32":
        result = _in_range(result, meta)
    return result._meant_as(dtype)


def _in_range(steps: Tensor, meta: Any) -> Tensor:
    clipped = _mge.ops.clip(steps, lower=float(meta.qmin), upper=float(meta.qmax))
    return _mge.ops.convert(clipped, dtype=meta.np_dtype_str)


def _summed(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    dtype = args[0]._quantised
    steps, zero = _mge.ops.convert(args[0]._plain(), dtype="int32"), zero_point(dtype)
    result = _mge.ops.sum(steps - zero, *args[1:], **kwargs) + zero
    return _in_range(result, meta_of(dtype))._meant_as(dtype)


def _multiplied(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Products of the steps themselves, in 32 bits only, as the reference computes them."""
    if meta_of(args[0]._quantised).np_dtype_str != "int32":
        raise RuntimeError(f"[{op}] has no meaning for Tensors of {shown(args[0]._quantised)}")
    return _moved(op, args, kwargs)


def _of_reals(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return getattr(_mge.ops, op)(to_real(args[0]), *args[1:], **kwargs)


def _largest(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Maximum of the steps in each window."""
    dtype = args[0]._quantised
    steps = getattr(_mge.ops, op)(_mge.ops.convert(args[0]._plain(), dtype="float32"), **kwargs)
    return _in_range(steps, meta_of(dtype))._meant_as(dtype)


def _pooled(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    """Means over windows, rounded to steps; halves are rounded away from 0, for unsigned steps
    up."""
    dtype = args[0]._quantised
    zero = zero_point(dtype)
    steps = _mge.ops.convert(args[0]._plain(), dtype="float32") - float(zero)
    means = getattr(_mge.ops, op)(steps, **kwargs) + float(zero)
    return _in_range(_mge.ops.round(means), meta_of(dtype))._meant_as(dtype)


def _filled(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    dtype = args[0]._quantised
    return to_steps(
        _mge.ops.full_like(
            _mge.ops.convert(args[0]._plain(), dtype="float32"), *args[1:], **kwargs
        ),
        dtype,
    )


def _product(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Exact sums of products, qint32 with the product of the scales."""
    a, b = args[0], args[1]
    if not _is_quantised(a) or not _is_quantised(b):
        raise RuntimeError(f"[{op}] takes two Tensors of quantised dtypes, or none")
    kinds = {meta_of(x._quantised).name for x in (a, b)}
    if kinds not in ({"qint8"}, {"quint8"}):
        raise RuntimeError(
            f"[{op}] takes two Tensors of qint8 or two of quint8, got {shown(a._quantised)} and"
            f" {shown(b._quantised)}"
        )
    centred = [_centred_steps(x) for x in (a, b)]
    bias = args[2] if len(args) > 2 else kwargs.pop("bias", None)
    sums = _mge.ops.matmul(*centred, **kwargs)
    product = sums._meant_as(product_dtype(a._quantised, b._quantised))
    return product if bias is None else product + bias


def _centred_steps(x: Tensor) -> Tensor:
    zero = zero_point(x._quantised)
    return _mge.ops.convert(x._plain(), dtype="int16") - zero if zero else x._plain()


def product_dtype(a: Any, b: Any) -> Any:
    """The qint32 dtype of products of values of two quantised dtypes."""
    return qint32(np.float32(get_scale(a)) * np.float32(get_scale(b)))


def _converted(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return converted(args[0], kwargs.get("dtype", "float32"))


_MOVING = (
    "add_axis broadcast_like broadcast_to concat copy flatten flip gather"
    " indexing_one_hot indexing_set_one_hot max min pad remove_axis reshape reshape_like"
    " scatter set_slice set_take slice split take to_device transpose wait_for where"
).split()

_RULES = {
    **dict.fromkeys(_MOVING, _moved),
    **dict.fromkeys(("add", "maximum", "minimum", "neg", "relu", "sub"), _arithmetic),
    **dict.fromkeys(("argmax", "argmin", "shape_of"), _looked_at),
    **dict.fromkeys(("adaptive_avg_pool2d", "avg_pool2d"), _pooled),
    **dict.fromkeys(("adaptive_max_pool2d", "max_pool2d"), _largest),
    **dict.fromkeys(("cond_take", "sort", "topk"), _with_places),
    "collective": _exchanged,
    "convert": _converted,
    "full_like": _filled,
    "matmul": _product,
    "mean": _of_reals,
    "prod": _multiplied,
    "sum": _summed,
}
