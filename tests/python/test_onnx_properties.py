# SPDX-License-Identifier: Apache-2.0
"""ONNX parameters mean the same as constants and as inputs, and the same as elsewhere."""

import os
import warnings

import numpy as np
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_draws import DRAWS, Draw
from onnx_files import load, model_of, number, onnx, port

runtime = pytest.importorskip("onnxruntime")
runtime.set_default_logger_severity(4)

ROUNDS = 100 if os.environ.get("MGE_NIGHTLY") else 5


def kind_of(array):
    return onnx.helper.np_dtype_to_tensor_dtype(array.dtype)


def write(draw: Draw, tmp_path, are_constant):
    """Write the node, its parameters as constants or as inputs; and the arrays that it takes."""
    arrays = [*draw.data, *draw.parameters]
    names = ["" if a is None else f"x{i}" for i, a in enumerate(arrays)]
    outputs = [f"y{i}" for i in range(draw.outputs)]
    node = onnx.helper.make_node(draw.op, names, outputs, **draw.attributes)
    is_input = [
        a is not None and (i < len(draw.data) or not are_constant) for i, a in enumerate(arrays)
    ]
    given = {n: a for n, a, is_one in zip(names, arrays, is_input, strict=True) if is_one}
    constants = [
        number(n, a, a.dtype)
        for n, a in zip(names, arrays, strict=True)
        if a is not None and n not in given
    ]
    ports = [port(n, a.shape, kind_of(a)) for n, a in given.items()]
    ends = [onnx.helper.make_empty_tensor_value_info(n) for n in outputs]
    model = model_of([node], ports, ends, tmp_path, initializers=constants, opset=draw.opset)
    loaded = onnx.shape_inference.infer_shapes(onnx.load(str(model)))
    kinds = {v.name: v.type.tensor_type.elem_type for v in loaded.graph.output}
    for end in ends:
        end.CopyFrom(port(end.name, None, kinds[end.name] or kind_of(arrays[0])))
    return model_of([node], ports, ends, tmp_path, initializers=constants, opset=draw.opset), given


def ours(path, given):
    """Give the results, or the error."""
    try:
        outputs = load(path)(*given.values())
    except (RuntimeError, ValueError, IndexError, TypeError) as error:
        return str(error)
    return [y.numpy() for y in (outputs if isinstance(outputs, list) else [outputs])]


def theirs(path, given):
    """Give the results of ONNX's reference and of ONNX Runtime; None for those that give none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for make in (ReferenceEvaluator, runtime.InferenceSession):
            try:
                yield [np.asarray(y) for y in make(str(path)).run(None, given)]
            except Exception:  # each has errors of its own
                yield None


def agree(a, b, tolerance):
    if isinstance(a, str) or isinstance(b, str) or b is None:
        return isinstance(a, str) and isinstance(b, str)
    return len(a) == len(b) and all(
        y.shape == z.shape
        and y.dtype == z.dtype
        and np.allclose(y, z, rtol=tolerance, atol=tolerance, equal_nan=True)
        for y, z in zip(a, b, strict=True)
    )


def check(draw, tmp_path):
    (path, given) = write(draw, tmp_path, True)
    constant = ours(path, given)
    references = [] if draw.is_open else list(theirs(path, given))
    (path, given) = write(draw, tmp_path, False)
    late = ours(path, given)
    details = f"{draw}\nconstants: {constant}\ninputs: {late}\nothers: {references}"
    assert agree(constant, late, draw.tolerance), f"constants and inputs differ: {details}"
    known = [r for r in references if r is not None]
    if isinstance(constant, str):
        assert draw.is_open or len(known) < 2, f"refused: {details}"
    elif known:
        assert any(agree(constant, r, draw.tolerance) for r in known), f"others differ: {details}"


@pytest.mark.parametrize("case", range(len(DRAWS)))
def test_parameters_mean_the_same_as_constants_and_as_inputs(case, tmp_path):
    for turn in range(ROUNDS):
        draw = DRAWS[case](np.random.default_rng([np.random.randint(1 << 30), turn]))
        check(draw, tmp_path)
