# SPDX-License-Identifier: Apache-2.0
"""Attention with several heads as a module."""

import numpy as np

from .. import functional as F
from ..tensor import Parameter, Tensor
from . import init
from .module import Module


class MultiHeadAttention(Module):
    """``functional.nn.multi_head_attention`` with its parameters in one, ``io_weight_bias`` (1, n):
    the matrices of query, key, value and output, which start uniform within Xavier's bounds, and
    their biases, which start at zero.

    Args:
        embed_dim: width of query and output.
        num_heads: number of heads; must divide ``embed_dim``.
        attn_dropout: probability that a weight is dropped in training.
        out_dropout: probability that an element of the output is dropped in training.
        bias: add learned biases.
        add_bias_kv: a learned further key and value, ``bias_k`` and ``bias_v``.
        add_zero_attn: a further key and value of zeros.
        kdim: width of the keys; default: ``embed_dim``.
        vdim: width of the values; default: ``embed_dim``.
    Raises:
        AssertionError: ``num_heads`` does not divide ``embed_dim``.
    Example:
        >>> x = F.ones((1, 3, 4))
        >>> M.MultiHeadAttention(4, 2)(x, x, x)[0].shape
        (1, 3, 4)
        >>> attention = M.MultiHeadAttention(4, 2)
        >>> attention.reset_parameters()  # draws the matrices again
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        attn_dropout: float = 0.0,
        out_dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        **kwargs,
    ):
        super().__init__(**kwargs)
        assert num_heads > 0 and embed_dim % num_heads == 0, (
            f"embed_dim must be divisible by num_heads, got {embed_dim} and {num_heads}"
        )
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self.attn_dropout = attn_dropout
        self.out_dropout = out_dropout
        self.bias = bias
        self.add_bias_kv = add_bias_kv
        self.add_zero_attn = add_zero_attn
        self.bias_k, self.bias_v = (
            Parameter(np.zeros((1, 1, embed_dim), np.float32)) if add_bias_kv else None
            for _ in range(2)
        )
        inputs = self._input_widths()
        self.weight_bias_len = sum(inputs) * embed_dim + (4 * embed_dim if bias else 0)
        self.io_weight_bias = Parameter(np.zeros((1, self.weight_bias_len), np.float32))
        self.reset_parameters()

    def _input_widths(self) -> tuple[int, int, int, int]:
        return self.embed_dim, self.kdim, self.vdim, self.embed_dim

    def reset_parameters(self) -> None:
        """Draw the matrices and the further key and value again, and set the biases to zero."""
        parts = []
        for width in self._input_widths():
            matrix = Parameter(np.zeros((width, self.embed_dim), np.float32))
            init.xavier_uniform_(matrix)
            parts.append(matrix.numpy().ravel())
        size = self.weight_bias_len - sum(part.size for part in parts)
        values = np.concatenate([*parts, np.zeros(size, np.float32)])
        self.io_weight_bias[...] = values[np.newaxis]
        for row in (self.bias_k, self.bias_v):
            if row is not None:
                init.xavier_uniform_(row)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        attn_mask: Tensor | None = None,
        need_weights: bool = False,
        average_attn_weights: bool = False,
        is_causal: bool = False,
        maybe_cudnn_style_mask: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        return F.nn.multi_head_attention(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.attn_dropout,
            self.out_dropout,
            self.io_weight_bias,
            qproj_size=self.embed_dim,
            kproj_size=self.embed_dim,
            vproj_size=self.embed_dim,
            oproj_size=self.embed_dim,
            qbias=self.bias,
            kbias=self.bias,
            vbias=self.bias,
            obias=self.bias,
            bias_k=self.bias_k,
            bias_v=self.bias_v,
            add_zero_attn=self.add_zero_attn,
            key_padding_mask=key_padding_mask,
            attn_mask=attn_mask,
            need_weights=need_weights,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
            maybe_cudnn_style_mask=maybe_cudnn_style_mask,
            training=self.training,
        )

    def _module_info_string(self) -> str:
        return (
            f"embed_dim={self.embed_dim}, num_heads={self.num_heads},"
            f" attn_dropout={self.attn_dropout}, out_dropout={self.out_dropout},"
            f" bias={self.bias}, kdim={self.kdim}, vdim={self.vdim}"
        )
