# SPDX-License-Identifier: Apache-2.0
"""Tensors in lists, tuples and dicts, as a flat list and back."""

from collections.abc import Iterable
from typing import Any

from ..core.nesting import Nesting
from ..tensor import Tensor

LEAF = "Tensor"  # marks a Tensor in a structure


def flatten(value: Any, who: str) -> tuple[list[Tensor], object]:
    """The Tensors of a value, and its structure: the value with ``LEAF`` in their places.

    Numbers become Tensors. Raises TypeError that starts with ``[who]`` for any other value, and
    ValueError for containers that are nested too deep.
    """
    tensors: list[Tensor] = []
    nesting = Nesting(who)

    def visit(part: Any) -> Any:
        if part is None:
            return None
        if isinstance(part, (bool, int, float)):
            part = Tensor(part)
        if isinstance(part, Tensor):
            tensors.append(part)
            return LEAF
        if isinstance(part, dict):
            return {key: visit(part[key]) for key in nesting.parts(part)}
        if isinstance(part, (list, tuple)):
            return _like(part, [visit(element) for element in nesting.parts(part)])
        raise TypeError(
            f"[{who}] expected Tensors in lists, tuples and dicts, got {type(part).__name__}"
        )

    structure = visit(value)
    return tensors, structure


def unflatten(structure: Any, tensors: Iterable[Tensor]) -> Any:
    """The value that has this structure, from its Tensors."""
    rest = iter(tensors)

    def build(part: Any) -> Any:
        if part is None:
            return None
        if isinstance(part, dict):
            return {key: build(element) for key, element in part.items()}
        if isinstance(part, (list, tuple)):
            return _like(part, [build(element) for element in part])
        return next(rest)

    return build(structure)


def _like(sequence: Any, elements: list[Any]) -> Any:
    """A list, tuple or named tuple of other elements."""
    if hasattr(sequence, "_fields"):
        return type(sequence)(*elements)
    return elements if isinstance(sequence, list) else tuple(elements)
