# SPDX-License-Identifier: Apache-2.0
"""Reductions, ordering and linear algebra.

``axis`` of a reduction is None (all axes), an int, or a sequence of different ints; negative ones
count from the end. A value of rank 0 is a vector of one element for an int. Wrong axes raise:
AssertionError for a duplicate, for one in a sequence that is out of range, or for
``keepdims=True`` with ``axis=None``; RuntimeError for an int out of range.
"""

import builtins
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from .. import _mge
from ..core.hints import refuse_keywords, with_hints
from ..core.operands import Operand, beside
from ..core.tensor.dtype import is_dtype_equal, is_integer
from ..core.tensor.reduction import Axis, check_axes, reduced
from ..core.tensor.shape_arguments import as_int, as_vector, axis_list, normal_axis
from ..tensor import Tensor
from .creation import as_tensor, as_tensors

__all__ = [
    "argmax",
    "argmin",
    "argsort",
    "cross",
    "dot",
    "isinf",
    "isnan",
    "matinv",
    "matmul",
    "max",
    "mean",
    "min",
    "norm",
    "normalize",
    "prod",
    "sign",
    "sort",
    "std",
    "sum",
    "svd",
    "topk",
    "var",
]


def isnan(inp: Operand) -> Tensor:
    """Whether an element is NaN.

    Args:
        inp: any shape.
    Returns:
        Bool tensor of the shape of ``inp``.
    Example:
        >>> F.isnan(Tensor([1.0, float("nan")]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.isnan(inp)


def isinf(inp: Operand) -> Tensor:
    """Whether an element is plus or minus infinity.

    Args:
        inp: any shape.
    Returns:
        Bool tensor of the shape of ``inp``.
    Example:
        >>> F.isinf(Tensor([1.0, float("inf")]))
        Tensor([False  True], dtype=bool, device=xpux:0)
    """
    return _mge.ops.isinf(inp)


def _check_non_finite(inps: Iterable[Tensor], scale: float = 1.0) -> Tensor:
    """Scale Tensors in place, and return whether any element is infinite or NaN.

    Args:
        inps: at least one floating Tensor.
        scale: factor of each Tensor.
    Returns:
        int32 Tensor, 1 if an element is not finite.
    Example:
        >>> x = Tensor([1.0, 2.0])
        >>> _check_non_finite([x], 3.0), x
        (Tensor(0, dtype=int32, device=xpux:0), Tensor([3. 6.], device=xpux:0))
    """
    largest = []
    for inp in inps:
        inp._reset(inp * scale)
        if 0 not in inp._tuple_shape:
            largest.append(max(_mge.ops.abs(inp)).astype("float32"))
    if not largest:
        with beside(*inps):
            return Tensor(0, dtype="int32")
    # A NaN is the largest of all.
    peak = max(_mge.ops.concat(*(each.to(largest[0].device).reshape(1) for each in largest)))
    return _mge.ops.logical_or(isnan(peak), isinf(peak)).astype("int32")


def sign(x: Operand) -> Tensor:
    """-1, 0 or 1.

    Args:
        x: any shape, numeric.
    Returns:
        Tensor of the shape and dtype of ``x``.
    Example:
        >>> F.sign(Tensor([1, -3, 0]))
        Tensor([ 1 -1  0], dtype=int32, device=xpux:0)
    """
    return _mge.ops.sign(x)


@with_hints
def sum(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Sum over axes.

    Args:
        inp: any shape, numeric or bool (counts as int32).
        axis: axes to sum over.
        keepdims: keep the reduced axes with size 1.
    Returns:
        Tensor of the dtype of ``inp``.
    Example:
        >>> F.sum(Tensor([[1, 2], [3, 4]]), axis=0)
        Tensor([4 6], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("sum", others)
    return reduced(_mge.ops.sum, inp, axis, keepdims, "sum")


@with_hints
def prod(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Product over axes; see ``sum`` for the arguments.

    Example:
        >>> F.prod(Tensor([[1, 2], [3, 4]]), axis=0)
        Tensor([3 8], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("prod", others)
    return reduced(_mge.ops.prod, inp, axis, keepdims, "prod")


@with_hints
def mean(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Mean over axes, always float32; see ``sum`` for the arguments.

    Example:
        >>> F.mean(Tensor([[1, 2], [3, 4]]), axis=0)
        Tensor([2. 3.], device=xpux:0)
    """
    if others:
        refuse_keywords("mean", others)
    return reduced(_mge.ops.mean, inp, axis, keepdims, "mean")


