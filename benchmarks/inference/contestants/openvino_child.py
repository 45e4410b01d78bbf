# SPDX-License-Identifier: Apache-2.0
"""OpenVINO: latency hint, one stream, f32 forced (left alone it may choose bf16), or bf16."""

import openvino
import openvino.properties as properties
import openvino.properties.hint as hint
import protocol

options = protocol.arguments()
x, _ = protocol.load_case(options)  # the request reads it in place: it must outlive it


def load():
    core = openvino.Core()
    config = {
        hint.performance_mode(): hint.PerformanceMode.LATENCY,
        hint.inference_precision(): getattr(openvino.Type, options.variant or "f32"),
        properties.inference_num_threads(): options.threads,
        properties.streams.num(): 1,
    }
    model = core.read_model(options.models / f"{options.model}.onnx")
    request = core.compile_model(model, "CPU", config).create_infer_request()
    request.set_input_tensor(openvino.Tensor(x, shared_memory=True))
    return request.infer, lambda: request.get_output_tensor(0).data


protocol.serve("OpenVINO", openvino.__version__.split("-")[0], load, options)
