# SPDX-License-Identifier: Apache-2.0
"""Language models as exporters write them, with random weights, beside ONNX Runtime in turns.

    build/peers/bin/python benchmarks/inference/language_models.py export DIR
    MGE_THREADS=1 PYTHONPATH=build/release/python taskset -c 0 \\
        .venv/bin/python benchmarks/inference/language_models.py measure DIR --rounds 15

The first needs PyTorch, the second both engines. Nets are blocks of layers over words that are
vectors already: Llama's normalise by RMS, turn positions, have fewer heads of keys than of queries
and gate by SiLU; GPT-2's have biases, layer norm and GELU by tanh. Masks are causal constants.
"""

import argparse
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

TOLERANCE = 1e-3  # relative to random activations of size 1, after several layers


def blocks():
    """The nets by name: a module, the width of its words and how many there are."""
    import torch
    import torch.nn.functional as F
    from torch import nn

    def hidden_above(words):
        return torch.full((words, words), torch.finfo(torch.float32).min).triu(1)[None, None]

    class RmsNorm(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(1 + 0.1 * torch.randn(width))

        def forward(self, x):
            return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))

    class Attention(nn.Module):
        """Its queries see what comes before them; positions are turned where `turns` says so."""

        def __init__(self, width, heads, shared, words, bias, turns):
            super().__init__()
            self.heads, self.shared, self.head = heads, shared, width // heads
            self.q = nn.Linear(width, width, bias)
            self.k = nn.Linear(width, shared * self.head, bias)
            self.v = nn.Linear(width, shared * self.head, bias)
            self.o = nn.Linear(width, width, bias)
            self.turns = turns
            self.register_buffer("mask", hidden_above(words))
            rates = 10000.0 ** (-torch.arange(0, self.head, 2) / self.head)
            angles = torch.arange(words)[:, None] * torch.cat([rates, rates])[None]
            self.register_buffer("cos", angles.cos()[None, None])
            self.register_buffer("sin", angles.sin()[None, None])

        def turned(self, x):
            first, second = x[..., : self.head // 2], x[..., self.head // 2 :]
            return x * self.cos + torch.cat([-second, first], -1) * self.sin

        def repeated(self, x):
            batch, shared, words, head = x.shape
            times = self.heads // self.shared
            x = x[:, :, None].expand(batch, shared, times, words, head)
            return x.reshape(batch, self.heads, words, head)

        def forward(self, x):
            batch, words, width = x.shape
            q, k, v = (
                p(x).view(batch, words, -1, self.head).transpose(1, 2)
                for p in (self.q, self.k, self.v)
            )
            if self.turns:
                q, k = self.turned(q), self.turned(k)
            if self.shared < self.heads:
                k, v = self.repeated(k), self.repeated(v)
            scores = q @ k.transpose(2, 3) * self.head**-0.5 + self.mask
            y = F.softmax(scores, -1) @ v
            return self.o(y.transpose(1, 2).reshape(batch, words, width))

    class Llama(nn.Module):
        def __init__(self, width, heads, shared, hidden, words):
            super().__init__()
            self.attention = Attention(width, heads, shared, words, bias=False, turns=True)
            self.before, self.between = RmsNorm(width), RmsNorm(width)
            self.gate = nn.Linear(width, hidden, bias=False)
            self.up = nn.Linear(width, hidden, bias=False)
            self.down = nn.Linear(hidden, width, bias=False)

        def forward(self, x):
            x = x + self.attention(self.before(x))
            y = self.between(x)
            return x + self.down(F.silu(self.gate(y)) * self.up(y))

    class TanhGelu(nn.Module):
        def forward(self, x):
            return 0.5 * x * (1 + torch.tanh(0.7978845608028654 * (x + 0.044715 * x.pow(3))))

    def products(width):
        return nn.Sequential(nn.Linear(width, 4 * width), TanhGelu(), nn.Linear(4 * width, width))

    class Gpt2(nn.Module):
        def __init__(self, width, heads, words):
            super().__init__()
            self.attention = Attention(width, heads, heads, words, bias=True, turns=False)
            self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
            self.products = products(width)

        def forward(self, x):
            x = x + self.attention(self.before(x))
            return x + self.products(self.between(x))

    def llama(words):
        layers = [Llama(512, 8, 2, 1376, words) for _ in range(4)]
        return nn.Sequential(*layers, RmsNorm(512)), 512, words

    def gpt2(words):
        layers = [Gpt2(768, 12, words) for _ in range(2)]
        return nn.Sequential(*layers, nn.LayerNorm(768)), 768, words

    return {
        "llama_64": llama(64),
        "llama_256": llama(256),
        "gpt2_64": gpt2(64),
        "gpt2_256": gpt2(256),
        "tanh_gelu_256": (products(768), 768, 256),
        "attention_256": (Attention(768, 12, 12, 256, True, False), 768, 256),
        "rms_norm_256": (nn.Sequential(RmsNorm(512), nn.Linear(512, 1376, False)), 512, 256),
    }


def export(folder):
    """Writes DIR/NAME.onnx of each net."""
    import torch

    torch.manual_seed(0)
    folder.mkdir(parents=True, exist_ok=True)
    for name, (net, width, words) in blocks().items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                net.eval(),
                (torch.randn(1, words, width),),
                str(folder / f"{name}.onnx"),
                dynamo=False,
                opset_version=17,
                input_names=["x"],
                output_names=["y"],
            )


def contestants(path):
    """A function of the input for each engine, and an input."""
    import onnxruntime

    from megengine import _mge

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    model = _mge.load(str(path))
    (shape, _), *_ = model.input_specs
    x = np.random.default_rng(0).standard_normal(shape, np.float32)
    return x, (lambda x: session.run(None, {"x": x})[0], lambda x: model.run([x])[0].numpy())


def measure(path, rounds):
    """Prints a row of a table: minima and medians in ms, and their ratios."""
    x, runs = contestants(path)
    np.testing.assert_allclose(*(run(x) for run in runs), rtol=TOLERANCE, atol=TOLERANCE)
    times = ([], [])
    for turn in range(rounds):
        # The first one may find the caches cold.
        for which in (0, 1) if turn % 2 else (1, 0):
            start = time.perf_counter()
            runs[which](x)
            times[which].append((time.perf_counter() - start) * 1e3)
    (a, b), (c, d) = ((min(each), statistics.median(each)) for each in times)
    print(f"| {path.stem} | {a:.2f}, {b:.2f} | {c:.2f}, {d:.2f} | {c / a:.2f}, {d / b:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["export", "measure"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    if arguments.what == "export":
        return export(arguments.folder)
    print("| net | ONNX Runtime | MGE | ratio of minima, of medians |\n|---|---|---|---|")
    for path in sorted(arguments.folder.glob("*.onnx")):
        measure(path, arguments.rounds)


if __name__ == "__main__":
    main()
