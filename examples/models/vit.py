# SPDX-License-Identifier: Apache-2.0
"""A vision transformer, ViT-B/16 (Dosovitskiy et al., 2020)."""

import numpy as np

import megengine.functional as F
import megengine.module as M
from megengine import Parameter

EPS = 1e-6


class EncoderLayer(M.Module):
    """Self-attention and a two-layer net, each of the normalised input and added to it.

    width: features of a token.
    heads: attention heads, a divisor of the width.
    hidden: features between the two layers.
    """

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.scale = (width // heads) ** -0.5
        self.ln_1, self.ln_2 = M.LayerNorm(width, eps=EPS), M.LayerNorm(width, eps=EPS)
        self.q, self.k = M.Linear(width, width), M.Linear(width, width)
        self.v, self.o = M.Linear(width, width), M.Linear(width, width)
        self.fc1, self.fc2 = M.Linear(width, hidden), M.Linear(hidden, width)

    def split_heads(self, x):
        """Return (N, L, width) as (N, heads, L, width / heads)."""
        shape = (x.shape[0], x.shape[1], self.heads, -1)
        return F.transpose(F.reshape(x, shape), (0, 2, 1, 3))

    def attend(self, x):
        q, k, v = (self.split_heads(project(x)) for project in (self.q, self.k, self.v))
        attention = F.softmax(F.matmul(q, k, transpose_b=True) * self.scale, axis=-1)
        return self.o(F.flatten(F.transpose(F.matmul(attention, v), (0, 2, 1, 3)), 2))

    def forward(self, x):
        x = x + self.attend(self.ln_1(x))
        return x + self.fc2(F.gelu(self.fc1(self.ln_2(x))))


class VisionTransformer(M.Module):
    """Patches of an image as tokens, and one more that becomes the answer.

    size: rows and columns of the image, a multiple of `patch`.
    """

    def __init__(self, size, patch, layers, width, heads, hidden, classes=1000):
        super().__init__()
        tokens = (size // patch) ** 2 + 1
        self.conv_proj = M.Conv2d(3, width, patch, patch)
        self.class_token = Parameter(np.zeros((1, 1, width), np.float32))
        self.pos_embedding = Parameter(np.zeros((1, tokens, width), np.float32))
        self.layers = M.Sequential(*[EncoderLayer(width, heads, hidden) for _ in range(layers)])
        self.ln = M.LayerNorm(width, eps=EPS)
        self.head = M.Linear(width, classes)

    def forward(self, x):
        patches = F.transpose(F.flatten(self.conv_proj(x), 2), (0, 2, 1))
        token = F.broadcast_to(self.class_token, (x.shape[0], 1, patches.shape[2]))
        x = F.concat([token, patches], axis=1) + self.pos_embedding
        return self.head(self.ln(self.layers(x))[:, 0])


def vit_b_16():
    """Return the net: (N, 3, 224, 224) to (N, 1000)."""
    return VisionTransformer(224, 16, 12, 768, 12, 3072)
