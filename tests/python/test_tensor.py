# SPDX-License-Identifier: Apache-2.0
"""Tensor: construction, identity and mutation, methods, NumPy, copying."""

import copy
import gc
import itertools
import math
import pickle
import sys
import weakref

import numpy as np
import pytest

import megengine as mge
import megengine.functional as F
from megengine import Parameter, Tensor
from megengine.autodiff import GradManager
from megengine.core.tensor.dtype import bfloat16
from megengine.jit import trace


def test_in_place_operators_keep_the_object_and_touch_no_other():
    x = Tensor([1.0, 2.0])
    kept, same = x.detach(), x
    x += 1
    x *= 2
    x -= 1
    x /= 2
    assert x is same
    np.testing.assert_array_equal(x.numpy(), [1.5, 2.5])
    np.testing.assert_array_equal(kept.numpy(), [1, 2])


def test_slices_are_not_views():
    x = Tensor([[1.0, 2.0], [3.0, 4.0]])
    row, flat = x[0], x.reshape(-1)
    x[0] = 9
    np.testing.assert_array_equal(row.numpy(), [1, 2])
    np.testing.assert_array_equal(flat.numpy(), [1, 2, 3, 4])
    array = x.numpy()
    x[...] = 0
    assert array[0, 0] == 9


def test_whole_assignment_changes_dtype_other_keys_cast():
    x = Tensor([1.0, 2.0])
    x[...] = Tensor([3, 4])
    assert x.dtype == np.int32
    x[0] = 2.7
    np.testing.assert_array_equal(x.numpy(), [2, 4])


@pytest.mark.parametrize("shape", [(), (3,), (2, 3), (0, 3)])
@pytest.mark.parametrize("other", [(), (1,), (2,), (3, 2), (1, 3), (0,)])
def test_assignment_to_an_ellipsis_replaces_the_value(shape, other):
    x, value = F.zeros(shape), np.random.default_rng(0).random(other).astype("float32")
    same = x
    x[...] = Tensor(value, dtype="float16")
    assert x is same and x.shape == other and x.dtype == np.float16
    x = F.zeros(shape)
    if other:
        x[...] = value.tolist()
        np.testing.assert_array_equal(x.numpy(), value)
        assert x.dtype == np.float32
    x[...] = 5
    np.testing.assert_array_equal(x.numpy(), np.full(other or shape, 5))
    traced = trace(lambda y: assigned(F.zeros(shape), y), symbolic=True)
    np.testing.assert_array_equal(traced(Tensor(value)).numpy(), value)


def assigned(x, value):
    x[...] = value
    return x


@pytest.mark.parametrize("key", [slice(None), (slice(None), slice(0, 3)), slice(0, 2)])
def test_fully_overwritten_tensor_has_zero_gradient(key):
    x, v = F.ones((2, 3)), F.zeros(3)
    with GradManager().attach([x, v]) as gm:
        x[key] = v
        gm.backward(x * 2)
    assert not x.grad.numpy().any() and x.grad.shape == (2, 3)
    np.testing.assert_array_equal(v.grad.numpy(), [4, 4, 4])
    with pytest.raises(
        ValueError, match=r"\(2,\) does not broadcast to the indexed shape \(2, 3\)"
    ):
        x[key] = F.ones(2)


@pytest.mark.parametrize("dtype", ["nonsense", 3, "int128"])
def test_invalid_dtype(dtype):
    with pytest.raises(ValueError, match=f"{dtype!r} is not a dtype"):
        Tensor([1.0]).astype(dtype)


def test_reset_converts():
    x = Tensor([1.0])
    x._reset([2, 3])
    assert x.dtype == np.float32 and x.shape == (2,)


def test_tensor_of_a_tensor():
    x = Tensor([1.0], name="x")
    y = Tensor(x)
    assert y.name == "" and y.dtype == x.dtype
    x += 1
    assert float(y) == 1
    with pytest.raises(RuntimeError, match="astype"):
        Tensor(x, dtype="int32")


