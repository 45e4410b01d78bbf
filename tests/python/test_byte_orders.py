# SPDX-License-Identifier: Apache-2.0
"""Arrays of another machine's byte order: their numbers count, not their bytes."""

import io

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
import megengine.module as M
from megengine import Parameter, Tensor, _mge, optimizer
from megengine.core.tensor import dtype as dtypes
from megengine.data import DataLoader, SequentialSampler
from megengine.data.dataset import ArrayDataset
from megengine.data.transform import vision as T
from megengine.jit import trace
from megengine.utils.comp_graph_tools import GraphInference
from megengine.utils.dlpack import from_numpy

CODES = ["i2", "u2", "i4", "i8", "f2", "f4", "f8"]
NUMBERS = np.arange(1, 7).reshape(2, 3)


def both(code, numbers=NUMBERS):
    """Equal arrays of the two byte orders."""
    return numbers.astype("<" + code), numbers.astype(">" + code)


def expect_equal(take, code, numbers=NUMBERS):
    """Check that the byte order of an array changes no result."""
    little, big = (np.asarray(take(array)) for array in both(code, numbers))
    assert little.dtype == big.dtype.newbyteorder("=")
    np.testing.assert_array_equal(big, little)


FORMS = {
    "whole": lambda array: array,
    "Fortran": np.asfortranarray,
    "backwards": lambda array: array[::-1, ::-1],
    "without strides": lambda array: np.broadcast_to(array[:1], (4, 3)),
    "element": lambda array: array[0, 1],
    "without axes": lambda array: array[0, 1, ...],
    "buffer": memoryview,
    "list": list,
    "objects": lambda array: array.astype(object),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("code", CODES + ["c8"])
def test_constructor(code, form):
    if code == "c8" and form in ("buffer", "list", "objects"):
        pytest.skip("complex Tensors are made of arrays")
    expect_equal(lambda array: Tensor(FORMS[form](array)).numpy(), code)


@pytest.mark.parametrize("dtype", [dtypes.qint8(0.1), dtypes.qint32(0.5), dtypes.bfloat16])
def test_dtypes_with_a_meaning(dtype):
    values = [
        Tensor(np.ones(3, dtype.newbyteorder(order)), dtype=given)
        for order in "<>"
        for given in (None, dtype.newbyteorder(order))
    ]
    for value in values[1:]:
        assert value.dtype == values[0].dtype and value.dtype.isnative
        np.testing.assert_array_equal(value.numpy(), values[0].numpy())


def assigned(key, value):
    x = Tensor(np.zeros((2, 3), np.float32))
    x[key] = value
    return x.numpy()


PLACES = {
    "operand": lambda a: (Tensor(np.ones((2, 3), np.float32)) * a).numpy(),
    "reflected": lambda a: (a - Tensor(np.ones((2, 3), np.float32))).numpy(),
    "concat": lambda a: F.concat([a, a]).numpy(),
    "assignment": lambda a: assigned(..., a),
    "assignment to a part": lambda a: assigned(np.s_[:, 1:], a[:, 1:]),
    "new value": lambda a: assigned(np.s_[:], Tensor(a)),
    "asarray": lambda a: np.asarray(Tensor(a), a.dtype),
    "full": lambda a: F.full((2,), a[0, 1]).numpy(),
    "trace": lambda a: trace(symbolic=True)(lambda x: Tensor(2) * x)(a).numpy(),
    "saved": lambda a: again({"a": a})["a"],
    "saved scalar": lambda a: again([a[0, 1]])[0],
}


def again(value):
    stream = io.BytesIO()
    mge.save(value, stream)
    stream.seek(0)
    return mge.load(stream, weights_only=True)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("code", ["i4", "f2", "f4"])
def test_places_of_arrays(code, place):
    expect_equal(PLACES[place], code)


@pytest.mark.parametrize("code", ["i2", "u2", "i4", "i8"])
def test_indices_and_shapes(code):
    x = Tensor(np.arange(12, dtype=np.float32))
    for take in (
        lambda a: x[a].numpy(),
        lambda a: x[a[1, 1]].numpy(),
        lambda a: x[a[0, 0] : a[1, 0]].numpy(),
        lambda a: x.reshape(a[0, 1:]).numpy().shape,
        lambda a: F.zeros(a[0]).numpy().shape,
    ):
        expect_equal(take, code, np.array([[1, 3, 4], [7, 0, 2]]))


@pytest.mark.parametrize("code", ["f2", "f4"])
def test_state_dicts(code):
    def loaded(weight):
        linear = M.Linear(3, 2)
        linear.load_state_dict({"weight": weight, "bias": weight[:, 0]})
        return linear.weight.numpy()

    def stepped(state):
        parameter = Parameter(np.ones((2, 3), np.float32))
        adam = optimizer.Adam([parameter], lr=0.1)
        moments = {"exp_avg": state, "exp_avg_sq": state, "step": state[0, :1]}
        adam.load_state_dict(adam.state_dict() | {"state": {0: moments}})
        parameter.grad = Tensor(np.ones((2, 3), np.float32))
        adam.step()
        return parameter.numpy()

    expect_equal(loaded, code)
    if code == "f4":
        expect_equal(stepped, code)


@pytest.mark.parametrize("code", ["i4", "f4", "f8"])
def test_inputs_of_graphs(code):
    stream = io.BytesIO()
    double = trace(symbolic=True, capture_as_const=True)(lambda x: x * 2)
    double(Tensor(both(code)[0]))
    double.dump(stream, arg_names=["x"])
    stream.seek(0)
    graph = GraphInference(stream)
    expect_equal(lambda a: next(iter(graph.run(a).values())), code)


def test_bfloat16_inputs_of_models(tmp_path):
    halves = Tensor([1.0, -2.5, 3.0], dtype="bfloat16").numpy()
    double = trace(symbolic=True, capture_as_const=True)(lambda x: x + x)
    double(Tensor(halves))
    double.dump(str(tmp_path / "double.mge"))
    model = _mge.GraphFunction(str(tmp_path / "double.mge"))
    for order in "<>":
        (result,) = model.call([halves.astype(halves.dtype.newbyteorder(order))], [])
        assert result.astype("float32").numpy().tolist() == [2, -5, 6]


@pytest.mark.parametrize("kwargs", [{}, {"num_workers": 1}, {"preload": True}])
def test_batches(kwargs):
    def batches(array):
        data = ArrayDataset(array, array[:, 0])
        loader = DataLoader(data, SequentialSampler(data, 2), **kwargs)
        return np.concatenate([Tensor(x).numpy() + Tensor(y).numpy()[:, None] for x, y in loader])

    expect_equal(batches, "f4", np.arange(12).reshape(4, 3))


@pytest.mark.parametrize("code", ["u2", "f4"])
def test_images(code):
    pytest.importorskip("cv2")
    images = np.arange(1, 49).reshape(4, 4, 3)
    for transform in (
        T.Resize((2, 2)),
        T.ShortestEdgeResize(2, 8),
        T.SaturationTransform(0.0),
        T.Pad(1),
        T.RandomHorizontalFlip(1.0),
    ):
        expect_equal(transform.apply, code, images)
    for function in (T.functional.to_gray, lambda image: T.functional.to_bgr(image[..., :1])):
        expect_equal(function, code, images)


def test_memory_is_not_shared():
    with pytest.raises(TypeError, match="byte order"):
        from_numpy(both("f4")[1])
