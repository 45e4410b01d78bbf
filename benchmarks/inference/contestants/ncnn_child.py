# SPDX-License-Identifier: Apache-2.0
"""ncnn: f32 storage and arithmetic."""

import ncnn
import numpy as np
import protocol

options = protocol.arguments()
x = np.ascontiguousarray(
    protocol.load_case(options)[0][0]
)  # read in place: it must outlive the net


def load():
    net = ncnn.Net()
    net.opt.num_threads = options.threads
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.opt.use_bf16_storage = False
    base = str(options.models / f"{options.model}.ncnn")
    if net.load_param(base + ".param") or net.load_model(base + ".bin"):
        raise RuntimeError(f"ncnn cannot load {base}")
    sample = ncnn.Mat(x)
    last = []

    def run():
        extractor = net.create_extractor()
        extractor.input("in0", sample)
        last[:] = [extractor.extract("out0")[1]]

    return run, lambda: np.array(last[0])


protocol.serve("ncnn", ncnn.__version__, load, options)