def test_shapes_and_sizes():
    x = Tensor(np.zeros((2, 3), np.float32))
    assert (x.shape, x._tuple_shape, x.ndim, x.size, len(x)) == ((2, 3), (2, 3), 2, 6, 2)
    scalar = Tensor(3.0)
    assert scalar.shape == () and scalar[None].shape == (1,)
    for wrong in (len, iter):
        with pytest.raises(TypeError):
            wrong(scalar)
    assert [float(v) for v in Tensor([1.0, 2.0])] == [1, 2]


def test_conversion_to_numbers():
    assert (int(Tensor([2])), float(Tensor(2.5)), bool(Tensor([True]))) == (2, 2.5, True)
    assert [10, 20, 30][Tensor(1)] == 20
    with pytest.raises(AssertionError):
        Tensor([1, 2]).item()
    assert f"{Tensor(1.234):.2f}" == "1.23"


def test_undefined_names_raise():
    x = Tensor([1.0])
    with pytest.raises(NotImplementedError):
        1.0 in x  # noqa: B015
    with pytest.raises(NotImplementedError):
        math.trunc(x)
    with pytest.raises(AttributeError, match="GradManager"):
        x.requires_grad = True
    with pytest.raises(AttributeError):
        x.argmax()


def test_tensors_are_keys_by_identity():
    a, b = Tensor([1.0]), Tensor([1.0])
    assert {a: 1, b: 2}[a] == 1 and hash(a) != hash(b)


def test_numpy_meets_tensors():
    x = Tensor([1.0, 2.0])
    for result in (np.ones(2, np.float32) + x, x + np.ones(2, np.float32), np.exp(x)):
        assert type(result) is Tensor
    assert np.asarray(x).tolist() == [1, 2]
    assert np.asarray(x, dtype=np.int64).dtype == np.int64
    with pytest.raises(ValueError, match="read-only"):
        x.numpy()[0] = 5


def test_parameter_arithmetic_returns_tensors():
    p = Parameter([1.0])
    assert type(p + 1) is Tensor and type(p.reshape(1, 1)) is Tensor
    p += 1
    assert type(p) is Parameter


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "uint8", "float16"])
def test_pickle(dtype):
    x = Parameter(np.array([0, 1]).astype(dtype))
    y = pickle.loads(pickle.dumps(x))
    assert type(y) is Parameter and y.dtype == x.dtype and y.device == x.device
    np.testing.assert_array_equal(x.numpy(), y.numpy())


def test_bfloat16_survives_pickling():
    x = Tensor([1.5, 2.0], dtype=bfloat16)
    y = pickle.loads(pickle.dumps(x))
    assert repr(x) == "Tensor([1.5 2. ], dtype=bfloat16, device=xpux:0)" == repr(y)


def test_copy_shares_deepcopy_does_not():
    x = Tensor([1.0], name="x")
    shallow, deep = copy.copy(x), copy.deepcopy({"x": x})["x"]
    x[0] = 5
    assert float(shallow) == float(deep) == 1
    assert type(copy.deepcopy(Parameter([1.0]))) is Parameter


def test_devices():
    x = Tensor([1.0])
    assert x.device == "xpux" and str(x.device) == "xpux:0"
    y = x.to("cpu1")
    assert y.device == "cpu1" and float(y) == 1
    for error in (RuntimeError, ValueError):
        with pytest.raises(error, match="is not a device name"):
            x.to("nosuchdevice0")


def test_index_errors():
    x = Tensor(np.zeros((2, 3), np.float32))
    for key in ((..., ...), (0, 0, 0), "a", 1.5, Tensor([1.5]), np.zeros((3, 3), bool)):
        with pytest.raises(IndexError, match="index"):
            x[key]
    for key in ("a", 1.5, Tensor([1.5])):  # MegEngine's class
        with pytest.raises(RuntimeError, match="index"):
            x[key]
    with pytest.raises(ValueError, match="shape"):
        x[:] = np.zeros((4, 4), np.float32)
    with pytest.raises(TypeError):
        x[0] = "text"


