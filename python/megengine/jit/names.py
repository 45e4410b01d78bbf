# SPDX-License-Identifier: Apache-2.0
"""Names operators and parameters of a recorded function after the modules that ran.

Also which shapes the function turned into numbers, and where.
"""

import os
import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from .. import _mge
from ..tensor import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


_Number = TypeVar("_Number", int, float)


class ShapeConstant(NamedTuple):
    """A number that the recorded function took from the shapes of arguments."""

    arguments: tuple[int, ...]  # by number
    value: int | float
    place: str  # "file:line" of the code that calls this package


def _place_of_caller() -> str:
    frame = sys._getframe(2)
    while frame.f_back is not None and (
        os.path.abspath(frame.f_code.co_filename).startswith(_PACKAGE)
    ):
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


class RecordedNames:
    """The modules of a recording, from which operator on they ran, and the names of their Tensors.

    Args:
        trace: the ``_mge.Trace`` that records.
        has_constants: it keeps outer Tensors as constants; otherwise no reference to them may be
            kept, so that updates stay in place.
    """

    def __init__(self, trace, has_constants: bool):
        self._trace = trace
        self._has_constants = has_constants
        self.scopes: list[tuple[int, str]] = []
        self.tensors: list[tuple[Tensor, str]] = []
        self.shape_constants: list[ShapeConstant] = []

    def enter(self, path: str) -> None:
        """Subsequent operators belong to the module of this path."""
        self.scopes.append((self._trace.step_count, path))

    def noted(self, tensor: Tensor, read: Callable[[], _Number]) -> _Number:
        """Reads a number. One that depends on the arguments' shapes is recorded, and models refuse
        shapes for which it is another.

        Args:
            tensor: the value of the function that the number is.
            read: gives the number.
        """
        is_kept = self._has_constants and tensor._is_symbolic
        arguments = tuple(_mge.shape_arguments(tensor)) if is_kept else ()
        value = read()
        if arguments:
            constant = ShapeConstant(arguments, value, _place_of_caller())
            if constant not in self.shape_constants:
                self.shape_constants.append(constant)
            place = os.path.basename(constant.place)  # models do not contain paths
            _mge.keep_value(tensor, f"{value} at {place} is a constant of the model")
        return value

    def add(self, tensors, path: str) -> None:
        """Take note of the Tensors that a module has.

        Args:
            tensors: as (name, Tensor).
            path: of the module.
        """
        for name, tensor in tensors if self._has_constants else ():
            own = ".".join(part for part in (path, tensor.name or name) if part)
            self.tensors.append((Tensor(tensor), own))
