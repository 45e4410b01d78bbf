# SPDX-License-Identifier: Apache-2.0
"""The example models in PyTorch, with the weights of examples/models/seeded_weights.py.

Layers carry the same names as in examples/models, so that both sides derive equal weights.
"""

import sys
from pathlib import Path

import torch
import torch.nn.functional as F
import torchvision.models as vision
from torch import nn

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples" / "models"))
from seeded_weights import seeded_array  # noqa: E402


class EncoderLayer(nn.Module):
    """One transformer layer that normalises after each residual sum, as BERT does."""

    def __init__(self, width, heads, hidden):
        super().__init__()
        self.heads = heads
        self.q, self.k = nn.Linear(width, width), nn.Linear(width, width)
        self.v, self.o = nn.Linear(width, width), nn.Linear(width, width)
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.fc1, self.fc2 = nn.Linear(width, hidden), nn.Linear(hidden, width)

    def _split_heads(self, x):
        batch, length, width = x.shape
        return x.reshape(batch, length, self.heads, width // self.heads).transpose(1, 2)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = (self._split_heads(project(x)) for project in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        x = self.ln1(x + self.o(attended.reshape(batch, length, width)))
        return self.ln2(x + self.fc2(F.gelu(self.fc1(x))))


class BertEncoder(nn.Module):
    """The stack of encoder layers of BERT, without its embeddings."""

    def __init__(self, layers=12, width=768, heads=12, hidden=3072):
        super().__init__()
        self.layers = nn.Sequential(*[EncoderLayer(width, heads, hidden) for _ in range(layers)])

    def forward(self, x):
        return self.layers(x)


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(400, 120),
        nn.ReLU(),
        nn.Linear(120, 84),
        nn.ReLU(),
        nn.Linear(84, 10),
    )


IMAGE = (3, 224, 224)

# name: (constructor, shape of one sample)
MODELS = {
    "lenet": (lenet, (1, 28, 28)),
    "resnet18": (vision.resnet18, IMAGE),
    "resnet50": (vision.resnet50, IMAGE),
    "mobilenet_v2": (vision.mobilenet_v2, IMAGE),
    "shufflenet_v2_x1_0": (vision.shufflenet_v2_x1_0, IMAGE),
    "vgg16": (vision.vgg16, IMAGE),
    "bert_base": (BertEncoder, (128, 768)),
}


def seeded(net, seed=0):
    """Return the net in evaluation mode with seeded weights."""
    state = net.state_dict()
    for name, value in state.items():
        if name.rsplit(".", 1)[-1] != "num_batches_tracked":
            state[name] = torch.from_numpy(seeded_array(name, tuple(value.shape), seed))
    net.load_state_dict(state)
    return net.eval()


def build(name, seed=0):
    """Return one of MODELS, ready to run."""
    return seeded(MODELS[name][0](), seed)
