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

    def _attend(self, x):
        q, k, v = (self._split_heads(project(x)) for project in (self.q, self.k, self.v))
        attended = F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
        return self.o(attended.reshape(x.shape))

    def forward(self, x):
        x = self.ln1(x + self._attend(x))
        return self.ln2(x + self.fc2(F.gelu(self.fc1(x))))


class BertEncoder(nn.Module):
    """The stack of encoder layers of BERT, without its embeddings."""

    def __init__(self, layers=12, width=768, heads=12, hidden=3072):
        super().__init__()
        self.layers = nn.Sequential(*[EncoderLayer(width, heads, hidden) for _ in range(layers)])

    def forward(self, x):
        return self.layers(x)


class PreNormLayer(EncoderLayer):
    """One transformer layer that normalises before attention and linear layers, as ViT does."""

    def __init__(self, width, heads, hidden):
        super().__init__(width, heads, hidden)
        del self.ln1, self.ln2
        self.ln_1, self.ln_2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)

    def forward(self, x):
        x = x + self._attend(self.ln_1(x))
        return x + self.fc2(F.gelu(self.fc1(self.ln_2(x))))


class VisionTransformer(nn.Module):
    """Patches of an image as tokens, and one more that becomes the answer."""

    def __init__(self, size, patch, layers, width, heads, hidden, classes=1000):
        super().__init__()
        tokens = (size // patch) ** 2 + 1
        self.conv_proj = nn.Conv2d(3, width, patch, patch)
        self.class_token = nn.Parameter(torch.zeros(1, 1, width))
        self.pos_embedding = nn.Parameter(torch.zeros(1, tokens, width))
        self.layers = nn.Sequential(*[PreNormLayer(width, heads, hidden) for _ in range(layers)])
        self.ln = nn.LayerNorm(width, eps=1e-6)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        patches = self.conv_proj(x).flatten(2).transpose(1, 2)
        token = self.class_token.expand(x.shape[0], -1, -1)
        x = torch.cat([token, patches], 1) + self.pos_embedding
        return self.head(self.ln(self.layers(x))[:, 0])


class SequenceNet(nn.Module):
    """The outputs of the last of several recurrent layers."""

    def __init__(self, width=256, layers=2):
        super().__init__()
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0]


def conv_pair(in_channels, out_channels):
    layers = []
    for channels in (in_channels, out_channels):
        layers += [nn.Conv2d(channels, out_channels, 3, padding=1, bias=False)]
        layers += [nn.BatchNorm2d(out_channels), nn.ReLU()]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """A small U-Net with padded, normalised convolutions."""

    def __init__(self, widths=(16, 32, 64, 128), classes=4):
        super().__init__()
        pairs = list(zip(widths[:-1], widths[1:], strict=True))
        self.stem = conv_pair(3, widths[0])
        self.down = nn.ModuleList([conv_pair(a, b) for a, b in pairs])
        self.up = nn.ModuleList([nn.ConvTranspose2d(b, a, 2, stride=2) for a, b in reversed(pairs)])
        self.merge = nn.ModuleList([conv_pair(2 * a, a) for a, _ in reversed(pairs)])
        self.head = nn.Conv2d(widths[0], classes, 1)

    def forward(self, x):
        x = self.stem(x)
        seen = []
        for down in self.down:
            seen.append(x)
            x = down(F.max_pool2d(x, 2))
        for up, merge in zip(self.up, self.merge, strict=True):
            x = merge(torch.cat([up(x), seen.pop()], 1))
        return self.head(x)


def mlp():
    return nn.Sequential(
        nn.Linear(784, 512), nn.ReLU(), nn.Linear(512, 256), nn.ReLU(), nn.Linear(256, 10)
    )


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
    "mobilenet_v3_large": (vision.mobilenet_v3_large, IMAGE),
    "efficientnet_b0": (vision.efficientnet_b0, IMAGE),
    "vit_b_16": (lambda: VisionTransformer(224, 16, 12, 768, 12, 3072), IMAGE),
    "lstm": (SequenceNet, (128, 256)),
    "unet_small": (UNet, (3, 256, 256)),
    "mlp": (mlp, (784,)),
}


def recurrent_state(net, seed):
    """The weights of recurrent layers, which MegEngine keeps in one array, cell after cell."""
    state = {}
    for prefix, layer in net.named_modules():
        if not isinstance(layer, nn.LSTM):
            continue
        parts = {f"{prefix}.{name}": value for name, value in layer.named_parameters()}
        rows = 4 * layer.hidden_size
        columns = sum(value.numel() for value in parts.values()) // rows
        flat = torch.from_numpy(seeded_array(f"{prefix}._flatten_weights", (rows, columns), seed))
        pieces = flat.flatten().split([value.numel() for value in parts.values()])
        for (name, value), piece in zip(parts.items(), pieces, strict=True):
            state[name] = piece.reshape(value.shape)
    return state


def seeded(net, seed=0):
    """Return the net in evaluation mode with seeded weights."""
    state = net.state_dict()
    for name, value in state.items():
        if name.rsplit(".", 1)[-1] != "num_batches_tracked":
            state[name] = torch.from_numpy(seeded_array(name, tuple(value.shape), seed))
    net.load_state_dict({**state, **recurrent_state(net, seed)})
    return net.eval()


def build(name, seed=0):
    """Return one of MODELS, ready to run."""
    return seeded(MODELS[name][0](), seed)