INDEX_KEYS = [
    0,
    -1,
    slice(None, None, -1),
    (slice(None), slice(2, 0, -1)),
    (None, ..., 1),
    [1, 0],
    ([0, 1], slice(None), [1, 2]),
    (slice(None), [0, 2, 2]),
    (1, [[0, 1], [2, 3]], 2),
    np.array([True, False]),
    (slice(None), np.array([True, False, True, False])),
    (0, np.arange(20).reshape(4, 5) % 3 == 0),
    True,
    False,
    (..., [1, 1]),
    (slice(None), None, [0]),
    (slice(1, 1),),
    ([], slice(None)),
    (True, [1, 0]),
    ([1, 0], slice(None), True),
    (0, slice(None), True),
    (True, slice(None), True),
    (False, [1]),
    (None, True, 1, [2, 3]),
]


@pytest.mark.parametrize("key", INDEX_KEYS, ids=str)
@pytest.mark.parametrize("wrap", [False, True], ids=["array", "Tensor"])
def test_indexing_as_numpy(key, wrap):
    array = np.arange(40, dtype=np.float32).reshape(2, 4, 5)

    def wrapped(entry):
        if wrap and isinstance(entry, (list, np.ndarray)) and len(entry):
            return Tensor(np.asarray(entry))
        return entry

    ours = tuple(wrapped(e) for e in key) if isinstance(key, tuple) else wrapped(key)
    np.testing.assert_array_equal(Tensor(array)[ours].numpy(), array[key])
    x, want = Tensor(array), array.copy()
    x[ours] = -1
    want[key] = -1
    np.testing.assert_array_equal(x.numpy(), want)


@pytest.mark.parametrize("wrap", [False, True], ids=["array", "Tensor"])
def test_masks_beside_new_axes_in_tensors_of_many_axes(wrap):
    array = np.arange(192, dtype=np.float32).reshape(2, 3, 2, 2, 4, 2)
    last, first = np.arange(8).reshape(4, 2) % 3 == 0, np.arange(6).reshape(2, 3) % 2 == 0
    keys = [
        (None, ..., last, None),
        (None, slice(None), None, slice(0, 2), ..., last),
        (first, None, None, [1]),
        (first, None, None, slice(1, 2)),
        (None, None, first, ..., last.any(1), 1),
    ]
    for key in keys:
        ours = tuple(Tensor(e) if wrap and isinstance(e, np.ndarray) else e for e in key)
        x, want = Tensor(array), array.copy()
        np.testing.assert_array_equal(x[ours].numpy(), array[key])
        x[ours] = -1
        want[key] = -1
        np.testing.assert_array_equal(x.numpy(), want)
    with pytest.raises(IndexError, match=r"shape \(2, 4\) needs axes of that size, got \(4, 2\)"):
        x[None, None, ..., last.reshape(2, 4)]


def test_a_tensor_is_assigned_to_a_part_of_itself():
    order = np.array([3, 0, 2, 1, 7, 6, 4, 5], np.int32)
    for key in (np.s_[::-1], order):
        x = Tensor(order) * 1
        x[key if isinstance(key, slice) else Tensor(key)] = x
        want = order.copy()
        want[key] = order
        np.testing.assert_array_equal(x.numpy(), want)
    x = Tensor(order) * 1
    x[x] = Tensor(order[::-1].copy())
    want = order.copy()
    want[order] = order[::-1]
    np.testing.assert_array_equal(x.numpy(), want)


def test_python_reads_a_tensor_as_a_sequence():
    array = np.arange(6, dtype=np.float32).reshape(3, 2)
    backwards = [row.numpy() for row in reversed(Tensor(array))]
    np.testing.assert_array_equal(backwards, array[::-1])


def test_invalid_shapes_and_patterns():
    x = Tensor(np.zeros((2, 3), np.float32))
    with pytest.raises(TypeError, match="a shape is integers or a Tensor, got NoneType"):
        F.reshape(x, None)
    with pytest.raises(TypeError, match="pattern must be a sequence of axes, got None"):
        F.transpose(x, None)


def test_bounds_of_slices_may_be_tensors():
    x = Tensor(np.arange(10, dtype=np.float32))
    np.testing.assert_array_equal(x[Tensor(2) : Tensor([5]) : 2].numpy(), [2, 4])
    with pytest.raises(ValueError, match="zero"):
        x[::0]


