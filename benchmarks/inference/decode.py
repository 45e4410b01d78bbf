# SPDX-License-Identifier: Apache-2.0
"""Tokens per second of language models with a KV cache, beside ONNX Runtime in turns.

    .venv/bin/python benchmarks/inference/decode.py export DIR --names gpt2,llama
    MGE_THREADS=1 PYTHONPATH=build/release/python chrt -f 5 taskset -c 1 \\
        .venv/bin/python benchmarks/inference/decode.py measure DIR --threads 1

With llama.cpp, which `setup_peers` builds: `build/peers/bin/python` instead, `export-gguf` besides
`export`, and `--engines onnxruntime,llama.cpp,mge`.

A round reads a prompt of 512 tokens and decodes 128, one per run. The cache of the style `concat`
grows by Concat. That of `shared` has a fixed length: ONNX Runtime binds one value as past and
present, and MGE is given the memory of the past. All engines get the same tokens, and their
logits are compared. The last column is the rate at which a run reads its weights, over the best
rate of several matrix-vector products over as many bytes. BLAS reads several rows side by side,
which is up to three times as fast as one stream.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # read by NumPy; memory_rate() has its own threads

import decoders  # noqa: E402
import numpy as np  # noqa: E402

# Relative to the largest logit. Where weights have 8 or 4 bits, ONNX Runtime rounds activations to
# 8 bits, as the files allow.
TOLERANCES = {32: 1e-4, 8: 5e-2, 4: 5e-2}
# llama.cpp looks GELU up in a table of f16, has f16 scales and a cache of f16.
LLAMA_CPP_TOLERANCE = 0.1


class Decoder:
    """A net in one engine: runs on the next tokens and keeps the cache."""

    def __init__(self, path: Path) -> None:
        name, self.style, bits = path.stem.split(".")
        self.sizes, self.bits = decoders.NETS[name], int(bits)
        ports = [(i, w) for i in range(self.sizes.layers) for w in ("key", "value")]
        self.pasts = [f"past_key_values.{i}.{which}" for i, which in ports]
        self.presents = [f"present.{i}.{which}" for i, which in ports]
        self.length, self.cache = 0, []

    def empty_cache(self) -> list[np.ndarray]:
        length = self.sizes.places if self.style == "shared" else 0
        shape = (1, self.sizes.shared, length, self.sizes.head)
        return [np.zeros(shape, np.float32) for _ in self.pasts]

    def feeds(self, tokens: np.ndarray, names: list[str]) -> dict[str, np.ndarray]:
        end = self.length + len(tokens)
        feeds = {
            "input_ids": tokens[None],
            "position_ids": np.arange(self.length, end)[None],
            "attention_mask": np.ones((1, end), np.int64),
        }
        self.length = end
        return {name: feeds[name] for name in feeds if name in names}


class OnnxRuntime(Decoder):
    """ONNX Runtime with IO binding."""

    def __init__(self, path: Path, threads: int) -> None:
        super().__init__(path)
        import onnxruntime  # noqa: PLC0415 (the other engine may be measured alone)

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        self._value = onnxruntime.OrtValue.ortvalue_from_numpy
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self._names = [port.name for port in self._session.get_inputs()]

    def begin(self) -> None:
        self.length = 0
        self.cache = [self._value(x) for x in self.empty_cache()]

    def run(self, tokens: np.ndarray) -> np.ndarray:
        binding = self._session.io_binding()
        for name, value in self.feeds(tokens, self._names).items():
            binding.bind_cpu_input(name, value)
        binding.bind_output("logits")
        for past, present, value in zip(self.pasts, self.presents, self.cache, strict=True):
            binding.bind_ortvalue_input(past, value)
            if self.style == "shared":
                binding.bind_ortvalue_output(present, value)
            else:
                binding.bind_output(present)
        self._session.run_with_iobinding(binding)
        logits, *presents = binding.get_outputs()
        if self.style == "concat":
            self.cache = presents
        return logits.numpy()


class Mge(Decoder):
    """MGE's onnx.load."""

    def __init__(self, path: Path, threads: int) -> None:  # noqa: ARG002 (MGE_THREADS)
        super().__init__(path)
        from megengine import onnx  # noqa: PLC0415 (the other engine may be measured alone)

        self._net = onnx.load(path, donated=self.pasts if self.style == "shared" else ())

    def begin(self) -> None:
        self.length, self.cache = 0, self.empty_cache()

    def run(self, tokens: np.ndarray) -> np.ndarray:
        cache = dict(zip(self.pasts, self.cache, strict=True))
        logits, *self.cache = self._net(**self.feeds(tokens, self._net.input_names), **cache)
        return logits.numpy()


