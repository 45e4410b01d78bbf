# SPDX-License-Identifier: Apache-2.0
"""Attention with several heads (Vaswani et al., 2017)."""

import functools
import math
from collections.abc import Iterator, Sequence

import numpy as np

from .. import _mge
from ..core.operands import beside, of_rank
from ..tensor import Tensor
from .activation import softmax
from .creation import as_tensors, zeros
from .dropout import dropout
from .elemwise import add, exp
from .math import matmul
from .math import max as largest
from .tensor import arange, broadcast_to, concat, expand_dims, reshape, transpose

__all__ = ["multi_head_attention"]

_HIDDEN = -math.inf  # added to the scores of masked keys


class _Packed:
    """Matrices and biases that are stored one after the other in one parameter."""

    def __init__(self, values: Tensor | None) -> None:
        self._values = None if values is None else values.reshape(-1)
        self._next = 0

    def take(self, *shape: int) -> Tensor:
        start, self._next = self._next, self._next + math.prod(shape)
        if self._values is None or self._next > self._values.shape[0]:
            has = 0 if self._values is None else self._values.shape[0]
            raise ValueError(
                f"[multi_head_attention] io_weight_bias has {has} elements, the projections and"
                f" biases take at least {self._next}"
            )
        return self._values[start : self._next].reshape(shape)

    def require_end(self) -> None:
        if self._values is not None and self._next != self._values.shape[0]:
            raise ValueError(
                f"[multi_head_attention] io_weight_bias has {self._values.shape[0]} elements, the"
                f" projections and biases take {self._next}"
            )


def _projections(
    packed: _Packed, inputs: Sequence[int], sizes: Sequence[int], biased: Sequence[bool]
) -> list[tuple[Tensor | None, Tensor | None]]:
    """(matrix or None, bias or None) for query, key, value and output."""
    matrices = [packed.take(i, o) if o else None for i, o in zip(inputs, sizes, strict=True)]
    biases = [
        packed.take(size) if has and size else None for size, has in zip(sizes, biased, strict=True)
    ]
    packed.require_end()
    return list(zip(matrices, biases, strict=True))


def _project(x: Tensor, projection: tuple[Tensor | None, Tensor | None]) -> Tensor:
    matrix, bias = projection
    if matrix is None:
        return x
    out = matmul(x, matrix)
    return out if bias is None else out + bias


