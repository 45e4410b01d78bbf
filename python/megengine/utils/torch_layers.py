# SPDX-License-Identifier: Apache-2.0
"""Layers that PyTorch has and ``module`` has otherwise: names and arguments are PyTorch's."""

import math

import numpy as np

from .. import functional as F
from .. import module as M
from ..module import Module
from ..tensor import Parameter, Tensor
from .torch_functions import FUNCTIONS, drop_whole, weights_of, with_mask


class Flatten(Module):
    """Equivalent of torch.nn.Flatten."""

    def __init__(self, start: int, end: int):
        super().__init__()
        self.start, self.end = start, end

    def forward(self, inputs: Tensor) -> Tensor:
        return inputs.flatten(self.start, self.end)


class Function(Module):
    """A layer that is a function without parameters."""

    def __init__(self, name: str, *arguments):
        super().__init__()
        self.function, self.arguments = name, arguments

    def forward(self, inputs: Tensor) -> Tensor:
        return FUNCTIONS[self.function](inputs, *self.arguments)


class OneAxis(Module):
    """A layer for images that works on sequences, (batch, channels, length)."""

    def __init__(self, layer: Module):
        super().__init__()
        self.layer = layer

    def forward(self, inputs: Tensor) -> Tensor:
        return F.squeeze(self.layer(F.expand_dims(inputs, 2)), 2)


class ChannelDropout(Module):
    """Equivalent of torch.nn.Dropout1d and Dropout2d: drops whole channels."""

    def __init__(self, chance: float):
        super().__init__()
        self.chance = chance

    def forward(self, inputs: Tensor) -> Tensor:
        return drop_whole(inputs, self.chance, 2) if self.training else inputs


class PaddedEmbedding(M.Embedding):
    """Equivalent of torch.nn.Embedding with ``padding_idx``, whose row has no gradient."""

    def __init__(self, padding: int, *sizes: int):
        super().__init__(*sizes)
        self.padding = padding

    def forward(self, inputs: Tensor) -> Tensor:
        found = super().forward(inputs)
        if not self.training:
            return found
        return F.where(F.expand_dims(inputs != self.padding, -1), found, found.detach())


