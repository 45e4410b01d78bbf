# SPDX-License-Identifier: Apache-2.0
"""Writes language models with a KV cache as ONNX files, with random weights. Needs numpy and onnx.

Two nets: `gpt2` has the layers of GPT-2 small (124 M weights; a table is stored once per use),
`llama` those of a Llama with grouped heads (about 100 M). Two styles:

- `concat`, as exporters of PyTorch write it: each run extends a past of any length by Concat.
- `shared`, as onnxruntime-genai writes it: com.microsoft.GroupQueryAttention. The past has a fixed
  length, and the present shares its memory.

Weights are float32, or MatMulNBits of 8 or 4 bits in groups of 32 columns.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper

LEAST = float(np.finfo(np.float32).min)
GROUP = 32


@dataclass(frozen=True)
class Sizes:
    """The sizes of a net."""

    layers: int
    width: int
    heads: int
    shared: int  # heads of keys and values
    hidden: int
    words: int  # size of the vocabulary
    places: int  # most positions
    is_llama: bool

    @property
    def head(self) -> int:
        """The width of a head."""
        return self.width // self.heads


NETS = {
    "gpt2": Sizes(12, 768, 12, 12, 3072, 50257, 1024, False),
    "llama": Sizes(12, 768, 12, 4, 1792, 32000, 1024, True),
    "tiny_gpt2": Sizes(2, 64, 4, 4, 128, 97, 64, False),
    "tiny_llama": Sizes(2, 64, 4, 2, 96, 97, 64, True),
}
STYLES = ("concat", "shared")


class Weights:
    """The weights of a net by name, the same for all styles and engines."""

    def __init__(self, sizes: Sizes) -> None:
        self.sizes = sizes
        self._random = np.random.default_rng(0)
        self.tables: dict[str, np.ndarray] = {}
        s, kv = sizes, sizes.shared * sizes.head
        self._add("embed", (s.words, s.width), 0.1)
        if not s.is_llama:
            self._add("place", (s.places, s.width), 0.1)
        for i in range(s.layers):
            shapes = {"q": (s.width, s.width), "k": (kv, s.width), "v": (kv, s.width)}
            shapes |= {"o": (s.width, s.width), "up": (s.hidden, s.width)}
            shapes |= {"gate": (s.hidden, s.width)} if s.is_llama else {}
            shapes |= {"down": (s.width, s.hidden)}
            for name, shape in shapes.items():
                self._add(f"{i}.{name}", shape, 1 / np.sqrt(shape[1]))
                if not s.is_llama:
                    self._add(f"{i}.{name}.bias", shape[:1], 0.02)
            self._norm(f"{i}.before")
            self._norm(f"{i}.between")
        self._norm("last")
        self._add("head", (s.words, s.width), 1 / np.sqrt(s.width))

    def _add(self, name: str, shape: tuple, scale: float) -> None:
        self.tables[name] = self._random.standard_normal(shape, np.float32) * np.float32(scale)

    def _norm(self, name: str) -> None:
        self._add(name, (self.sizes.width,), 0.1)
        self.tables[name] += 1
        if not self.sizes.is_llama:
            self._add(f"{name}.bias", (self.sizes.width,), 0.02)

    def products(self) -> list[str]:
        """The names of the matrices that each word is multiplied by."""
        return [n for n, w in self.tables.items() if w.ndim == 2 and n not in ("embed", "place")]

    def bytes_per_word(self, bits: int) -> float:
        """Bytes of the matrices that a word is multiplied by, scales included."""
        count = sum(self.tables[name].size for name in self.products())
        return count * (4 if bits == 32 else bits / 8 + 4 / GROUP)


def quantised(w: np.ndarray, bits: int) -> tuple[np.ndarray, np.ndarray]:
    """Bytes (rows, groups, bytes of a group) and scales (rows * groups) of a matrix."""
    rows, columns = w.shape
    groups = w.reshape(rows, columns // GROUP, GROUP)
    most = 2 ** (bits - 1)
    extreme = np.take_along_axis(groups, np.abs(groups).argmax(-1)[..., None], -1)
    scale = (extreme / -most).astype(np.float32)
    steps = np.clip(np.rint(groups / np.where(scale == 0, 1, scale)) + most, 0, 2 * most - 1)
    steps = steps.astype(np.uint8)
    if bits == 4:
        steps = steps[..., ::2] | steps[..., 1::2] << 4
    return steps, scale.reshape(-1)


class _Writer:
    """A graph that grows."""

    def __init__(self, weights: Weights, style: str, bits: int) -> None:
        self.weights, self.sizes = weights, weights.sizes
        self.style, self.bits = style, bits
        self.nodes: list = []
        self.constants: dict[str, onnx.TensorProto] = {}
        self.inputs: list = []
        self.outputs: list = []

    def add(self, op: str, *inputs: str, count: int = 1, outputs=None, domain="", **attributes):
        outputs = outputs or [f"{op}_{len(self.nodes)}_{i}" for i in range(count)]
        self.nodes.append(helper.make_node(op, inputs, outputs, domain=domain, **attributes))
        return outputs[0] if len(outputs) == 1 else outputs

    def runtime(self, op: str, *inputs: str, **attributes):
        return self.add(op, *inputs, domain="com.microsoft", **attributes)

    def constant(self, value, name: str | None = None) -> str:
        value = np.asarray(value)
        name = name or f"c_{value.dtype}_{'_'.join(map(str, value.shape))}_{value.tobytes().hex()}"
        if name not in self.constants:
            self.constants[name] = onnx.numpy_helper.from_array(np.ascontiguousarray(value), name)
        return name

    def ints(self, *values: int) -> str:
        return self.constant(np.array(values, np.int64))

    def real(self, value: float) -> str:
        return self.constant(np.float32(value))

    def weight(self, name: str) -> str:
        return self.constant(self.weights.tables[name], name)

    def product(self, x: str, name: str) -> str:
        w = self.weights.tables[name]
        if self.bits == 32:
            y = self.add("MatMul", x, self.constant(w.T, f"{name}.transposed"))
        else:
            steps, scale = quantised(w, self.bits)
            operands = self.constant(steps, f"{name}.steps"), self.constant(scale, f"{name}.scale")
            sizes = {"N": w.shape[0], "K": w.shape[1], "bits": self.bits, "block_size": GROUP}
            y = self.runtime("MatMulNBits", x, *operands, accuracy_level=4, **sizes)
        bias = f"{name}.bias"
        return self.add("Add", y, self.weight(bias)) if bias in self.weights.tables else y

    def norm(self, x: str, name: str) -> str:
        if not self.sizes.is_llama:
            bias = self.weight(f"{name}.bias")
            return self.add("LayerNormalization", x, self.weight(name), bias, axis=-1)
        if self.style == "shared":
            return self.add(
                "SimplifiedLayerNormalization", x, self.weight(name), axis=-1, epsilon=1e-5
            )
        square = self.add("Pow", x, self.real(2))
        mean = self.add("ReduceMean", square, axes=[-1], keepdims=1)
        root = self.add("Sqrt", self.add("Add", mean, self.real(1e-5)))
        return self.add(
            "Mul", self.weight(name), self.add("Mul", x, self.add("Div", self.real(1), root))
        )

    def hidden(self, x: str, i: int) -> str:
        up = self.product(x, f"{i}.up")
        if self.sizes.is_llama:
            gate = self.product(x, f"{i}.gate")
            silu = self.add("Mul", gate, self.add("Sigmoid", gate))
            return self.product(self.add("Mul", silu, up), f"{i}.down")
        cube = self.add("Mul", self.real(0.044715), self.add("Pow", up, self.real(3)))
        inner = self.add("Mul", self.real(0.7978845608028654), self.add("Add", up, cube))
        outer = self.add("Add", self.add("Tanh", inner), self.real(1))
        gelu = self.add("Mul", self.add("Mul", self.real(0.5), up), outer)
        return self.product(gelu, f"{i}.down")

    def port(self, i: int, name: str, places: str | int) -> tuple[str, str]:
        """An input of a past and the output of its present."""
        shape = [1, self.sizes.shared, places, self.sizes.head]
        past, present = f"past_key_values.{i}.{name}", f"present.{i}.{name}"
        self.inputs.append(helper.make_tensor_value_info(past, T.FLOAT, shape))
        shape = [*shape[:2], places if self.style == "shared" else "past + new", shape[3]]
        self.outputs.append(helper.make_tensor_value_info(present, T.FLOAT, shape))
        return past, present


class _Concat(_Writer):
    """Attention of products, as exporters of PyTorch write it."""

    def begin(self) -> None:
        for name, length in (("position_ids", "new"), ("attention_mask", "past + new")):
            self.inputs.append(helper.make_tensor_value_info(name, T.INT64, [1, length]))
        s = self.sizes
        # Rows of the causal mask for the new words, and what the attention mask hides.
        places = np.tril(np.ones((s.places, s.places), bool))[None, None]
        ends = self.add("Gather", self.add("Shape", "attention_mask"), self.ints(1))
        count = self.add("Gather", self.add("Shape", "input_ids"), self.ints(1))
        begins = self.add("Sub", ends, count)
        table = self.constant(places, "causal")
        rows = self.add("Slice", table, begins, ends, self.ints(2))
        seen = self.add("Slice", rows, self.ints(0), ends, self.ints(3))
        causal = self.add("Where", seen, self.real(0), self.real(LEAST))
        four = self.add("Unsqueeze", "attention_mask", self.ints(1, 2))
        is_hidden = self.add("Equal", four, self.ints(0))
        self.mask = self.add("Where", is_hidden, self.real(LEAST), causal)
        if s.is_llama:
            rates = 10000.0 ** (-np.arange(0, s.head, 2, np.float32) / s.head)
            rates = self.constant(rates.astype(np.float32)[None, None])
            column = self.add(
                "Cast", self.add("Unsqueeze", "position_ids", self.ints(2)), to=T.FLOAT
            )
            half = self.add("Mul", column, rates)
            angles = self.add("Concat", half, half, axis=-1)
            self.cosines = self.add("Unsqueeze", self.add("Cos", angles), self.ints(1))
            self.sines = self.add("Unsqueeze", self.add("Sin", angles), self.ints(1))

    def turned(self, x: str) -> str:
        half, far = self.sizes.head // 2, np.iinfo(np.int64).max
        first = self.add("Slice", x, self.ints(0), self.ints(half), self.ints(3))
        second = self.add("Slice", x, self.ints(half), self.ints(far), self.ints(3))
        other = self.add("Concat", self.add("Neg", second), first, axis=-1)
        return self.add("Add", self.add("Mul", x, self.cosines), self.add("Mul", other, self.sines))

    def repeated(self, x: str) -> str:
        s = self.sizes
        if s.shared == s.heads:
            return x
        length = self.add("Gather", self.add("Shape", x), self.ints(2))
        times = (self.ints(1), self.ints(s.shared), self.ints(s.heads // s.shared), length)
        shape = self.add("Concat", *times, self.ints(s.head), axis=0)
        wide = self.add("Expand", self.add("Unsqueeze", x, self.ints(2)), shape)
        return self.add("Reshape", wide, self.ints(1, s.heads, -1, s.head))

    def attention(self, x: str, i: int) -> str:
        s = self.sizes
        heads = {}
        for name, count in (("q", s.heads), ("k", s.shared), ("v", s.shared)):
            apart = self.add(
                "Reshape", self.product(x, f"{i}.{name}"), self.ints(1, -1, count, s.head)
            )
            heads[name] = self.add("Transpose", apart, perm=[0, 2, 1, 3])
        if s.is_llama:
            heads["q"], heads["k"] = self.turned(heads["q"]), self.turned(heads["k"])
        for name, which in (("k", "key"), ("v", "value")):
            past, present = self.port(i, which, "past")
            heads[name] = self.add("Concat", past, heads[name], axis=2, outputs=[present])
        k, v = self.repeated(heads["k"]), self.repeated(heads["v"])
        products = self.add("MatMul", heads["q"], self.add("Transpose", k, perm=[0, 1, 3, 2]))
        scores = self.add("Add", self.add("Mul", products, self.real(s.head**-0.5)), self.mask)
        y = self.add("MatMul", self.add("Softmax", scores, axis=-1), v)
        y = self.add("Transpose", y, perm=[0, 2, 1, 3])
        return self.product(self.add("Reshape", y, self.ints(1, -1, s.width)), f"{i}.o")


class _Shared(_Writer):
    """Attention of com.microsoft with a past of a fixed length."""

    def begin(self) -> None:
        for name, length in (("position_ids", "new"), ("attention_mask", "total")):
            if self.sizes.is_llama and name == "position_ids":
                continue
            self.inputs.append(helper.make_tensor_value_info(name, T.INT64, [1, length]))
        count = self.add("ReduceSum", "attention_mask", self.ints(1), keepdims=0)
        self.last = self.add("Cast", self.add("Sub", count, self.ints(1)), to=T.INT32)
        total = self.add("Gather", self.add("Shape", "attention_mask"), self.constant(np.int64(1)))
        self.total = self.add("Cast", total, to=T.INT32)
        s = self.sizes
        rates = 10000.0 ** (-np.arange(0, s.head, 2, np.float32) / s.head)
        angles = np.arange(s.places, dtype=np.float32)[:, None] * rates.astype(np.float32)
        self.angles = np.cos(angles), np.sin(angles)

    def attention(self, x: str, i: int) -> str:
        s = self.sizes
        q, k, v = (self.product(x, f"{i}.{name}") for name in "qkv")
        pasts, presents = zip(
            *(self.port(i, which, "cache") for which in ("key", "value")), strict=True
        )
        rotary = (
            [self.constant(t, f"table{n}") for n, t in enumerate(self.angles)] if s.is_llama else []
        )
        y = self.runtime(
            "GroupQueryAttention",
            q, k, v, *pasts, self.last, self.total, *rotary,
            outputs=[f"attended.{i}", *presents],
            num_heads=s.heads,
            kv_num_heads=s.shared,
            do_rotary=int(s.is_llama),
        )  # fmt: skip
        return self.product(y[0], f"{i}.o")


def build(weights: Weights, style: str, bits: int) -> onnx.ModelProto:
    """The net as a model."""
    s = weights.sizes
    w = {"concat": _Concat, "shared": _Shared}[style](weights, style, bits)
    w.inputs.append(helper.make_tensor_value_info("input_ids", T.INT64, [1, "new"]))
    w.begin()
    x = w.add("Gather", w.weight("embed"), "input_ids")
    if not s.is_llama:
        x = w.add("Add", x, w.add("Gather", w.weight("place"), "position_ids"))
    for i in range(s.layers):
        x = w.add("Add", x, w.attention(w.norm(x, f"{i}.before"), i))
        x = w.add("Add", x, w.hidden(w.norm(x, f"{i}.between"), i))
    # Exporters for generation compute the logits of the last word alone.
    last = w.add("Slice", w.norm(x, "last"), w.ints(-1), w.ints(np.iinfo(np.int64).max), w.ints(1))
    logits = w.product(last, "head")
    w.add("Identity", logits, outputs=["logits"])
    w.outputs.insert(0, helper.make_tensor_value_info("logits", T.FLOAT, [1, 1, s.words]))
    graph = helper.make_graph(
        w.nodes, f"{style}_{bits}", w.inputs, w.outputs, list(w.constants.values())
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def export(folder: Path, names: list[str]) -> None:
    """Writes DIR/NET.STYLE.BITS.onnx of each net, style and number of bits."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        weights = Weights(NETS[name])
        for style in STYLES:
            for bits in (32, 8, 4):
                onnx.save(build(weights, style, bits), str(folder / f"{name}.{style}.{bits}.onnx"))
