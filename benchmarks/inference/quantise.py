# SPDX-License-Identifier: Apache-2.0
"""Makes NAME_int8 of NAME for every contestant: what run.py reads of a model, quantised.

Runs in the peers' environment, after benchmarks/inference/run has made the models; `mge-dump` reads
what ONNX Runtime's quantize_static writes (QDQ: values in u8, weights in s8 with a scale per
channel), so all engines have one file. Expected values stay those of the float model: the error
that run.py shows is that of the quantising, too.
"""

import argparse
import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np
from onnxruntime.quantization import CalibrationDataReader, QuantFormat, QuantType, quantize_static
from onnxruntime.quantization.shape_inference import quant_pre_process

BUILD = Path(__file__).resolve().parents[2] / "build/release"
SAMPLES = 3


class Samples(CalibrationDataReader):
    """The model's own input and random ones like it."""

    def __init__(self, x):
        rng = np.random.default_rng(0)
        spread = float(x.std())
        drawn = [
            rng.standard_normal(x.shape, dtype=np.float32) * spread for _ in range(SAMPLES - 1)
        ]
        self.samples = iter([x, *drawn])

    def get_next(self):
        """Return the next feed, or None."""
        x = next(self.samples, None)
        return None if x is None else {"x": x}


def quantise(name, folder, tool):
    """Write NAME_int8.onnx and .mge, and its input and expected output, unless they are there."""
    source, target = folder / name, folder / f"{name}_int8"
    if target.with_suffix(".mge").exists():
        return
    with np.load(f"{source}.case.npz") as case:
        x = case["x"].astype(np.float32)
    with tempfile.TemporaryDirectory() as scratch:
        # Batch norms go into weights, and weights are constants, whoever wrote the model.
        folded = f"{scratch}/{name}.onnx"
        quant_pre_process(f"{source}.onnx", folded, skip_symbolic_shape=True)
        quantize_static(
            folded,
            f"{target}.onnx",
            Samples(x),
            quant_format=QuantFormat.QDQ,
            activation_type=QuantType.QUInt8,
            weight_type=QuantType.QInt8,
            per_channel=True,
        )
    for ending in ("case.npz", "x.f32", "y.f32"):
        shutil.copyfile(f"{source}.{ending}", f"{target}.{ending}")
    subprocess.run([tool, "convert", f"{target}.onnx", f"{target}.mge"], check=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("names", nargs="+")
    parser.add_argument("--models", type=Path, required=True)
    parser.add_argument("--tool", type=Path, default=BUILD / "bin/mge-dump")
    options = parser.parse_args()
    for name in options.names:
        quantise(name, options.models, options.tool)


if __name__ == "__main__":
    main()
