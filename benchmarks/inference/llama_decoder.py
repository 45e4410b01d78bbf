# SPDX-License-Identifier: Apache-2.0
"""The nets of decoders.py as GGUF files, and llama.cpp as an engine of decode.py.

Needs llama-cpp-python and gguf. The cache has 16 bits, as llama.cpp has it by default.
"""

import ctypes
from pathlib import Path

import decoders
import gguf
import llama_cpp
import numpy as np

TYPES = {"f32": "F32", "f16": "F16", "bf16": "BF16", "8": "Q8_0", "4": "Q4_0"}
LAYER_NAMES = {
    "before": "attn_norm",
    "o": "attn_output",
    "between": "ffn_norm",
    "up": "ffn_up",
    "gate": "ffn_gate",
    "down": "ffn_down",
}


def turned(w: np.ndarray, heads: int) -> np.ndarray:
    """Rows of a head whose halves rotate as rows that rotate with their neighbours."""
    halves = w.reshape(heads, 2, w.shape[0] // heads // 2, w.shape[1])
    return np.ascontiguousarray(halves.swapaxes(1, 2)).reshape(w.shape)


def named_tables(weights: decoders.Weights) -> dict[str, np.ndarray]:
    """The weights under the names of GGUF."""
    s, t = weights.sizes, weights.tables
    kinds = ("weight",) if s.is_llama else ("weight", "bias")
    suffix = {"weight": "", "bias": ".bias"}
    tables = {"token_embd.weight": t["embed"], "output.weight": t["head"]}
    if not s.is_llama:
        tables["position_embd.weight"] = t["place"]
    for kind in kinds:
        tables[f"output_norm.{kind}"] = t[f"last{suffix[kind]}"]
        for i in range(s.layers):
            for ours, theirs in LAYER_NAMES.items():
                if (name := f"{i}.{ours}{suffix[kind]}") in t:
                    tables[f"blk.{i}.{theirs}.{kind}"] = t[name]
            q, k, v = (t[f"{i}.{name}{suffix[kind]}"] for name in "qkv")
            if s.is_llama:
                tables[f"blk.{i}.attn_q.weight"] = turned(q, s.heads)
                tables[f"blk.{i}.attn_k.weight"] = turned(k, s.shared)
                tables[f"blk.{i}.attn_v.weight"] = v
            else:
                tables[f"blk.{i}.attn_qkv.{kind}"] = np.concatenate([q, k, v])
    return tables


def write(path: Path, weights: decoders.Weights, kind: str) -> None:
    """Writes a net; matrices that each word is multiplied by have the type of `kind`."""
    s = weights.sizes
    writer = gguf.GGUFWriter(path, "llama" if s.is_llama else "gpt2")
    writer.add_context_length(s.places)
    writer.add_embedding_length(s.width)
    writer.add_feed_forward_length(s.hidden)
    writer.add_block_count(s.layers)
    writer.add_head_count(s.heads)
    writer.add_head_count_kv(s.shared)
    writer.add_layer_norm_eps(1e-5)
    writer.add_layer_norm_rms_eps(1e-5)
    if s.is_llama:
        writer.add_rope_dimension_count(s.head)
    writer.add_vocab_size(s.words)
    writer.add_tokenizer_model("none")
    numbers = gguf.GGMLQuantizationType[TYPES[kind]]
    for name, table in named_tables(weights).items():
        is_product = table.ndim == 2 and "embd" not in name
        used = numbers if is_product else gguf.GGMLQuantizationType.F32
        writer.add_tensor(name, gguf.quants.quantize(table, used), raw_dtype=used)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def export(folder: Path, names: list[str]) -> None:
    """Writes DIR/NET.KIND.gguf of each net and kind of numbers."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        weights = decoders.Weights(decoders.NETS[name])
        for kind in TYPES:
            write(folder / f"{name}.{kind}.gguf", weights, kind)


class LlamaCpp:
    """llama.cpp by its C interface."""

    def __init__(self, path: Path, threads: int, kind: str = "") -> None:
        name, _, bits = path.stem.split(".")
        self.sizes, self.bits = decoders.NETS[name], int(bits)
        kind = kind or {32: "f32", 8: "8", 4: "4"}[self.bits]
        silent = llama_cpp.llama_log_callback(lambda *_: None)
        llama_cpp.llama_log_set(silent, ctypes.c_void_p())
        self._silent = silent  # called as long as the library is
        options = llama_cpp.llama_model_default_params()
        # Its AMX kernels end with an illegal instruction (0.3.36, GCC 12).
        options.use_extra_bufts = False
        file = str(path.with_name(f"{name}.{kind}.gguf")).encode()
        self._model = llama_cpp.llama_model_load_from_file(file, options)
        context = llama_cpp.llama_context_default_params()
        context.n_ctx = self.sizes.places
        context.n_batch = context.n_ubatch = self.sizes.places
        context.n_threads = context.n_threads_batch = threads
        self._context = llama_cpp.llama_init_from_model(self._model, context)

    def begin(self) -> None:
        llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(self._context), True)

    def run(self, tokens: np.ndarray) -> np.ndarray:
        values = (llama_cpp.llama_token * len(tokens))(*tokens.tolist())
        batch = llama_cpp.llama_batch_get_one(values, len(tokens))
        if llama_cpp.llama_decode(self._context, batch):
            raise RuntimeError("llama_decode failed")
        logits = llama_cpp.llama_get_logits_ith(self._context, -1)
        return np.ctypeslib.as_array(logits, shape=(1, 1, self.sizes.words)).copy()
