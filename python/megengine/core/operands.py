# SPDX-License-Identifier: Apache-2.0
"""What functions accept where they want a tensor."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Union

import numpy as np

if TYPE_CHECKING:
    from ..tensor import Tensor

Number = bool | int | float
Operand = Union["Tensor", np.ndarray, np.generic, Number, Sequence[Number]]
Shape = Union[int, Sequence[Union[int, "Tensor"]], "Tensor", np.ndarray]
Pair = int | tuple[int, int]


Triple = int | tuple[int, int, int]


def pair(value: Pair, who: str, argument: str) -> tuple[int, int]:
    """Two integers from one (used twice) or two.

    Raises:
        TypeError: ``value`` is neither an integer nor two of them.
    """
    return _several(value, 2, "two", who, argument)


def triple(value: Triple, who: str, argument: str) -> tuple[int, int, int]:
    """Three integers from one or three; see ``pair``.

    Raises:
        TypeError: ``value`` is neither an integer nor three of them.
    """
    return _several(value, 3, "three", who, argument)


def _several(value, count: int, word: str, who: str, argument: str) -> tuple[int, ...]:
    if isinstance(value, (int, np.integer)):
        return (int(value),) * count
    values = tuple(int(v) for v in value)
    if len(values) != count:
        raise TypeError(f"[{who}] {argument} must be an int or {word} ints, got {value!r}")
    return values
