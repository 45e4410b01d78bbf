# SPDX-License-Identifier: Apache-2.0
"""Cases of ONNX export, checked by ONNX's checker, ONNX Runtime and our reader."""

import os

import numpy as np
import onnx
import onnxruntime

import megengine as mge
from megengine import _mge
from megengine.jit import trace

NIGHTLY = bool(os.environ.get("MGE_NIGHTLY"))

# Relative to the largest output.
TOLERANCE = 1e-4

OPSETS = range(11, 29) if NIGHTLY else (11, 12, 13, 15, 17, 18, 20, 21, 26, 28)
# ONNX Runtime knows no later ones; what is written means the same in them.
NEWEST_OF_RUNTIME = 26


def rng():
    return np.random.default_rng(7)


def real(*shape, low=-2.0, high=2.0):
    return rng().uniform(low, high, shape).astype("float32")


def whole(*shape, low=-9, high=9, dtype="int32"):
    return rng().integers(low, high, shape).astype(dtype)


def mask(*shape):
    return rng().random(shape) < 0.5


X = real(4, 3, 6, 5)


class Case:
    """A function of Tensors and arrays for it, and the operator sets that have it.

    fixed: it is not tried with another batch.
    """

    def __init__(
        self, function, *inputs, fixed=False, least=11, most=28, op=None, tolerance=TOLERANCE
    ):
        self.function, self.inputs, self.fixed, self.op = function, inputs, fixed, op
        self.least, self.most, self.tolerance = least, most, tolerance

    def arguments(self, batch):
        """The same inputs with another first extent."""
        first = self.inputs[0].shape[0]
        return [
            np.resize(x, (batch, *x.shape[1:])) if len(x.shape) and x.shape[0] == first else x
            for x in self.inputs
        ]


def exported(function, inputs, path, opset=17):
    """Write what it does; return (our outputs, the checked model)."""
    traced = trace(function, symbolic=True, capture_as_const=True)
    tensors = [mge.Tensor(x) for x in inputs]
    outputs = traced(*tensors)
    names = [f"x{i}" for i in range(len(inputs))]
    traced.dump(path, arg_names=names, format="onnx", opset=opset, silent=True)
    model = onnx.load(path)
    onnx.checker.check_model(model, full_check=True)
    assert model.opset_import[0].version == opset
    return arrays(outputs), model


def arrays(outputs):
    outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    return [y.numpy() for y in outputs]


def run(path, inputs):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    model = onnx.load(path)
    standard = model.opset_import[0]
    if standard.version > NEWEST_OF_RUNTIME:
        standard.version, model.ir_version = NEWEST_OF_RUNTIME, 13
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    return session.run(None, {f"x{i}": x for i, x in enumerate(inputs)})


def assert_near(actual, expected, tolerance=TOLERANCE):
    assert len(actual) == len(expected)
    for y, e in zip(actual, expected, strict=True):
        assert y.dtype == e.dtype and y.shape == e.shape
        if y.size == 0:
            continue
        scale = max(np.abs(e.astype("float64")).max(), 1e-30)
        assert np.abs(y.astype("float64") - e.astype("float64")).max() <= tolerance * scale


def extents(value):
    """Numbers, names, and None for unknown ones."""
    dims = value.type.tensor_type.shape.dim
    return [d.dim_param or (d.dim_value if d.HasField("dim_value") else None) for d in dims]


def assert_reads_again(case, path, steps=0):
    """The file gives the same outputs here, or is off by so many ``steps`` of integers."""
    outputs, _ = exported(case.function, case.inputs, path, opset=max(17, case.least))
    model = _mge.load(path)
    assert model.input_names == [f"x{i}" for i in range(len(case.inputs))]
    again = [y.numpy() for y in model.run([mge.Tensor(x) for x in case.inputs])]
    for y, e in zip(again, outputs, strict=True):
        assert y.dtype == e.dtype and y.shape == e.shape
        limit = max(steps, TOLERANCE * max(np.abs(e.astype("float64")).max(initial=0), 1e-30))
        assert np.abs(y.astype("float64") - e).max(initial=0) <= limit
