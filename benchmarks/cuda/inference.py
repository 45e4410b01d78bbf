# SPDX-License-Identifier: Apache-2.0
"""Inference on a GPU beside PyTorch, in one run: the median time of a batch.

python benchmarks/cuda/inference.py resnet50 bert_base --tool build/release/bin/load_and_run \
    --models build/models --batches 1 64

Needs a GPU, PyTorch with torchvision, and the models of examples/models/dump.py. Ours is
load_and_run (--cuda --fast-run, a cache of its own); PyTorch's are the net as it is and
torch.compile. Results are compared before anything is timed. --precision is ours, and on PyTorch's
side: strict is f32, relaxed is f32 with TF32, fast is bfloat16; images of the last two have their
channels last. Errors are those of ours beside PyTorch's strict results.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import torch

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "benchmarks" / "inference"))
sys.path.insert(0, str(ROOT / "examples" / "models"))
from seeded_weights import seeded_input  # noqa: E402
from torch_models import MODELS, build  # noqa: E402


def milliseconds(function, seconds):
    """Median of single calls, each waited for."""
    for _ in range(5):
        function()
    torch.cuda.synchronize()
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 10:
        begin = time.perf_counter()
        function()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def ours(options, name, x, folder, flags=()):
    """The report of load_and_run and its output."""
    values, outputs, report = (folder / f for f in ("x.npz", "y.npz", "report.json"))
    np.savez(values, x=x)
    command = [options.tool, options.models / f"{name}.mge", "--cuda", "--input", values]
    command += ["--fast-run", "--fast-run-algo-policy", folder / "cache.sqlite", "--iter", "50"]
    command += ["--warmup-iter", "10", "--dump-outputs", outputs, "--json", report, *flags]
    command += ["--precision", options.precision]
    command += [] if options.record else ["--enable-run-recording=false"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"load_and_run ended with {done.returncode}: {done.stderr[-2000:]}")
    with np.load(outputs) as file:
        return json.loads(report.read_text()), file[file.files[0]]


def allow_tf32(allowed):
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = allowed


def as_fast_as(precision, of, rank):
    """A net, or its input of so many axes, as PyTorch's users would have it for that precision."""
    of = of.bfloat16() if precision == "fast" else of
    images_last = precision != "strict" and rank == 4
    return of.to(memory_format=torch.channels_last) if images_last else of


def compare(options, name, batch):
    x = seeded_input(name, (batch, *MODELS[name][1]), 0).astype(np.float32)
    net, there = build(name).cuda(), torch.from_numpy(x).cuda()
    with torch.inference_mode(), tempfile.TemporaryDirectory() as folder:
        allow_tf32(False)
        expected = net(there).cpu().numpy()
        allow_tf32(options.precision == "relaxed")
        net, there = (as_fast_as(options.precision, of, x.ndim) for of in (net, there))
        report, got = ours(options, name, x, Path(folder))
        error = float(np.abs(got - expected).max() / np.abs(expected).max())
        compiled = torch.compile(net, mode=options.mode) if options.compile else None
        row = {
            "mge": report["latency_ms"]["p50"],
            "eager": milliseconds(lambda: net(there), options.seconds),
            "compiled": milliseconds(lambda: compiled(there), options.seconds)
            if compiled is not None
            else None,
        }
    return row, error


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="+", choices=MODELS)
    parser.add_argument("--tool", type=Path, required=True)
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64])
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--precision", choices=("strict", "relaxed", "fast"), default="strict")
    parser.add_argument(
        "--no-record", dest="record", action="store_false", help="ours step by step"
    )
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    parser.add_argument("--mode", default="reduce-overhead", help="of torch.compile")
    options = parser.parse_args()
    torch.backends.cudnn.benchmark = True
    ours = f"{options.precision}{'' if options.record else ', step by step'}"
    print(f"{torch.cuda.get_device_name()}, PyTorch {torch.__version__}, {ours}")
    heads = ["model", "batch", "mge ms", "PyTorch ms", "torch.compile ms", "ours ÷ PyTorch"]
    heads += ["÷ compile", "error"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for name in options.names:
        for batch in options.batches:
            row, error = compare(options, name, batch)
            over = [f"{row['mge'] / row[p]:.2f}" if row[p] else "-" for p in ("eager", "compiled")]
            times = [f"{row[p]:.3f}" if row[p] else "-" for p in ("mge", "eager", "compiled")]
            print(f"| {name} | {batch} | {' | '.join([*times, *over])} | {error:.0e} |", flush=True)


if __name__ == "__main__":
    main()
