# SPDX-License-Identifier: Apache-2.0
"""Operators on Tensors of complex numbers.

The library computes with floats. A complex Tensor consists of float32 pairs along an extra axis,
the real and imaginary parts, and a complex dtype. Operators with a complex operand are implemented
here. Graphs, traces and files contain only the pairs.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _mge
from .annotations import Tensor
from .nesting import array_of


def pairs_of(data: Any) -> np.ndarray:
    """Numbers as float32 pairs along one axis more.

    Args:
        data: a value that NumPy converts to an array.
    """
    return np.array(array_of(data, "tensor"), np.complex64, order="C")[..., np.newaxis].view(
        np.float32
    )


def call(op: str, /, *args: Any, **kwargs: Any) -> Any:
    """The result of an operator that has complex Tensors among its operands.

    Raises:
        RuntimeError: the operator does not support complex numbers.
    """
    rule = _RULES.get(op)
    if rule is None:
        raise RuntimeError(
            f"[{op}] has no meaning for complex Tensors; work on functional.real and imag of them"
        )
    return rule(op, args, kwargs)


def is_complex(value: Any) -> bool:
    """Whether a value is a complex Tensor."""
    return isinstance(value, _mge.Tensor) and value._is_complex


def parts(x: Any) -> tuple[Tensor, Tensor]:
    """The real and the imaginary parts of a complex Tensor."""
    pairs = x._plain()
    return pairs[..., 0], pairs[..., 1]


def joined(real: Any, imag: Any) -> Tensor:
    """The complex Tensor of two float32 Tensors of one shape."""
    axis = [real.ndim]
    both = (_mge.ops.add_axis(part, axes=axis) for part in (real, imag))
    return _mge.ops.concat(*both, axis=-1)._meant_as(np.complex64)


def to_complex(value: Any) -> Any:
    """A value as a complex Tensor: a complex Tensor, or real or complex numbers."""
    if not isinstance(value, _mge.Tensor):
        return to_complex(_mge.Tensor(array_of(value, "complex")))
    if value._is_complex:
        return value
    if value._quantised is not None:
        raise RuntimeError("[astype] a quantised Tensor does not become complex: make it float32")
    real = _mge.ops.convert(value, dtype="float32")
    return joined(real, _mge.ops.full_like(real, value=0.0))


def set_parts(setitem: Callable[..., None], x: Tensor, key: Any, value: Any) -> None:
    """Carry out ``x[key] = value`` on both parts; ``setitem`` does it for plain Tensors."""
    changed = parts(x)
    for part, of_value in zip(changed, parts(to_complex(value)), strict=True):
        setitem(part, key, of_value)
    x._reset(joined(*changed))


def _apply(op: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    return getattr(_mge.ops, op)(*args, **kwargs)


def _is_number(value: Any) -> bool:
    """Whether an operand consists of numbers, and is not an index, a mask or a size."""
    dtype = getattr(value, "dtype", None)
    return isinstance(value, (float, complex)) or (dtype is not None and dtype.kind in "fc")


def _on_pairs(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operators that apply to both parts alike."""
    return _apply(op, [to_complex(arg)._plain() for arg in args], kwargs)._meant_as(np.complex64)


def _rejoined(real: Any, imag: Any) -> Any:
    if isinstance(real, tuple):
        return tuple(joined(*both) for both in zip(real, imag, strict=True))
    return joined(real, imag)


def _on_each(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Operators that move, select or add numbers: apply them to the real and the imaginary
    parts."""
    operands = [parts(to_complex(a)) if _is_number(a) else (a, a) for a in args]
    return _rejoined(*(_apply(op, [both[i] for both in operands], kwargs) for i in (0, 1)))


def _product(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    (a, b), (c, d) = (parts(to_complex(arg)) for arg in args)

    def times(x: Tensor, y: Tensor) -> Any:
        return _apply(op, (x, y), kwargs)

    return joined(times(a, c) - times(b, d), times(a, d) + times(b, c))


def _quotient(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    over, under = (to_complex(arg) for arg in args)
    c, d = parts(under)
    real, imag = parts(over * joined(c, -d))
    squared = c * c + d * d
    return joined(real / squared, imag / squared)


def _equality(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    (a, b), (c, d) = (parts(to_complex(arg)) for arg in args)
    same = _mge.ops.logical_and(a == c, b == d)
    return same if op == "equal" else _mge.ops.logical_not(same)


def _magnitude(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    real, imag = parts(args[0])
    return _mge.ops.sqrt(real * real + imag * imag)


def _chosen(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Tensor, Any]:
    """The numbers under a mask and their places, which are plain."""
    results = [_apply(op, (part, *args[1:]), kwargs) for part in parts(args[0])]
    return joined(results[0][0], results[1][0]), results[0][1]


def _filled(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    real = _apply(op, (parts(args[0])[0], *args[1:]), kwargs)
    return joined(real, real * 0.0)


def _looked_at(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return _apply(op, (parts(args[0])[0], *args[1:]), kwargs)


def _converted(op: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
    raise RuntimeError(
        "[astype] a complex Tensor has real and imaginary parts: take functional.real or imag"
    )


_ON_EACH = (
    "add_axis broadcast_like broadcast_to concat cumsum flatten flip gather indexing_one_hot"
    " indexing_set_one_hot mean pad remove_axis reshape reshape_like roll scatter set_slice"
    " set_take slice split sum take transpose where"
).split()

_RULES = {
    **dict.fromkeys(("add", "copy", "neg", "sub", "to_device", "wait_for"), _on_pairs),
    **dict.fromkeys(_ON_EACH, _on_each),
    **dict.fromkeys(("matmul", "mul"), _product),
    **dict.fromkeys(("equal", "not_equal"), _equality),
    "abs": _magnitude,
    "cond_take": _chosen,
    "convert": _converted,
    "div": _quotient,
    "full_like": _filled,
    "shape_of": _looked_at,
}
