# SPDX-License-Identifier: Apache-2.0
"""Documentation that elementwise functions share: operands, result and errors."""

from collections.abc import Callable
from typing import Any, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])

_UNARY = """\
Args:
    {x}: {operands}.
Returns:
    {result} of the shape of ``{x}``.
Raises:
    RuntimeError: the dtype of ``{x}`` is not allowed.
Example:"""
_BINARY = """\
Args:
    {x}: {operands}.
    {y}: as ``{x}``; the two shapes are broadcast.
Returns:
    {result} of the broadcast shape.
Raises:
    RuntimeError: the shapes do not broadcast, or the dtypes are not allowed together.
Example:"""


def _elementwise(operands: str, result: str = "Tensor") -> Callable[[_Function], _Function]:
    """Return a decorator that completes the docstring of a function of one or two operands.

    The function's own docstring has a summary and an example; the shared sections go between them.
    """

    def complete(function: _Function) -> _Function:
        if function.__doc__ is None:  # python -OO
            return function
        summary, example = function.__doc__.split("Example:")
        x, y, *_ = *(name for name in function.__annotations__ if name != "return"), None
        sections = (_BINARY if y else _UNARY).format(x=x, y=y, operands=operands, result=result)
        margin = summary.rpartition("\n")[2]
        function.__doc__ = summary + sections.replace("\n", f"\n{margin}") + example
        return function

    return complete


_numeric = _elementwise("any shape and numeric dtype")
_floating = _elementwise("any shape and numeric dtype; integers count as float32")
_integer = _elementwise("any shape and integer dtype")
_logical = _elementwise("any shape, bool", "Bool tensor")
_comparing = _elementwise("any shape and dtype", "Bool tensor")
