# SPDX-License-Identifier: Apache-2.0
"""Names operators and parameters of a recorded function after the modules that ran.

Also which shapes and values the function turned into numbers, and where.
"""

import math
import os
import sys
from collections.abc import Callable
from typing import NamedTuple, TypeVar

import numpy as np

from .. import _mge
from ..tensor import Tensor

_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


_Read = TypeVar("_Read", bool, int, float, list, np.ndarray)


class Constant(NamedTuple):
    """Numbers that the recorded function took from the shapes or the values of arguments."""

    arguments: tuple[int, ...]  # by number
    value: bool | int | float | list | str
    place: str  # "file:line" of the code that calls this package

    @property
    def claim(self) -> str:
        """Begins the error message of a model that refuses a shape. It has no path."""
        return f"{self.value} at {os.path.basename(self.place)} is a constant of the model"


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
        self.shape_constants: list[Constant] = []
        self.lengths: list[Constant] = []  # some are the same for all shapes
        self.values: list[Constant] = []

    def enter(self, path: str) -> None:
        """Subsequent operators belong to the module of this path."""
        self.scopes.append((self._trace.step_count, path))

    def noted(self, tensor: Tensor, read: Callable[[], _Read], chooses: bool = False) -> _Read:
        """Reads numbers. Those that depend on the arguments are recorded. Models refuse shapes for
        which a single one is another; which of several the function uses is unknown.

        Args:
            tensor: the value that is read, of the function or from outside.
            read: gives a number, an array or a list.
            chooses: only a branch depends on it. A choice by shapes alone is often a check, and is
                not recorded.
        """
        is_kept = self._has_constants
        by_shape = _mge.shape_arguments(tensor) if is_kept else ()
        by_value = _mge.arguments_of(tensor, by_value=True) if is_kept and not by_shape else ()
        arguments, has_shapes = tuple(by_shape or by_value), bool(by_shape)
        value = read()
        if not arguments or (has_shapes and chooses):
            return value
        array, is_one = np.asarray(value), math.prod(tensor._tuple_shape) == 1
        plain = array.item() if is_one else array.reshape(-1).tolist() if has_shapes else "an array"
        constant = Constant(arguments, plain, _place_of_caller())
        kind = self.shape_constants if has_shapes else self.values
        if constant not in kind:
            kind.append(constant)
        if is_one and has_shapes:
            _mge.keep_value(tensor, constant.claim)
        return value

    def note_length(self, tensor: Tensor, length: int) -> None:
        """The function uses the number of rows. Models refuse shapes that give others.

        Args:
            tensor: of the function, or from outside.
            length: its size along axis 0.
        """
        arguments = tuple(_mge.arguments_of(tensor)) if self._has_constants else ()
        if arguments:
            constant = Constant(arguments, length, _place_of_caller())
            if constant not in self.lengths:
                self.lengths.append(constant)
            _mge.keep_length(tensor, constant.claim)

    def add(self, tensors, path: str) -> None:
        """Take note of the Tensors that a module has.

        Args:
            tensors: as (name, Tensor).
            path: of the module.
        """
        for name, tensor in tensors if self._has_constants else ():
            own = ".".join(part for part in (path, tensor.name or name) if part)
            self.tensors.append((Tensor(tensor), own))