@with_hints
def var(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Variance over axes, of the population (divided by n); see ``sum`` for the arguments.

    Example:
        >>> F.var(Tensor([1.0, 3.0]))
        Tensor(1.0, device=xpux:0)
    """
    if others:
        refuse_keywords("var", others)
    assert axis is not None or not keepdims, "[var] keepdims=True needs an axis"
    centre = mean(inp) if axis is None else mean(inp, axis, keepdims=True)
    return mean(_mge.ops.square(_mge.ops.sub(inp, centre)), axis, keepdims)


@with_hints
def std(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Standard deviation over axes, of the population; see ``sum`` for the arguments.

    Example:
        >>> F.std(Tensor([1.0, 3.0]))
        Tensor(1.0, device=xpux:0)
    """
    if others:
        refuse_keywords("std", others)
    return _mge.ops.sqrt(var(inp, axis, keepdims))


@with_hints
def min(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Smallest value over axes; NaN wins; see ``sum`` for the arguments.

    Raises:
        RuntimeError: a reduced axis is empty.
    Example:
        >>> F.min(Tensor([[1, 5], [3, 4]]), axis=0)
        Tensor([1 4], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("min", others)
    return reduced(_mge.ops.min, inp, axis, keepdims, "min")


@with_hints
def max(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Largest value over axes; NaN wins; see ``sum`` for the arguments.

    Raises:
        RuntimeError: a reduced axis is empty.
    Example:
        >>> F.max(Tensor([[1, 5], [3, 4]]), axis=0)
        Tensor([3 5], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("max", others)
    return reduced(_mge.ops.max, inp, axis, keepdims, "max")


def _position(
    op: Callable[..., Tensor], inp: Operand, axis: Axis, keepdims: bool, who: str
) -> Tensor:
    inp = inp if isinstance(inp, Tensor) else Tensor(inp)
    if axis is None:
        assert not keepdims, f"[{who}] keepdims=True needs an axis"
        return op(_mge.ops.flatten(inp), axis=0, keepdims=False)
    axes = axis_list(axis, who)
    check_axes(axes, inp.ndim, who)
    if not axes:
        return _mge.ops.copy(inp).detach()
    for a in sorted({a % inp.ndim for a in axes}, reverse=True):
        inp = op(inp, axis=a, keepdims=bool(keepdims))
    return inp


@with_hints
def argmin(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Index of the smallest value (the first of equal ones, or of NaN).

    Args:
        inp: any shape, numeric.
        axis: axis to search; None searches the flattened tensor. Several axes are searched one
            after the other from the last, each in the positions found by the previous search (as in
            MegEngine), so the result is not an index into ``inp``. Flatten the axes to search a
            block. An empty list returns ``inp`` unchanged.
        keepdims: keep the axis with size 1.
    Returns:
        int32 tensor.
    Raises:
        AssertionError: an axis is out of range.
    Example:
        >>> F.argmin(Tensor([[1, 5], [3, 4]]), axis=0)
        Tensor([0 1], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("argmin", others)
    return _position(_mge.ops.argmin, inp, axis, keepdims, "argmin")


@with_hints
def argmax(inp: Operand, axis: Axis = None, keepdims: bool = False, **others: Any) -> Tensor:
    """Index of the largest value (the first of equal ones, or of NaN); see ``argmin``.

    Example:
        >>> F.argmax(Tensor([[1, 5], [3, 4]]), axis=0)
        Tensor([1 0], dtype=int32, device=xpux:0)
    """
    if others:
        refuse_keywords("argmax", others)
    return _position(_mge.ops.argmax, inp, axis, keepdims, "argmax")


def argsort(inp: Tensor, descending: bool = False) -> Tensor:
    """Indices that sort the last axis.

    Args:
        inp: rank 1 or 2.
        descending: largest first.
    Returns:
        int32 tensor of the shape of ``inp``.
    Raises:
        AssertionError: the rank is above 2.
    Example:
        >>> F.argsort(Tensor([3.0, 1.0, 2.0]))
        Tensor([1 2 0], dtype=int32, device=xpux:0)
    """
    inp = as_tensor(inp)
    assert len(inp._tuple_shape) <= 2, f"[argsort] rank must be 1 or 2, got {inp.ndim}"
    return _mge.ops.sort(inp, axis=-1, descending=bool(descending))[1]


def sort(inp: Tensor, descending: bool = False, dim: int = -1) -> tuple[Tensor, Tensor]:
    """Sorted values along an axis, and where they were.

    Args:
        inp: any rank from 1.
        descending: largest first; NaN is last in both orders.
        dim: axis to sort.
    Returns:
        The values, and their int32 indices.
    Example:
        >>> F.sort(Tensor([3.0, 1.0, 2.0]))[0]
        Tensor([1. 2. 3.], device=xpux:0)
    """
    return _mge.ops.sort(inp, axis=dim, descending=bool(descending))


def topk(
    inp: Tensor,
    k: int | Tensor,
    descending: bool = True,
    kth_only: bool = False,
    no_sort: bool = False,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) values of the last axis.

    Args:
        inp: rank 1 or 2.
        k: how many, not 0; never more than there are. A negative one takes ``-k`` from the other
            end.
        descending: the largest; False for the smallest.
        kth_only: only the k-th value.
        no_sort: any order will do.
    Returns:
        The values, and their int32 indices.
    Raises:
        RuntimeError: the rank is not 1 or 2, or ``k`` is 0.
    Example:
        >>> F.topk(Tensor([3.0, 1.0, 2.0]), 2)[0]
        Tensor([3. 2.], device=xpux:0)
    """
    inp = as_tensor(inp)
    if inp.ndim not in (1, 2):
        raise RuntimeError(f"[topk] rank must be 1 or 2, got {inp.ndim}")
    wanted = as_int(k, "topk", "k")
    return _mge.ops.topk(
        inp,
        k=builtins.abs(wanted),
        descending=bool(descending) == (wanted >= 0),
        kth_only=bool(kth_only),
        no_sort=bool(no_sort),
    )


def matmul(
    inp1: Operand,
    inp2: Operand,
    transpose_a: bool = False,
    transpose_b: bool = False,
    compute_mode: str = "default",
) -> Tensor:
    """Matrix product, with NumPy's rules for vectors and batches.

    Args:
        inp1: rank 1 or more.
        inp2: rank 1 or more; leading axes are broadcast.
        transpose_a: swap the last two axes of ``inp1`` first.
        transpose_b: swap the last two axes of ``inp2`` first.
        compute_mode: ``"default"`` or ``"float32"``; float16 is always summed in float32.
    Returns:
        Tensor.
    Raises:
        RuntimeError: the shapes do not fit.
    Example:
        >>> F.matmul(Tensor([[1.0, 2.0]]), Tensor([[3.0], [4.0]]))
        Tensor([[11.]], device=xpux:0)
    """
    if compute_mode != "default":
        _check_mode(compute_mode, "matmul")
    return _mge.ops.matmul(inp1, inp2, transpose_a=bool(transpose_a), transpose_b=bool(transpose_b))


def _check_mode(compute_mode: str, who: str) -> None:
    if str(compute_mode).lower() not in ("default", "float32"):
        raise ValueError(f"[{who}] compute_mode is 'default' or 'float32', got {compute_mode!r}")


def dot(inp1: Tensor, inp2: Tensor) -> Tensor:
    """Inner product of two vectors.

    Args:
        inp1: rank 1; a value of rank 0 is a vector of one element.
        inp2: the same, as long as ``inp1``.
    Returns:
        Tensor of rank 0.
    Raises:
        AssertionError: a rank is not 1.
        RuntimeError: the lengths differ.
    Example:
        >>> F.dot(Tensor([1.0, 2.0]), Tensor([3.0, 4.0]))
        Tensor(11.0, device=xpux:0)
    """
    with beside(inp1, inp2):
        inp1, inp2 = as_vector(inp1), as_vector(inp2)
    for value in (inp1, inp2):
        assert np.ndim(value) == 1, f"[dot] both inputs must have rank 1, got {np.ndim(value)}"
    out = _mge.ops.matmul(inp1, inp2)
    # Unlike a matrix product, a dot product of small integers stays small.
    is_small = isinstance(inp1, Tensor) and isinstance(inp2, Tensor) and is_integer(inp1.dtype)
    if is_small and is_dtype_equal(inp1.dtype, inp2.dtype) and inp1.dtype != out.dtype:
        return _mge.ops.convert(out, dtype=inp1.dtype)
    return out


def cross(
    a: Tensor, b: Tensor, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: int | None = None
) -> Tensor:
    """Cross product of vectors of three elements.

    Args:
        a: first vectors, along ``axisa``.
        b: second vectors, along ``axisb``.
        axisa: axis of ``a`` of size 3.
        axisb: axis of ``b`` of size 3.
        axisc: axis of the result that holds the vectors.
        axis: sets all three.
    Returns:
        Tensor of the broadcast shape.
    Raises:
        ValueError: the size of an axis is not 3.
    Example:
        >>> F.cross(Tensor([1.0, 0.0, 0.0]), Tensor([0.0, 1.0, 0.0]))
        Tensor([0. 0. 1.], device=xpux:0)
    """
    if axis is not None:
        axisa = axisb = axisc = axis
    a, b = as_tensors(a, b)
    x, y = _parts(a, axisa), _parts(b, axisb)
    parts = [x[i] * y[j] - x[j] * y[i] for i, j in ((1, 2), (2, 0), (0, 1))]
    place = normal_axis(axisc, parts[0].ndim + 1, "cross")
    return _mge.ops.concat(*[_mge.ops.add_axis(p, axes=[place]) for p in parts], axis=place)


def _parts(x: Tensor, axis: int) -> list[Tensor]:
    axis = normal_axis(axis, x.ndim, "cross")
    if x._tuple_shape[axis] != 3:
        raise ValueError(f"[cross] axis {axis} must have size 3, got {x._tuple_shape[axis]}")
    return [x[(slice(None),) * axis + (i,)] for i in range(3)]


@with_hints
def norm(
    inp: Tensor,
    ord: float | None = None,
    axis: int | None = None,
    keepdims: bool = False,
    **others: Any,
) -> Tensor:
    """The p-norm of vectors.

    Args:
        inp: any rank; without ``axis`` it must be a vector.
        ord: p: 0 counts the nonzero elements, infinity is the largest and minus infinity the
            smallest absolute value, None is 2.
        axis: axis that holds the vectors.
        keepdims: keep that axis with size 1.
    Returns:
        Tensor.
    Raises:
        TypeError: no axis is given and ``inp`` is not a vector.
    Example:
        >>> F.norm(Tensor([3.0, 4.0]))
        Tensor(5.0, device=xpux:0)
    """
    inp = as_tensor(inp)
    if others:
        refuse_keywords("norm", others)
    if axis is None and inp.ndim != 1:
        raise TypeError(f"[norm] axis is required for rank {inp.ndim}")
    order = 2 if ord is None else ord
    if order == float("inf"):
        return max(_mge.ops.abs(inp), axis, keepdims)
    if order == -float("inf"):
        return min(_mge.ops.abs(inp), axis, keepdims)
    if order == 0:
        return sum(_mge.ops.not_equal(inp, 0), axis, keepdims)
    if is_integer(inp.dtype):  # sums and squares may not fit
        inp = _mge.ops.convert(inp, dtype="float32")
    if order == 1:
        return sum(_mge.ops.abs(inp), axis, keepdims)
    if order == 2:
        return _mge.ops.sqrt(sum(_mge.ops.square(inp), axis, keepdims))
    powers = _mge.ops.pow(_mge.ops.abs(inp), float(order))
    return _mge.ops.pow(sum(powers, axis, keepdims), 1.0 / order)


@with_hints
def normalize(
    inp: Tensor,
    ord: float | None = None,
    axis: int | None = None,
    eps: float = 1e-12,
    **others: Any,
) -> Tensor:
    """The input over its p-norm, the norm being at least ``eps``.

    Args:
        inp: any rank.
        ord: see ``norm``.
        axis: axis that holds the vectors; None only for a vector.
        eps: smallest divisor.
    Returns:
        Tensor of the shape of ``inp``.
    Raises:
        TypeError: no axis is given and ``inp`` is not a vector.
    Example:
        >>> F.normalize(Tensor([3.0, 4.0]))
        Tensor([0.6 0.8], device=xpux:0)
    """
    if others:
        refuse_keywords("normalize", others)
    size = norm(inp, ord) if axis is None else norm(inp, ord, axis, keepdims=True)
    return _mge.ops.div(inp, _mge.ops.maximum(size, eps))


def matinv(inp: Tensor) -> Tensor:
    """Inverse of square matrices.

    Args:
        inp: (..., N, N).
    Returns:
        Tensor of that shape.
    Raises:
        RuntimeError: the matrices are not square, or one is singular.
    Example:
        >>> F.matinv(Tensor([[2.0, 0.0], [0.0, 4.0]]))
        Tensor([[0.5  0.  ]
         [0.   0.25]], device=xpux:0)
    """
    return _mge.ops.matinv(inp)


def svd(
    inp: Tensor, full_matrices: bool = False, compute_uv: bool = True
) -> tuple[Tensor, Tensor, Tensor] | Tensor:
    """Singular value decomposition of matrices: ``inp`` is U diag(S) V.

    Columns of U and rows of V are orthonormal. Gradients of them are exact where the singular
    values differ.

    Args:
        inp: (..., M, N).
        full_matrices: must be False if ``compute_uv``: square U and V are not computed.
        compute_uv: False for the singular values alone.
    Returns:
        U (..., M, K), S (..., K) with falling values, and V (..., K, N), where K is the smaller of
        M and N; or S alone.
    Raises:
        RuntimeError: the rank is below 2, or ``full_matrices`` is wanted.
    Example:
        >>> F.svd(Tensor([[0.0, 2.0], [-5.0, 0.0]]), compute_uv=False)
        Tensor([5. 2.], device=xpux:0)
    """
    if full_matrices and compute_uv:
        raise RuntimeError("[svd] full_matrices is not supported: U and V have K columns and rows")
    u, s, v = _mge.ops.svd(inp)
    return (u, s, v) if compute_uv else s
