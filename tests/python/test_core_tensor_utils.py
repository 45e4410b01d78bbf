# SPDX-License-Identifier: Apache-2.0
"""Names that users import from megengine.core.tensor.utils, with the results of MegEngine 1.13."""

import io

import numpy as np
import pytest

import megengine.functional as F
from megengine import Tensor
from megengine.core.tensor.utils import (
    _normalize_axis,
    astensor1d,
    cast_tensors,
    convert_inputs,
    convert_single_value,
    dtype_promotion,
    get_convert_inputs,
    get_device,
    isscalar,
    make_shape_tuple,
    result_type,
    set_convert_inputs,
)
from megengine.jit import trace
from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.network import Network
from megengine.utils.network_node import VarNode

VECTOR, SCALAR = Tensor([1, 2, 3]), Tensor(2)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((1, 2), (1, 2)),
        ([1, 2], (1, 2)),
        (VECTOR, (1, 2, 3)),
        (SCALAR, (2,)),
        (3, (3,)),
        ((SCALAR, 3), (2, 3)),
        (np.array([1, 2]), (1, 2)),
        ((), ()),
    ],
)
def test_shapes(shape, expected):
    assert make_shape_tuple(shape) == expected


@pytest.mark.parametrize("shape", [(1, (2, 3)), "a", 1.5])
def test_invalid_shape(shape):
    with pytest.raises(TypeError, match="a shape consists of whole numbers"):
        make_shape_tuple(shape)


@pytest.mark.parametrize(
    ("x", "expected"), [((1, 2), [1, 2]), (VECTOR, [1, 2, 3]), ([VECTOR, 1], [1, 2, 3, 1])]
)
def test_vectors(x, expected):
    result = astensor1d(x, VECTOR)
    assert result.dtype == np.int32 and result.numpy().tolist() == expected
    assert astensor1d(x, dtype="float32").dtype == np.float32
    assert str(astensor1d(x, device="cpu1").device) == "cpu1:0"


@pytest.mark.parametrize("symbolic", [True, False])
def test_vectors_follow_the_sizes_that_a_trace_records(symbolic):
    @trace(symbolic=symbolic, capture_as_const=True)
    def square(x):
        size = x.shape[0]
        shape = astensor1d((size, 1, size), x, dtype="int32", device=x.device)
        return F.broadcast_to(Tensor(1.0), shape)

    square(Tensor([1.0, 2.0]))
    file = io.BytesIO()
    square.dump(file)
    file.seek(0)
    (result,) = GraphInference(file).run([1.0, 2.0, 3.0]).values()
    assert result.shape == (3, 1, 3)


def test_vectors_next_to_network_variables_become_variables():
    net = Network()
    size = net.make_input_node((), "int32", name="size")
    for x in ((1, 2), VECTOR, [VECTOR, 1]):
        result = astensor1d(x, size)
        assert isinstance(result, VarNode) and result.numpy().tolist() == astensor1d(x).tolist()
    assert astensor1d(size, size).shape == (1,)


def test_scalars():
    assert isscalar(SCALAR) and isscalar(3) and isscalar(np.float32(1))
    assert not isscalar(VECTOR) and not isscalar(np.array(1))


def test_axes():
    assert _normalize_axis(4, -1) == 3
    assert _normalize_axis(4, [-1, 0]) == [0, 3]
    assert _normalize_axis(4, [-1, 0], reverse=True) == [3, 0]
    with pytest.raises(AssertionError, match="out of bounds for tensor of dimension 4"):
        _normalize_axis(4, 5)
    with pytest.raises(AssertionError, match="duplicated"):
        _normalize_axis(4, [1, -3])


def test_common_dtypes():
    assert result_type(VECTOR, 1.5) == np.int32
    assert result_type(VECTOR, Tensor([1.0])) == np.float64  # NumPy's rule
    assert result_type(Tensor([1.0]), "float16") == np.float32
    a, b, none = convert_inputs(VECTOR, 1.5, None)
    assert (a.dtype, b.dtype, none) == (np.float32, np.float32, None)
    a, b = convert_inputs(VECTOR.astype("uint8"), 1)
    assert a.dtype == b.dtype == np.uint8
    assert convert_single_value(VECTOR) is VECTOR
    assert convert_single_value(VECTOR, dtype="float32").dtype == np.float32


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ((VECTOR, 2.0), "float32"),
        ((VECTOR, np.float16(1)), "float16"),
        ((VECTOR, np.int16([1])), "int32"),
        ((np.zeros(2, "float32"), VECTOR), "float32"),
        ((Tensor([1.0]), 1), "float32"),
        ((Tensor([True]), 1), "int32"),
        ((1, 2), "int32"),
        ((VECTOR, None), "int32"),
    ],
)
def test_promotion(operands, expected):
    assert dtype_promotion(operands) == expected


def test_conversions_can_be_left_out():
    assert get_convert_inputs()
    assert set_convert_inputs(False) is True
    try:
        assert convert_inputs(VECTOR, 0.5) == (VECTOR, 0.5)
    finally:
        assert set_convert_inputs(True) is False


def test_precision_and_place():
    low, none = cast_tensors(Tensor([1.5]), None)
    assert low.dtype == np.float16 and none is None
    (high,) = cast_tensors(low, promote=True)
    assert high.dtype == np.float32
    assert get_device([1, Tensor(1, device="cpu1"), VECTOR]) == "cpu1:0"