def llama_cpp(kind: str) -> Callable:
    """The engine llama.cpp with some kind of numbers; '' is that of the file's bits."""

    def load(path: Path, threads: int):
        import llama_decoder  # noqa: PLC0415 (is built with setup_peers only)

        return llama_decoder.LlamaCpp(path, threads, kind)

    return load


ENGINES: dict[str, Callable] = {
    "onnxruntime": OnnxRuntime,
    "mge": Mge,
    "llama.cpp": llama_cpp(""),
    "llama.cpp-f16": llama_cpp("f16"),
    "llama.cpp-bf16": llama_cpp("bf16"),
}


def memory_rate(size: int, threads: int) -> float:
    """Bytes per second of the best of some products of a matrix of so many bytes with a vector."""
    columns = 4096
    shape = size // (4 * columns * threads), columns
    parts = [np.ones(shape, np.float32) for _ in range(threads)]
    vector = np.ones(columns, np.float32)
    times = []
    with ThreadPoolExecutor(threads) as pool:
        for _ in range(7):
            start = time.perf_counter()
            list(pool.map(lambda part: part @ vector, parts))
            times.append(time.perf_counter() - start)
    return sum(part.nbytes for part in parts) / min(times)


def measure(
    path: Path, engines: list[str], threads: int, rounds: int, sizes: tuple[int, int]
) -> None:
    """Prints a row of the table for each engine."""
    prompt, decoded = sizes
    contestants = {name: ENGINES[name](path, threads) for name in engines}
    net = next(iter(contestants.values()))
    tokens = np.random.default_rng(1).integers(0, net.sizes.words, prompt + decoded)
    times = {name: ([], []) for name in engines}
    logits = {}
    for each in contestants.values():
        each.begin()
    for turn in range(rounds):
        for name in engines if turn % 2 else reversed(engines):
            contestant, (prompts, steps) = contestants[name], times[name]
            contestant.begin()
            start = time.perf_counter()
            seen = [contestant.run(tokens[:prompt])]
            prompts.append(time.perf_counter() - start)
            for i in range(prompt, prompt + decoded):
                start = time.perf_counter()
                seen.append(contestant.run(tokens[i : i + 1]))
                steps.append(time.perf_counter() - start)
            logits[name] = np.concatenate(seen, 1)
    first = logits.get("mge", next(iter(logits.values())))
    for name, other in logits.items():
        tolerance = LLAMA_CPP_TOLERANCE if "llama.cpp" in name else TOLERANCES[net.bits]
        np.testing.assert_allclose(other, first, atol=tolerance * np.abs(first).max(), rtol=0)
    size = decoders.Weights(net.sizes).bytes_per_word(net.bits)
    rate = memory_rate(int(size), threads)
    for name in engines:
        prompts, steps = times[name]
        least, middle = min(steps), statistics.median(steps)
        print(
            f"| {path.stem} | {threads} | {name} | {min(prompts) * 1e3:.0f} | {least * 1e3:.1f}, "
            f"{middle * 1e3:.1f} | {1 / middle:.1f} | {size / middle / rate:.2f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["export", "export-gguf", "measure"])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--names", default="gpt2,llama", help="nets to export")
    parser.add_argument("--engines", default="onnxruntime,mge")
    parser.add_argument(
        "--threads", type=int, default=1, help="threads of ONNX Runtime; MGE has MGE_THREADS"
    )
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--prompt", type=int, default=512)
    parser.add_argument("--decoded", type=int, default=128)
    parser.add_argument("--only", default="", help="part of the names of files to measure")
    arguments = parser.parse_args()
    if arguments.what == "export":
        return decoders.export(arguments.folder, arguments.names.split(","))
    if arguments.what == "export-gguf":
        import llama_decoder  # noqa: PLC0415 (is built with setup_peers only)

        return llama_decoder.export(arguments.folder, arguments.names.split(","))
    columns = ("net.style.bits", "threads", "engine", "prompt, ms", "token, ms: minimum, median")
    print(f"| {' | '.join(columns)} | tokens/s | of memory |")
    print("|---|---|---|---|---|---|---|")
    for path in sorted(arguments.folder.glob("*.onnx")):
        if arguments.only in path.stem:
            sizes = arguments.prompt, arguments.decoded
            measure(path, arguments.engines.split(","), arguments.threads, arguments.rounds, sizes)
    return None


if __name__ == "__main__":
    main()
