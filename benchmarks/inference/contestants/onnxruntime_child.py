# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime: CPU provider, all graph optimisations, spinning workers, bound input and output."""

import numpy as np
import onnxruntime
import protocol

options = protocol.arguments()


def load():
    x, y = protocol.load_case(options)
    settings = onnxruntime.SessionOptions()
    settings.intra_op_num_threads, settings.inter_op_num_threads = options.threads, 1
    settings.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    settings.add_session_config_entry("session.intra_op.allow_spinning", "1")
    session = onnxruntime.InferenceSession(
        options.models / f"{options.model}.onnx", settings, providers=["CPUExecutionProvider"]
    )
    output = np.empty(y.shape, np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, output.shape, output.ctypes.data)
    return lambda: session.run_with_iobinding(binding), lambda: output


protocol.serve("ONNX Runtime", onnxruntime.__version__, load, options)