def test_names_that_are_not_there_yet():
    import megengine.functional as F

    for owner, name in (
        (mge, "lite"),
        (F.vision, "nvof"),
    ):
        with pytest.raises(mge.NotAvailableError, match=name):
            getattr(owner, name)
        with pytest.raises(AttributeError, match="nosuchname"):
            owner.nosuchname  # noqa: B018


@pytest.mark.parametrize(
    "key",
    [
        np.array(1),
        np.array(-1, "int8"),
        (slice(None), np.array(2)),
        (np.array(0), [0, 2]),
        np.array(True),
        Tensor(1).numpy(),
    ],
)
def test_zero_dimensional_index_is_a_number(key):
    x = np.arange(6, dtype="float32").reshape(2, 3)
    np.testing.assert_array_equal(Tensor(x)[key].numpy(), x[key])
    changed, expected = Tensor(x), x.copy()
    changed[key] = expected[key] = 7
    np.testing.assert_array_equal(changed.numpy(), expected)
    with pytest.raises(IndexError, match="integers or bools, got float64"):
        Tensor(x)[np.array(1.0)]


def test_slices_have_the_bounds_of_lists():
    numbers = list(range(5))
    x = mge.Tensor(numbers)
    bounds = [None, *range(-7, 8), -(2**62), 2**62]
    for start, stop in itertools.product(bounds, bounds):
        for step in (None, -7, -2, -1, 1, 2, 7):
            key = slice(start, stop, step)
            assert x[key].numpy().tolist() == numbers[key], key


def test_objects_release_their_resources():
    users = sys.getrefcount(mge.Tensor)
    for _ in range(20):
        kept = [mge.Tensor([1.0]) + i for i in range(100)]
        assert all(t.__dict__ == {} and t.grad is None and t.name in (None, "") for t in kept)
        for t in kept:
            t.note, t.grad, t.name = t, t + 1, "x"  # a circle
        weak = weakref.ref(kept[3])
        del kept, t
    gc.collect()
    assert weak() is None
    assert sys.getrefcount(mge.Tensor) <= users + 5

    value = mge.Tensor([1.0])
    for _ in range(100_000):  # a chain that no recursion follows to its end, without an operator
        following = mge.Tensor(value)
        following.before = value
        value = following
    del value, following


def test_a_long_chain_of_gradients_is_released():
    first = value = mge.Tensor([1.0])
    weak = weakref.ref(first)
    for _ in range(100_000):
        following = mge.Tensor(value)
        following.grad = value
        value = following
    del first, value, following
    assert weak() is None


def test_a_class_of_the_user_has_its_finalizer_called():
    calls = []

    class Mine(mge.Tensor):
        def __del__(self):
            calls.append("mine")

    mine = Mine([2.0])
    del mine
    assert calls == ["mine"]


def test_a_finalizer_that_is_set_later_is_called():
    calls, saved = [], []

    def note(tensor):
        calls.append(tensor.tolist())
        saved.append(tensor)

    before = mge.Tensor([1.0])
    mge.Tensor.__del__ = note
    try:
        after = before + 1
        with_attributes = before + 2
        with_attributes.grad = before
        del after, before, with_attributes
        assert calls == [[2.0], [3.0]]  # which holds the first one
        saved.clear()
        assert calls == [[2.0], [3.0], [1.0]]  # once each
        saved.clear()
        zero = mge.Tensor(0)
        for number in range(100):
            zero + number
            saved.clear()
        assert calls[3:] == list(range(100))
    finally:
        del mge.Tensor.__del__
    del zero
    assert len(calls) == 103


def test_replaced_values_take_a_format_over():
    image = np.ones((1, 2, 3, 4), "float32")
    x = Tensor(image)
    x[...] = Tensor(image, format="nhwc")
    assert x.format == "nhwc"
    x[...] = Tensor(image, format="nchw")
    assert x.format == "nchw"
    x[:] = Tensor(image, format="nhwc")
    assert x.format == "nchw"
