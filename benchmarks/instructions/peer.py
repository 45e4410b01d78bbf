# SPDX-License-Identifier: Apache-2.0
"""Runs a model of benchmarks/inference three times, or RUNS times, in ONNX Runtime or ncnn, on one
thread.

A call of getppid() before and after each run makes count.c print the instructions of the run.
Usage: peer.py onnxruntime|ncnn FOLDER/NAME [RUNS]
"""

import os
import sys
from pathlib import Path

import numpy as np


def in_onnxruntime(base, x):
    import onnxruntime  # noqa: PLC0415

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(f"{base}.onnx", options)
    name = session.get_inputs()[0].name
    return lambda: session.run(None, {name: x})[0]


def in_ncnn(base, x):
    import ncnn  # noqa: PLC0415

    net = ncnn.Net()
    net.opt.num_threads = 1
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    if net.load_param(f"{base}.ncnn.param") or net.load_model(f"{base}.ncnn.bin"):
        raise RuntimeError(f"ncnn cannot load {base}")
    image = np.ascontiguousarray(x[0])  # read in place

    def run():
        extractor = net.create_extractor()
        extractor.input("in0", ncnn.Mat(image))
        return np.array(extractor.extract("out0")[1])

    return run


def main():
    engine, base = sys.argv[1], Path(sys.argv[2])
    with np.load(f"{base}.case.npz") as case:
        x, expected = case["x"].astype(np.float32), case["y"]
    run = {"onnxruntime": in_onnxruntime, "ncnn": in_ncnn}[engine](base, x)
    for _ in range(int(sys.argv[3]) if len(sys.argv) > 3 else 3):
        os.getppid()
        y = run()
        os.getppid()
    error = np.abs(y.ravel() - expected.ravel()).max() / np.abs(expected).max()
    print(f"{engine} {base.name}: error {error:.1e}")


if __name__ == "__main__":
    main()
