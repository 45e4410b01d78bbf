# SPDX-License-Identifier: Apache-2.0
"""mge-dump convert to ONNX, run by ONNX Runtime."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest

import megengine as mge
import megengine.functional as F
from megengine.jit import trace

TOOL = "mge-dump"
MODELS = Path(__file__).resolve().parents[1] / "data"
USAGE, BAD_MODEL = 2, 5


def outputs_of_onnx(path, **inputs):
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    return session.run(None, inputs)


@pytest.fixture
def mlp():
    """Return a model of MegEngine's, the inputs of a call and what it gives."""
    with (
        np.load(MODELS / "megengine/mlp.inputs.npz") as inputs,
        np.load(MODELS / "megengine/mlp.outputs.npz") as outputs,
    ):
        return MODELS / "megengine/mlp.names.mge", inputs["data"], outputs[outputs.files[0]]


def opset(path):
    return onnx.load(path).opset_import[0].version


def test_the_ending_decides(run_tool, mlp, tmp_path):
    model, data, expected = mlp
    done = run_tool(TOOL, "convert", model, tmp_path / "mlp.onnx")
    assert done.code == 0 and done.result["format"] == "onnx"
    onnx.checker.check_model(str(tmp_path / "mlp.onnx"), full_check=True)
    (got,) = outputs_of_onnx(tmp_path / "mlp.onnx", data=data)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-6)
    assert opset(tmp_path / "mlp.onnx") == 17


def test_format_and_operator_set(run_tool, mlp, tmp_path):
    model = mlp[0]
    done = run_tool(TOOL, "convert", model, tmp_path / "mlp.bin", "--format=onnx", "--opset=20")
    assert done.code == 0 and opset(tmp_path / "mlp.bin") == 20
    assert run_tool(TOOL, "convert", model, tmp_path / "a.onnx", "--format=mge").code == 0
    assert run_tool(TOOL, "info", tmp_path / "a.onnx").code == 0
    assert run_tool(TOOL, "convert", model, tmp_path / "b.onnx", "--opset=10").code == USAGE


def test_names_of_operators_and_weights(run_tool, mlp, tmp_path):
    run_tool(TOOL, "convert", mlp[0], tmp_path / "mlp.onnx")
    graph = onnx.load(tmp_path / "mlp.onnx").graph
    assert {"0.MatrixMul", "2.MatrixMul", "4.ADD"} <= {node.name for node in graph.node}
    assert {"0.weight", "4.bias"} <= {weight.name for weight in graph.initializer}


def test_an_optimised_model(run_tool, tmp_path):
    net = trace(
        lambda x: (
            F.relu(F.conv2d(x, mge.Tensor(np.ones((4, 3, 3, 3), "float32")), padding=1))
            * F.exp(x.mean(axis=(1, 2, 3), keepdims=True))
            + 1
        ),
        symbolic=True,
        capture_as_const=True,
    )
    x = np.random.default_rng(3).random((2, 3, 8, 8), "float32")
    expected = net(mge.Tensor(x)).numpy()
    net.dump(str(tmp_path / "net.mge"), arg_names=["x"])
    assert run_tool(TOOL, "optimize", tmp_path / "net.mge", tmp_path / "fast.mge").code == 0
    operators = run_tool(TOOL, "info", tmp_path / "fast.mge", "--all").out
    assert "fused_elementwise" in operators
    assert run_tool(TOOL, "convert", tmp_path / "fast.mge", tmp_path / "fast.onnx").code == 0
    (got,) = outputs_of_onnx(tmp_path / "fast.onnx", x=x)
    np.testing.assert_allclose(got, expected, rtol=1e-4)


def test_inexpressible_operators(run_tool, tmp_path):
    net = trace(lambda x: F.matinv(x), symbolic=True, capture_as_const=True)
    net(mge.Tensor(np.eye(3, dtype="float32")))
    net.dump(str(tmp_path / "net.mge"), arg_names=["x"])
    done = run_tool(TOOL, "convert", tmp_path / "net.mge", tmp_path / "net.onnx")
    assert done.code == BAD_MODEL and "matinv" in done.err
    assert len(done.err.splitlines()) == 1 and not (tmp_path / "net.onnx").exists()