def _heads(x: Tensor, num_heads: int, is_projected: bool) -> Tensor:
    """(N, L, E) as (N, L, heads, E / heads); what is not projected is whole in each head."""
    n, length, width = x.shape
    if is_projected:
        return x.reshape(n, length, num_heads, width // num_heads)
    return broadcast_to(expand_dims(x, 2), (n, length, num_heads, width))


def _heads_first(x: Tensor) -> Tensor:
    return transpose(x, (0, 2, 1, 3))


def _added(mask: Tensor) -> Tensor:
    """The term that a mask adds to the scores: the mask, or 0 and minus infinity for a bool
    mask."""
    if mask.dtype != np.bool_:
        return mask
    return _mge.ops.where(mask, _HIDDEN, 0.0)


def _from_bounds(bounds: Tensor, keys: int) -> Tensor:
    """(2, L), from which key to which, as a mask (L, S): true where a key is hidden."""
    first, end = bounds[0].reshape(-1, 1), bounds[1].reshape(-1, 1)
    with beside(bounds):
        at = arange(keys).reshape(1, -1)
    return (at < first) | (at >= end)


def _masks(
    sizes: tuple[int, ...],
    attn_mask: Tensor | None,
    key_padding_mask: Tensor | None,
    maybe_cudnn_style_mask: bool,
) -> Iterator[Tensor]:
    """Yields the terms added to scores of ``sizes``, (N, heads, L, S), except for the causal
    mask."""
    n, heads, queries, keys = sizes
    if attn_mask is not None:
        if maybe_cudnn_style_mask and tuple(attn_mask.shape) == (2, queries):
            attn_mask = _from_bounds(attn_mask, keys)
        if attn_mask.ndim == 3:
            attn_mask = attn_mask.reshape(n, heads, queries, keys)
        elif attn_mask.ndim != 2:
            raise ValueError(
                f"[multi_head_attention] attn_mask has 2 or 3 dimensions, got {attn_mask.ndim}"
            )
        yield _added(attn_mask)
    if key_padding_mask is not None:
        if maybe_cudnn_style_mask and tuple(key_padding_mask.shape) == (2, n):
            lengths = key_padding_mask[1].reshape(-1, 1)
            with beside(lengths):
                key_padding_mask = arange(keys).reshape(1, -1) >= lengths
        yield expand_dims(_added(broadcast_to(key_padding_mask, (n, keys))), (1, 2))


def _with_rows(x: Tensor, bias: Tensor | None, add_zero: bool) -> Tensor:
    """(N, S, E) with the bias (1, 1, E) and zeros as further rows of each sample."""
    n, _, width = x.shape
    rows = [] if bias is None else [broadcast_to(bias, (n, 1, width))]
    if add_zero:
        with beside(x):
            rows.append(zeros((n, 1, width)).astype(x.dtype))
    return concat([x, *rows], axis=1) if rows else x


def _seeing_more(mask: Tensor, more: int) -> Tensor:
    """A mask (..., S) of added terms for ``more`` further keys that each query sees."""
    if not more:
        return mask
    before, after = [0] * mask.ndim, [0] * (mask.ndim - 1) + [more]
    return _mge.ops.pad(mask, before=before, after=after, value=0.0)


def _later(queries: int, keys: int, like: Tensor) -> Tensor:
    """(L, S): true where a causal mask hides a key."""
    with beside(like):
        return arange(keys).reshape(1, -1) > arange(queries).reshape(-1, 1)


def _scores(q: Tensor, k: Tensor, mask: Tensor | None, is_causal: bool, scale: float) -> Tensor:
    """(N, heads, L, S)."""
    q, k = _heads_first(q), _heads_first(k)
    scores = matmul(q * scale, k, transpose_b=True)
    if is_causal:
        queries, keys = scores.shape[2:]
        scores = add(scores, _added(_later(queries, keys, scores)))
    return scores if mask is None else add(scores, mask)


def _weights(scores: Tensor, may_hide_all: bool) -> Tensor:
    """The softmax of scores; zeros for a query whose keys are all hidden, as in `attention`."""
    if not may_hide_all:
        return softmax(scores, -1)
    is_blind = largest(scores, -1, keepdims=True) == _HIDDEN
    weights = softmax(_mge.ops.where(is_blind, 0.0, scores), -1)
    return _mge.ops.where(is_blind, 0.0, weights)


def _attended(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    mask: Tensor | None,
    is_causal: bool,
    scale: float,
    drop: float,
    need_weights: bool,
) -> tuple[Tensor, Tensor | None]:
    """The attention output, (N, L, heads, E), and the weights, (N, heads, L, S), or None."""
    if drop:
        weights = _weights(_scores(q, k, mask, is_causal, scale), mask is not None)
        seen = matmul(dropout(weights, drop, True), _heads_first(v))
        return _heads_first(seen), weights
    out, log_sum_exp = _mge.ops.attention(
        q, k, v, mask, causal=is_causal, scale=scale, side_by_side=True
    )
    if not need_weights:
        return out, None
    scores = _scores(q, k, mask, is_causal, scale)
    return out, exp(scores - expand_dims(log_sum_exp, 3))


def _checked_widths(
    operands: tuple[Tensor, ...], sizes: list[int], embed_dim: int, num_heads: int
) -> tuple[int, ...]:
    """Returns how many rows each matrix has: of query, key, value and output.

    Raises:
        AssertionError: a size is not divisible by the number of heads.
    """
    widths = [x.shape[-1] for x in operands]
    for width in (embed_dim if sizes[0] else 0, *sizes[:3]):
        assert width % num_heads == 0, f"{num_heads} heads do not divide {width}"
    return (*widths, sizes[2] or widths[2] * num_heads)


def multi_head_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim: int,
    num_heads: int,
    attn_drop: float,
    out_drop: float,
    io_weight_bias: Tensor | None,
    qproj_size: int | None = None,
    kproj_size: int | None = None,
    vproj_size: int | None = None,
    oproj_size: int | None = None,
    qbias: bool = False,
    kbias: bool = False,
    vbias: bool = False,
    obias: bool = False,
    bias_k: Tensor | None = None,
    bias_v: Tensor | None = None,
    add_zero_attn: bool = False,
    key_padding_mask: Tensor | None = None,
    attn_mask: Tensor | None = None,
    need_weights: bool = False,
    average_attn_weights: bool = False,
    is_causal: bool = False,
    maybe_cudnn_style_mask: bool = False,
    reslink: bool = False,
    training: bool = True,
) -> tuple[Tensor, Tensor | None]:
    """Multi-head attention: each query's mean of the values, weighted by its similarity to their
    keys.

    Args:
        query: (N, L, Eq), floating.
        key: (N, S, Ek).
        value: (N, S, Ev).
        embed_dim: total size of all heads; divisible by ``num_heads``. Scores are divided by the
            root of a head's share of it, or of ``Eq`` if the query has no matrix.
        num_heads: number of heads.
        attn_drop: probability that a weight is dropped.
        out_drop: probability that an element of the output is dropped.
        io_weight_bias: the matrices of query, key, value and output (x @ W, row by row), then their
            biases, concatenated; any shape.
        qproj_size, kproj_size, vproj_size, oproj_size: columns of these matrices; ``embed_dim`` by
            default. 0: no matrix, and each head takes all of the query, key or value.
        qbias, kbias, vbias, obias: the query, key, value or output has a bias.
        bias_k, bias_v: (1, 1, E), a further key and value after the others, which all queries see;
            of the width that keys and values have with their matrix applied.
        add_zero_attn: one more key and value of zeros, which all queries see.
        key_padding_mask: (N, S): True hides a key, numbers are added to its scores. In cuDNN's
            style (2, N): the second row has the number of keys. The output of a query that sees no
            key is 0, or NaN if weights are dropped.
        attn_mask: (L, S), or (N * heads, L, S): the same for each pair of query and key. In cuDNN's
            style (2, L): the first key that each query sees, and the end.
        need_weights: return the weights, too.
        average_attn_weights: return their mean over the heads instead of each head's.
        is_causal: a query sees no key after its own position; ``attn_mask`` replaces that rule.
        maybe_cudnn_style_mask: masks with two rows are in cuDNN's style.
        reslink: add the query to the output.
        training: False disables dropout.
    Returns:
        The output (N, L, ``oproj_size``), and with ``need_weights`` the weights: (N * heads, L, S),
        or (N, L, S) when averaged; S counts further keys, too.
    Raises:
        AssertionError: only one of ``bias_k`` and ``bias_v`` is given, or ``num_heads`` does not
            divide a size.
        RuntimeError: the rank of ``query``, ``key`` or ``value`` is not 3.
        ValueError: ``io_weight_bias`` has too few or too many elements.
    Example:
        >>> x = F.ones((1, 2, 4))
        >>> F.nn.multi_head_attention(x, x, x, 4, 2, 0.0, 0.0, F.ones(64) / 8)[0].shape
        (1, 2, 4)
    """
    assert (bias_k is None) == (bias_v is None), "bias_k and bias_v go together"
    query, key, value, io_weight_bias = as_tensors(query, key, value, io_weight_bias)
    operands = (query, key, value)
    of_rank("multi_head_attention", 3, query=query, key=key, value=value)
    sizes = [
        embed_dim if size is None else size
        for size in (qproj_size, kproj_size, vproj_size, oproj_size)
    ]
    widths = _checked_widths(operands, sizes, embed_dim, num_heads)
    biases = (qbias, kbias, vbias, obias)
    *parts, of_output = _projections(_Packed(io_weight_bias), widths, sizes, biases)
    projected = [_project(x, part) for x, part in zip(operands, parts, strict=True)]
    given_keys = projected[1].shape[1]
    for i, bias in ((1, bias_k), (2, bias_v)):
        projected[i] = _with_rows(projected[i], bias, add_zero_attn)
    q, k, v = (
        _heads(x, num_heads, part[0] is not None) for x, part in zip(projected, parts, strict=True)
    )
    scale = 1 / math.sqrt(embed_dim // num_heads if sizes[0] else q._tuple_shape[-1])
    n, queries, heads, _ = q.shape
    more_keys = k.shape[1] - given_keys
    shape = (n, heads, queries, given_keys)
    masks = list(_masks(shape, attn_mask, key_padding_mask, maybe_cudnn_style_mask))
    is_causal = is_causal and attn_mask is None
    if more_keys and is_causal:
        masks.append(_added(_later(queries, given_keys, q)))
        is_causal = False
    mask = _seeing_more(functools.reduce(add, masks), more_keys) if masks else None
    drop = attn_drop if training else 0.0
    seen, weights = _attended(q, k, v, mask, is_causal, scale, drop, need_weights)
    out = reshape(seen, (n, queries, heads * v.shape[-1]))
    out = dropout(_project(out, of_output), out_drop, training)
    if reslink:
        out = out + query
    if weights is not None:
        of_each_head = (n * heads, queries, k.shape[1])
        weights = weights.mean(1) if average_attn_weights else weights.reshape(of_each_head)
    return out, weights
