# SPDX-License-Identifier: Apache-2.0
"""The encoder of BERT (Devlin et al., 2019), without its embeddings."""

import megengine.functional as F
import megengine.module as M


class EncoderLayer(M.Module):
    """Self-attention and a two-layer net, each added to its input and normalised.

    width: features of a token.
    heads: attention heads, a divisor of the width.
    hidden: features between the two layers.
    """

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.q, self.k = M.Linear(width, width), M.Linear(width, width)
        self.v, self.o = M.Linear(width, width), M.Linear(width, width)
        self.ln1, self.ln2 = M.LayerNorm(width), M.LayerNorm(width)
        self.fc1, self.fc2 = M.Linear(width, hidden), M.Linear(hidden, width)

    def split_heads(self, x):
        """Return (N, L, width) as (N, heads, L, width / heads)."""
        shape = (x.shape[0], x.shape[1], self.heads, -1)
        return F.transpose(F.reshape(x, shape), (0, 2, 1, 3))

    def forward(self, x):
        q, k, v = (self.split_heads(project(x)) for project in (self.q, self.k, self.v))
        attention = F.softmax(F.matmul(q, k, transpose_b=True) * self.scale, axis=-1)
        joined = F.flatten(F.transpose(F.matmul(attention, v), (0, 2, 1, 3)), 2)
        x = self.ln1(x + self.o(joined))
        return self.ln2(x + self.fc2(F.gelu(self.fc1(x))))


class BertEncoder(M.Module):
    """A stack of encoder layers: (N, L, width) to the same."""

    def __init__(self, layers=12, width=768, heads=12, hidden=3072):
        super().__init__()
        self.layers = M.Sequential(*[EncoderLayer(width, heads, hidden) for _ in range(layers)])

    def forward(self, x):
        return self.layers(x)


def bert_base():
    """Return the encoder of BERT-base: (N, L, 768) to the same."""
    return BertEncoder()
