# SPDX-License-Identifier: Apache-2.0
"""The values that functions accept as tensors."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from reprlib import repr as brief
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import _mge
from ..device import default_device

if TYPE_CHECKING:
    from typing_extensions import TypeIs

Number = bool | int | float
Operand = _mge.Tensor | np.ndarray | np.generic | Number | Sequence[Number]
Shape = int | Sequence[int | _mge.Tensor] | _mge.Tensor | np.ndarray
Pair = int | tuple[int, int]


Triple = int | tuple[int, int, int]


def is_whole(value: Any) -> "TypeIs[int]":
    """Whether a value is one integer: of Python or NumPy, or an array of rank 0.

    A float without a fraction counts as an integer: half a size is written ``n / 2``.

    Args:
        value: of any kind.
    """
    if type(value) is int:  # nearly always
        return True
    if isinstance(value, np.ndarray):
        return value.ndim == 0 and is_whole(value[()])
    if isinstance(value, (float, np.floating)):
        return float(value).is_integer()
    return isinstance(value, (int, np.integer))


def pair(value: Pair | _mge.Tensor, who: str, argument: str) -> tuple[int, int]:
    """Two integers from one (used twice) or two.

    Raises:
        TypeError: ``value`` is neither an integer nor two of them.
    """
    # Nearly always one of these, and operators are called often.
    if type(value) is int:
        return value, value
    if type(value) is tuple and len(value) == 2 and type(value[0]) is type(value[1]) is int:
        return value
    first, second = _several(value, 2, "two", who, argument)
    return first, second


def triple(value: Triple, who: str, argument: str) -> tuple[int, int, int]:
    """Three integers from one or three; see ``pair``.

    Raises:
        TypeError: ``value`` is neither an integer nor three of them.
    """
    first, second, third = _several(value, 3, "three", who, argument)
    return first, second, third


def has_shape(operand: Operand, shape: Callable[[], tuple[int, ...]]) -> bool:
    """Whether a Tensor has a given shape; True if only a run can decide.

    Args:
        operand: a Tensor, or a number, which has no shape.
        shape: returns the shape; it may read the shapes of other operands.
    """
    try:
        return getattr(operand, "_tuple_shape", None) == shape()
    except RuntimeError:
        return True


def beside(*operands: Operand) -> AbstractContextManager[Any]:
    """Returns a context in which new Tensors are created where the operands are located.

    An operator puts array operands on the device of its Tensors. So a constant whose first operator
    has a Tensor operand stays an array; this context is for the others, such as ranges, zeros and
    random numbers.

    Args:
        operands: the first Tensor among them sets the device; without a Tensor, nothing changes.
    """
    for operand in operands:
        if isinstance(operand, _mge.Tensor):
            return default_device(str(operand.device))
    return nullcontext()


def at_least(who: str, least: int, **sizes: Any) -> None:
    """Check sizes, each an integer or several of them.

    Args:
        who: prefix of the message.
        least: the smallest allowed size.
        sizes: sizes by name.
    Raises:
        TypeError: one is not an integer.
        ValueError: a size is smaller.
    """
    for name, value in sizes.items():
        for number in value if isinstance(value, (tuple, list)) else (value,):
            if not is_whole(number) and not isinstance(number, _mge.Tensor):
                raise TypeError(f"[{who}] {name} must be an integer, got {brief(number)}")
            if number < least:
                raise ValueError(f"[{who}] {name} must be at least {least}, got {brief(value)}")


def as_list(values: Any, who: str, argument: str) -> list[Any]:
    """The values of a sequence, a Tensor of rank 1 among them.

    Args:
        values: the sequence.
        who: prefix of the message.
        argument: name of the argument.
    Raises:
        TypeError: ``values`` is not a sequence.
    """
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"[{who}] {argument} must be a sequence, got {brief(values)}") from None


def height_and_width(sizes: Any, who: str, argument: str) -> list[Any]:
    """As ``as_list``, for two sizes; TypeError for others."""
    result = as_list(sizes, who, argument)
    if len(result) != 2:
        what = "must be an int or a height and a width"
        raise TypeError(f"[{who}] {argument} {what}, got {brief(sizes)}")
    return result


def as_number(value: Any, who: str, argument: str) -> float:
    """A number of Python or NumPy, or the one of an array or Tensor of one element.

    Args:
        value: the number.
        who: prefix of the message.
        argument: name of the argument.
    Raises:
        TypeError: ``value`` is not a number.
    """
    try:
        if isinstance(value, (str, bytes, bytearray)):
            raise TypeError
        return float(value.item() if isinstance(value, np.ndarray) else value)
    except (TypeError, ValueError):
        raise TypeError(f"[{who}] {argument} must be a number, got {brief(value)}") from None


def of_rank(who: str, rank: int, **operands: Any) -> None:
    """Check ranks.

    Args:
        who: prefix of the message.
        rank: the allowed rank.
        operands: Tensors by name.
    Raises:
        RuntimeError: one has another rank.
    """
    for name, operand in operands.items():
        if operand.ndim != rank:
            raise RuntimeError(f"[{who}] {name} must have rank {rank}, got {operand.ndim}")


def _several(value: Any, count: int, word: str, who: str, argument: str) -> tuple[int, ...]:
    if is_whole(value) or isinstance(value, _mge.Tensor) and not value.ndim:
        return (int(value),) * count
    if isinstance(value, (str, float, np.floating)):
        hint = "; k // 2 keeps the size for an odd kernel k and stride 1, 0 is PyTorch's 'valid'"
        raise TypeError(
            f"[{who}] {argument} must be an int or {word} ints, got {brief(value)}"
            + hint * (argument == "padding" and isinstance(value, str))
        )
    try:
        values = tuple(int(v) for v in value)
    except (TypeError, ValueError):
        values = ()
    if len(values) != count:
        raise TypeError(f"[{who}] {argument} must be an int or {word} ints, got {brief(value)}")
    return values
