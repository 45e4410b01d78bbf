# SPDX-License-Identifier: Apache-2.0
"""Cost of a step of a loop inside a graph: 1,000 steps over 16 elements, h = h w + x.

loops.py [mge|onnxruntime|torch]      onnxruntime: Scan and Loop; torch: the same loops, scripted
"""

import argparse
import statistics
import time

import numpy as np

STEPS, WIDTH, REPEATS = 1000, 16, 200
WEIGHT = np.linspace(0.1, 0.9, WIDTH, dtype=np.float32)
START = np.zeros(WIDTH, np.float32)
XS = np.full((STEPS, WIDTH), 0.01, np.float32)


def mge_loops():
    import megengine.functional as F
    from megengine import Tensor
    from megengine.jit import trace

    weight, start, xs, zero = Tensor(WEIGHT), Tensor(START), Tensor(XS), Tensor(0)

    @trace(symbolic=True, capture_as_const=True, without_host=True)
    def scan(h, xs):
        return F.scan(lambda h, x: (h * weight + x, None), h, xs)[0]

    @trace(symbolic=True, capture_as_const=True, without_host=True)
    def loop(h, i):
        def body(i, h):
            return i + 1, h * weight + 0.01

        return F.while_loop(lambda i, h: i < STEPS, body, (i, h))[1]

    return {"scan": lambda: scan(start, xs).numpy(), "while": lambda: loop(start, zero).numpy()}


def onnx_model(node, inputs):
    import onnx
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [node],
        "loops",
        [helper.make_tensor_value_info(name, kind, shape) for name, kind, shape in inputs],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [WIDTH])],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    onnx.checker.check_model(model)
    return model.SerializeToString()


def onnxruntime_loops():
    import onnxruntime
    from onnx import TensorProto, helper, numpy_helper

    real, vector = TensorProto.FLOAT, [WIDTH]
    info = helper.make_tensor_value_info
    weight = numpy_helper.from_array(WEIGHT, "w")

    def body_of(extra_nodes, inputs, outputs, add):
        nodes = [
            helper.make_node("Mul", ["h", "w"], ["hw"]),
            helper.make_node("Add", ["hw", add], ["next"]),
        ]
        constants = [weight] if add == "x" else [weight, numpy_helper.from_array(XS[0], "x0")]
        return helper.make_graph(nodes + extra_nodes, "body", inputs, outputs, constants)

    scan = helper.make_node(
        "Scan",
        ["start", "xs"],
        ["y"],
        num_scan_inputs=1,
        body=body_of(
            [],
            [info("h", real, vector), info("x", real, vector)],
            [info("next", real, vector)],
            "x",
        ),
    )
    loop = helper.make_node(
        "Loop",
        ["steps", "", "start"],
        ["y"],
        body=body_of(
            [helper.make_node("Identity", ["go"], ["on"])],
            [
                info("i", TensorProto.INT64, []),
                info("go", TensorProto.BOOL, []),
                info("h", real, vector),
            ],
            [info("on", TensorProto.BOOL, []), info("next", real, vector)],
            "x0",
        ),
    )
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    sessions = [
        onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
        for model in (
            onnx_model(scan, [("start", real, vector), ("xs", real, list(XS.shape))]),
            onnx_model(loop, [("start", real, vector), ("steps", TensorProto.INT64, [])]),
        )
    ]
    return {
        "scan": lambda: sessions[0].run(None, {"start": START, "xs": XS})[0],
        "while": lambda: sessions[1].run(None, {"start": START, "steps": np.array(STEPS)})[0],
    }


def torch_loops():
    import torch

    def scan(h, xs, weight):
        for i in range(xs.shape[0]):
            h = h * weight + xs[i]
        return h

    def loop(h, weight, steps: int):
        i = 0
        while i < steps:
            h = h * weight + 0.01
            i += 1
        return h

    scripted_scan, scripted_loop = torch.jit.script(scan), torch.jit.script(loop)
    weight, start, xs = (torch.from_numpy(array) for array in (WEIGHT, START, XS))
    return {
        "scan": lambda: scripted_scan(start, xs, weight).numpy(),
        "while": lambda: scripted_loop(start, weight, STEPS).numpy(),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("engine", choices=["mge", "onnxruntime", "torch"], nargs="?", default="mge")
    engine = parser.parse_args().engine
    expected = START
    for x in XS:
        expected = expected * WEIGHT + x
    for name, run in globals()[f"{engine}_loops"]().items():
        np.testing.assert_allclose(run(), expected, rtol=1e-4)
        times = []
        for _ in range(REPEATS):
            begin = time.perf_counter()
            run()
            times.append((time.perf_counter() - begin) / STEPS)
        print(f"| {engine} | {name} | {statistics.median(times) * 1e6:.3f} us |")


if __name__ == "__main__":
    main()
