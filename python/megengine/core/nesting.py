# SPDX-License-Identifier: Apache-2.0
"""Limits for walks over nested containers: a list may contain itself, or share parts."""

from collections.abc import Collection, Iterator
from typing import Any

import numpy as np

MOST_DEPTH = 100
MOST_PARTS = 1 << 18
_MOST_AXES = 8  # one more than a Tensor may have: those have a message of their own


class Nesting:
    """Counts depth and parts of a nested value for a function that calls itself.

    Args:
        who: name of the function in the errors.
    """

    def __init__(self, who: str) -> None:
        self._who = who
        self._depth = self._parts = 0

    def parts(self, container: Collection[Any]) -> Iterator[Any]:
        """The parts of a container, in order.

        Raises:
            ValueError: the container is nested too deep, or the value has too many parts.
        """
        self._depth += 1
        self._parts += len(container)
        if self._depth > MOST_DEPTH:
            raise ValueError(
                f"[{self._who}] a {type(container).__name__} is nested more than {MOST_DEPTH}"
                " levels deep, or holds itself"
            )
        if self._parts > MOST_PARTS:
            raise ValueError(
                f"[{self._who}] a {type(container).__name__} has more than {MOST_PARTS} parts,"
                " those of the containers in it included"
            )
        yield from container
        self._depth -= 1


def array_of(value: Any, who: str, dtype: Any = None) -> np.ndarray:
    """An array of numbers in nested lists.

    NumPy would follow every path into a list that contains itself. It stops where other elements
    are nested deeper than the first, so those are not checked.

    Args:
        value: a value that NumPy converts to an array.
        who: name of the function in the error.
        dtype: dtype of the array; None: NumPy's choice.
    Raises:
        ValueError: the lists are nested deeper than Tensors can be.
    """
    part = value
    for _ in range(_MOST_AXES + 1):
        if not isinstance(part, (list, tuple)) or not part:
            return np.asarray(value, dtype)
        part = part[0]
    raise ValueError(
        f"[{who}] a {type(value).__name__} is nested deeper than {_MOST_AXES - 1} levels, the"
        " largest rank, or holds itself"
    )
