# SPDX-License-Identifier: Apache-2.0
"""ONNX models of a few nodes, and what ONNX Runtime gives for them."""

import importlib

import numpy as np
import pytest

load = importlib.import_module("megengine.onnx.reading").load
onnx = pytest.importorskip("onnx")


def model_of(nodes, inputs, outputs, tmp_path, *, initializers=(), opset=17, functions=()):
    graph = onnx.helper.make_graph(nodes, "g", inputs, outputs, list(initializers))
    sets = [onnx.helper.make_opsetid("", opset)]
    if functions:
        sets.append(onnx.helper.make_opsetid("own", 1))
    model = onnx.helper.make_model(
        graph, opset_imports=sets, functions=list(functions), ir_version=10
    )
    path = tmp_path / "model.onnx"
    path.write_bytes(model.SerializeToString())
    return path


def port(name, shape, dtype=onnx.TensorProto.FLOAT):
    return onnx.helper.make_tensor_value_info(name, dtype, shape)


def number(name, value, dtype=np.int64):
    return onnx.numpy_helper.from_array(np.array(value, dtype), name)


def same_as_runtime(path, *inputs):
    runtime = pytest.importorskip("onnxruntime")
    session = runtime.InferenceSession(str(path))
    names = [port.name for port in session.get_inputs()]
    expected = session.run(None, dict(zip(names, inputs, strict=True)))
    outputs = load(path)(*inputs)
    outputs = outputs if isinstance(outputs, list) else [outputs]
    for y, z in zip(outputs, expected, strict=True):
        assert y.numpy().shape == z.shape and y.numpy().dtype == z.dtype
        np.testing.assert_allclose(y.numpy(), z, rtol=1e-5, atol=1e-6)