class CeilMaxPool(Module):
    """Equivalent of torch.nn.MaxPool2d with ``ceil_mode``: the last windows may exceed the
    padding."""

    def __init__(self, kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int]):
        super().__init__()
        self.sizes = list(zip(kernel, stride, padding, strict=True))

    def forward(self, inputs: Tensor) -> Tensor:
        widths = [(0, 0), (0, 0)]
        for have, (kernel, stride, padding) in zip(
            inputs._tuple_shape[2:], self.sizes, strict=True
        ):
            last = -(-(have + 2 * padding - kernel) // stride)
            last -= last * stride >= have + padding  # a window must begin before the end
            widths.append((padding, max(0, last * stride + kernel - padding - have)))
        inputs = F.pad(inputs, widths, constant_value=-np.inf)
        kernel, stride, _ = zip(*self.sizes, strict=True)
        return F.max_pool2d(inputs, kernel, stride)


class Attention(Module):
    """Equivalent of torch.nn.MultiheadAttention, with keys and values of the width of the
    queries."""

    def __init__(self, width: int, heads: int, dropout: float, bias: bool, batch_first: bool):
        super().__init__()
        self.heads, self.dropout, self.batch_first = heads, dropout, batch_first
        self.in_proj_weight = Parameter(np.zeros((3 * width, width), np.float32))
        self.in_proj_bias = Parameter(np.zeros(3 * width, np.float32)) if bias else None
        self.out_proj = M.Linear(width, width, bias=bias)

    def _heads_of(self, x: Tensor, part: int) -> Tensor:
        """(batch, heads, sequence, width of a head) of the projection of x."""
        width = x.shape[-1]
        rows = slice(part * x._tuple_shape[-1], (part + 1) * x._tuple_shape[-1])
        bias = None if self.in_proj_bias is None else self.in_proj_bias[rows]
        x = F.linear(x, self.in_proj_weight[rows], bias)
        x = F.reshape(x, (x.shape[0], x.shape[1], self.heads, width // self.heads))
        return F.transpose(x, (0, 2, 1, 3) if self.batch_first else (1, 2, 0, 3))

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """The result and the weights of the mean head; masks that are bools hide where True."""
        q, k, v = (self._heads_of(x, part) for part, x in enumerate((query, key, value)))
        scores = F.matmul(q / math.sqrt(q._tuple_shape[-1]), k, transpose_b=True)
        if attn_mask is not None:
            if attn_mask.ndim == 3:
                attn_mask = F.reshape(attn_mask, (-1, self.heads, *attn_mask.shape[1:]))
            scores = with_mask(scores, attn_mask, True)
        if key_padding_mask is not None:
            scores = with_mask(scores, key_padding_mask[:, None, None], True)
        # PyTorch's weights of a query that sees no key are NaN, its result without weights is 0.
        weights = F.softmax(scores, axis=-1) if need_weights else weights_of(scores)
        if self.dropout:
            weights = F.dropout(weights, self.dropout, training=self.training)
        found = F.transpose(
            F.matmul(weights, v), (0, 2, 1, 3) if self.batch_first else (2, 0, 1, 3)
        )
        found = self.out_proj(F.flatten(found, 2))
        if not need_weights:
            return found, None
        return found, F.mean(weights, axis=1) if average_attn_weights else weights


class EncoderLayer(Module):
    """Equivalent of torch.nn.TransformerEncoderLayer.

    Args:
        parts: its layers by name, converted.
        activation: the name of a function.
        norm_first: normalise before attention and product, not behind.
    """

    def __init__(self, parts: dict[str, Module], activation: str, norm_first: bool):
        super().__init__()
        for name, part in parts.items():
            setattr(self, name, part)
        self.function, self.norm_first = activation, norm_first

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """The sequence after attention and two products."""
        masks = {"attn_mask": src_mask, "key_padding_mask": src_key_padding_mask}

        def attend(x: Tensor) -> Tensor:
            return self.dropout1(self.self_attn(x, x, x, need_weights=False, **masks)[0])

        def multiply(x: Tensor) -> Tensor:
            x = self.dropout(FUNCTIONS[self.function](self.linear1(x)))
            return self.dropout2(self.linear2(x))

        if self.norm_first:
            src = src + attend(self.norm1(src))
            return src + multiply(self.norm2(src))
        src = self.norm1(src + attend(src))
        return self.norm2(src + multiply(src))


class Encoder(Module):
    """Equivalent of torch.nn.TransformerEncoder.

    Args:
        layers: its layers, converted.
        norm: the final normalisation; None: no normalisation.
    """

    def __init__(self, layers: list[Module], norm: Module | None):
        super().__init__()
        self.layers, self.norm = layers, norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """The sequence after all layers."""
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask)
        return src if self.norm is None else self.norm(src)


def recurrent(cls: type, layer, arrays: dict[str, np.ndarray], **others) -> Module:
    """An ``LSTM`` or ``RNN`` with the weights of PyTorch's, which go into one parameter.

    Args:
        cls: the class.
        layer: the layer of PyTorch.
        arrays: its state dict.
        others: more arguments of the class.
    """
    sizes = layer.input_size, layer.hidden_size, layer.num_layers
    ways = layer.batch_first, layer.dropout, layer.bidirectional
    made = cls(*sizes, layer.bias, *ways, layer.proj_size, **others)
    ends = ["", "_reverse"][: made.num_directions]
    cells = [f"l{k}{end}" for k in range(layer.num_layers) for end in ends]
    kinds = ["weight_ih", "weight_hh"] + ["bias_ih", "bias_hh"] * layer.bias
    flat = np.concatenate([arrays[f"{kind}_{cell}"].ravel() for cell in cells for kind in kinds])
    weights = made._flatten_weights
    weights._reset(Tensor(flat.reshape(weights._tuple_shape)))
    if layer.proj_size:
        projections = np.stack([arrays[f"weight_hr_{cell}"] for cell in cells])
        made._projections._reset(Tensor(projections))
    return made
