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


def pair(value: Pair, who: str, argument: str) -> tuple[int, int]:
    """Two integers from one (used twice) or two.

    Raises:
        TypeError: ``value`` is neither an integer nor two of them.
    """
    if isinstance(value, (int, np.integer)):
        return int(value), int(value)
    values = tuple(int(v) for v in value)
    if len(values) != 2:
        raise TypeError(f"[{who}] {argument} must be an int or two ints, got {value!r}")
    return values
