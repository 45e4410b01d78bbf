# SPDX-License-Identifier: Apache-2.0
"""Sums of products written with Einstein's convention.

Operands are contracted from left to right, two at a time: an axis that no later operand or result
needs is summed in a matrix product; other common axes become batch axes.
"""

from collections.abc import Sequence
from functools import reduce
from operator import mul
from typing import Any

import numpy as np

from .. import _mge
from ..core.counted import counted
from ..core.tensor.extents import extent
from ..core.tensor.shape_arguments import open_first
from ..core.tensor.shaping import broadcast, reshaped
from ..tensor import Tensor
from .creation import as_tensors

_DOTS = "..."


def einsum(equation: str, *args: Tensor) -> Tensor:
    """Sum of products (Einstein's convention).

    Args:
        equation: a letter for each axis of each operand, operands separated by commas, and
            optionally ``->`` and the letters of the result; ``...`` denotes axes that broadcast.
            Without ``->`` the result has the letters that occur once, in alphabetical order. A
            letter that occurs twice in one operand selects its diagonal.
        args: the operands.
    Returns:
        Tensor.
    Raises:
        ValueError: the equation is malformed, or does not fit the operands.
    Example:
        >>> F.einsum("ij,jk->ik", F.ones((2, 3)), F.ones((3, 1)))
        Tensor([[3.]
         [3.]], device=xpux:0)
    """
    if len(args) == 1 and isinstance(args[0], (list, tuple)):
        args = tuple(args[0])
    tensors = as_tensors(*args)
    inputs, output = _parse(equation, tensors)
    operands = [_diagonal(x, labels) for x, labels in zip(tensors, inputs, strict=True)]
    x, labels = operands[0]
    for k in range(1, len(operands)):
        needed = set(output).union(*[set(rest) for _, rest in operands[k + 1 :]])
        x, labels = _contract(x, labels, *operands[k], needed)
    x, labels = _sum_out(x, labels, set(output))
    return _mge.ops.transpose(x, pattern=[labels.index(label) for label in output])


def _parse(equation: str, args: Sequence[Tensor]) -> tuple[list[list[Any]], list[Any]]:
    """Labels of the axes of each operand and of the result; axes of dots are negative numbers."""
    if not isinstance(equation, str):
        raise TypeError(f"[einsum] equation must be a str, got {type(equation).__name__}")
    text = equation.replace(" ", "")
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) != len(args):
        raise ValueError(
            f"[einsum] {equation!r} has {counted(len(terms), 'operand')}, given: {len(args)}"
        )
    inputs = [_labels(t, x.ndim, equation) for t, x in zip(terms, args, strict=True)]
    dots = sorted({label for labels in inputs for label in labels if isinstance(label, int)})
    if arrow:
        output = _expand_dots(right, dots, equation)
    else:
        letters = left.replace(_DOTS, "").replace(",", "")
        output = dots + sorted(c for c in set(letters) if letters.count(c) == 1)
    known = {label for labels in inputs for label in labels}
    if len(set(output)) != len(output) or not set(output) <= known:
        raise ValueError(f"[einsum] the result of {equation!r} must have known labels, each once")
    return inputs, output


def _labels(term: str, rank: int, equation: str) -> list[Any]:
    count = rank - len(term.replace(_DOTS, "")) if _DOTS in term else 0
    labels = _expand_dots(term, list(range(-count, 0)), equation)
    if count < 0 or len(labels) != rank:
        raise ValueError(
            f"[einsum] {term!r} in {equation!r} does not fit an operand of rank {rank}"
        )
    return labels


def _expand_dots(term: str, dots: list[int], equation: str) -> list[Any]:
    head, found, tail = term.partition(_DOTS)
    if not (head + tail).isalpha() and head + tail:
        raise ValueError(f"[einsum] {equation!r} may hold letters, commas, '->' and '...' only")
    return [*head, *(dots if found else []), *tail]


