# SPDX-License-Identifier: Apache-2.0
"""Writes tests/data/onnx/exports: small nets with random weights as PyTorch exports them.

Needs torch and transformers, which the tests do not; dy_ is of the exporter over torch.export, ts_
of that over TorchScript.
"""

from pathlib import Path

import torch
import transformers
from torch import nn

OUT = Path(__file__).resolve().parent / "onnx" / "exports"
B, T = torch.export.Dim("b"), torch.export.Dim("t")


def by_script(name, net, args, inputs, axes):
    net.eval()
    path = str(OUT / f"ts_{name}.onnx")
    torch.onnx.export(
        net, args, path, input_names=inputs, dynamic_axes=axes, opset_version=17, dynamo=False
    )


def by_graph(name, net, args, inputs, shapes, **options):
    net.eval()
    path = str(OUT / f"dy_{name}.onnx")
    how = {"dynamic_shapes": shapes, "external_data": False, "input_names": inputs, **options}
    torch.onnx.export(net, args, path, dynamo=True, **how)


class Volumes(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.norm = nn.Conv3d(3, 8, 3, padding=1), nn.BatchNorm3d(8)
        self.pool = nn.MaxPool3d(2)
        self.second = nn.Conv3d(8, 8, (1, 3, 3), stride=(1, 2, 2), groups=8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        y = self.second(self.pool(torch.relu(self.norm(self.first(x)))))
        return self.head(y.mean((2, 3, 4)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.first = nn.LSTM(16, 12, 2, batch_first=True, bidirectional=True)
        self.second, self.head = nn.GRU(24, 8, batch_first=True), nn.Linear(8, 3)

    def forward(self, x):
        y, _ = self.first(self.words(x))
        y, _ = self.second(y)
        return self.head(y)


class Scripted(nn.Module):
    def forward(self, x: torch.Tensor, n: torch.Tensor):
        y = torch.zeros_like(x)
        for i in range(int(n)):
            if bool((x.sum() + i) > 0):
                y = y + x * i
            else:
                y = y - x
        return y


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts, self.norm, self.head = nn.Linear(32, 96), nn.RMSNorm(32), nn.Linear(32, 32)

    def forward(self, x):
        b, t, _ = x.shape
        parts = self.parts(self.norm(x)).view(b, t, 3, 4, 8).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(*parts.unbind(0), is_causal=True)
        return self.head(y.transpose(1, 2).reshape(b, t, 32))


class Warped(nn.Module):
    def __init__(self):
        super().__init__()
        self.place = nn.Linear(16, 6)

    def forward(self, x, f):
        matrix = self.place(f).view(-1, 2, 3)
        grid = nn.functional.affine_grid(matrix, x.shape, align_corners=False)
        y = nn.functional.grid_sample(x, grid, align_corners=False)
        return torch.einsum("bchw,bdhw->bcd", y, x), torch.linalg.norm(y, dim=1)


class First(nn.Module):
    """The first result of a model of transformers."""

    def __init__(self, net, *keys):
        super().__init__()
        self.net, self.keys = net, keys

    def forward(self, *inputs):
        return self.net(**dict(zip(self.keys, inputs, strict=True)), return_dict=True)[0]


def speech():
    config = transformers.Wav2Vec2Config(
        vocab_size=20,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        conv_dim=[16, 16],
        conv_stride=[5, 2],
        conv_kernel=[10, 3],
        num_feat_extract_layers=2,
        num_conv_pos_embeddings=8,
        num_conv_pos_embedding_groups=2,
        apply_spec_augment=False,
    )
    return First(transformers.Wav2Vec2Model(config), "input_values")


def llama():
    config = transformers.LlamaConfig(
        vocab_size=60,
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        intermediate_size=64,
        max_position_embeddings=64,
        use_cache=False,
    )
    return First(transformers.LlamaForCausalLM(config), "input_ids", "attention_mask")


def main():
    torch.manual_seed(0)
    OUT.mkdir(parents=True, exist_ok=True)
    batch, both = {0: "b"}, {0: "b", 1: "t"}
    words = torch.randint(0, 50, (2, 7))
    by_script("conv3d", Volumes(), (torch.randn(2, 3, 8, 16, 16),), ["x"], {"x": batch})
    by_graph("lstm", Recurrent(), (words,), ["x"], ({0: B, 1: T},))
    loop = torch.jit.script(Scripted())
    by_script("scripted", loop, (torch.randn(2, 3), torch.tensor(3)), ["x", "n"], {"x": batch})
    x = torch.randn(2, 6, 32)
    by_graph("attention23", Attention(), (x,), ["x"], ({0: B, 1: T},), opset_version=23)
    warped = (torch.randn(2, 3, 8, 8), torch.randn(2, 16))
    by_graph("gridsample", Warped(), warped, ["x", "f"], ({0: B}, {0: B}), opset_version=20)
    by_script("wav2vec2", speech(), (torch.randn(2, 400),), ["x"], {"x": {0: "b", 1: "n"}})
    inputs = ["input_ids", "attention_mask"]
    texts = (words, torch.ones(2, 7, dtype=torch.long))
    by_script("llama", llama(), texts, inputs, dict.fromkeys(inputs, both))


if __name__ == "__main__":
    main()