def _diagonal(x: Tensor, labels: list[Any]) -> tuple[Tensor, list[Any]]:
    """The operand with each label once."""
    for label in list(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            size = x._tuple_shape[first]
            if x._tuple_shape[second] != size:
                raise ValueError(f"[einsum] label {label!r} has sizes {x._tuple_shape}")
            order = [a for a in range(x.ndim) if a not in (first, second)]
            labels = [label, *(labels[a] for a in order)]
            x = _mge.ops.transpose(x, pattern=[first, second, *order])
            count = extent(x, 0)
            if isinstance(count, int):
                steps: Any = np.arange(size, dtype=np.int32)
            else:
                steps = _mge.ops.arange(last=count, dtype="int32")
            x = _mge.ops.take(x, steps, steps, axes=[0, 1])
    return x, labels


def _sum_out(x: Tensor, labels: list[Any], needed: set[Any]) -> tuple[Tensor, list[Any]]:
    axes = [a for a, label in enumerate(labels) if label not in needed]
    if axes:
        x = _mge.ops.sum(x, axes=axes, keepdims=False)
    return x, [label for label in labels if label in needed]


def _contract(
    a: Tensor, a_labels: list[Any], b: Tensor, b_labels: list[Any], needed: set[Any]
) -> tuple[Tensor, list[Any]]:
    """The product of two operands, summed over the labels that are not needed any more."""
    a, a_labels = _sum_out(a, a_labels, needed | set(b_labels))
    b, b_labels = _sum_out(b, b_labels, needed | set(a_labels))
    shared = [label for label in a_labels if label in b_labels]
    batch = [label for label in shared if label in needed]
    inner = [label for label in shared if label not in needed]
    a_free = [label for label in a_labels if label not in shared]
    b_free = [label for label in b_labels if label not in shared]
    known, sizes = _sizes(a, a_labels, b, b_labels)
    left = _as_matrices(a, a_labels, (batch, a_free, inner), known, sizes)
    right = _as_matrices(b, b_labels, (batch, inner, b_free), known, sizes)
    labels = [*batch, *a_free, *b_free]
    return _shaped(_mge.ops.matmul(left, right), [sizes[label] for label in labels], 0), labels


def _sizes(
    a: Tensor, a_labels: list[Any], b: Tensor, b_labels: list[Any]
) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The sizes of labels, as numbers and as extents, which follow the operands in a trace."""
    known: dict[Any, Any] = {}
    sizes: dict[Any, Any] = {}
    for x, labels in ((a, a_labels), (b, b_labels)):
        for axis, (label, size) in enumerate(zip(labels, x._tuple_shape, strict=True)):
            have = known.get(label, 1)
            if 1 not in (have, size) and have != size:
                raise ValueError(f"[einsum] label {label!r} has sizes {have} and {size}")
            if label not in known or (have == 1 and size != 1):
                known[label], sizes[label] = size, extent(x, axis)
    return known, sizes


def _as_matrices(
    x: Tensor,
    labels: list[Any],
    groups: tuple[list[Any], ...],
    known: dict[Any, Any],
    sizes: dict[Any, Any],
) -> Tensor:
    """Axes in three groups, each made into one; axes of size 1 broadcast."""
    order = [label for group in groups for label in group]
    x = _mge.ops.transpose(x, pattern=[labels.index(label) for label in order])
    if list(x._tuple_shape) != [known[label] for label in order]:
        x = broadcast(x, [sizes[label] for label in order])
    shape = [reduce(mul, [sizes[k] for k in group]) if group else 1 for group in groups]
    # A product of several axes follows from the others; the first operand's batch is mostly in it.
    return _shaped(x, shape, 0 if groups[0] else 1)


def _shaped(x: Tensor, shape: list[Any], first: int) -> Tensor:
    """The same values in another shape, whose size ``first`` follows from the others."""
    if not all(isinstance(size, int) for size in shape):
        made: Tensor = reshaped(x, shape)
        return made
    return _mge.ops.reshape(x, shape=[*shape[:first], *open_first(shape[first:])])
