# SPDX-License-Identifier: Apache-2.0
"""Values of rank 0 where a function works along an axis: vectors of one element; axes of none."""

import numpy as np
import pytest

import megengine.functional as F
from megengine import Tensor
from megengine.autodiff import GradManager
from megengine.jit import trace


def scalar(value=2.0):
    return Tensor(np.float32(value))


REDUCTIONS = ("sum", "prod", "mean", "min", "max", "var", "std")


@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name):
    reduce = getattr(F, name)
    value = 0.0 if name in ("var", "std") else 2.0
    for axis in (0, -1):
        for keepdims, shape in ((False, ()), (True, (1,))):
            out = reduce(scalar(), axis=axis, keepdims=keepdims)
            assert out.numpy().shape == shape and out.numpy().item() == value
    with pytest.raises(RuntimeError, match="axis 1 is out of range"):
        reduce(scalar(), axis=1)
    for axis in ((0,), [0], (0, -1)):
        with pytest.raises(AssertionError):
            reduce(scalar(), axis=axis)
    with pytest.raises(AssertionError, match="must lie in rank 2"):
        reduce(Tensor(np.ones((2, 3), np.float32)), axis=(0, 5))
    with pytest.raises(RuntimeError, match="axis 5 is out of range"):
        reduce(Tensor(np.ones((2, 3), np.float32)), axis=5)
    x = scalar()
    with GradManager().attach([x]) as gm:
        gm.backward(reduce(x, axis=0) if name != "std" else F.var(x, axis=0))
    assert x.grad.numpy().shape == ()


def test_methods():
    assert scalar().sum(axis=0).numpy() == 2
    assert scalar().max(axis=-1, keepdims=True).numpy().shape == (1,)


def test_a_transposed_number_is_another_tensor():
    x = scalar()
    for y in (x.T, x.transpose()):
        y *= 3
    assert x.numpy() == 2


def test_logsumexp_and_softmax():
    for axis in (0, -1):
        assert F.logsumexp(scalar(), axis).numpy().shape == ()
        assert F.logsumexp(scalar(), axis, keepdims=True).numpy().tolist() == [2]
        assert F.softmax(scalar(), axis).numpy().tolist() == [1]
        assert F.logsoftmax(scalar(), axis).numpy().tolist() == [0]
    assert F.softmax(scalar()).numpy().tolist() == [1]
    for function in (F.logsumexp, F.softmax, F.logsoftmax):
        for x in (scalar(), Tensor([1.0])):
            with pytest.raises(RuntimeError, match="axis 1 is out of range"):
                function(x, 1)


def test_concat_and_others():
    assert F.concat([scalar(1), scalar(2)]).numpy().tolist() == [1, 2]
    assert F.concat([scalar(1), Tensor([3.0, 4.0])], axis=-1).numpy().tolist() == [1, 3, 4]
    assert F.concat([scalar(1)]).numpy().tolist() == [1]
    for x in (scalar(), Tensor([1.0])):
        with pytest.raises(RuntimeError, match="axis 1 is out of range"):
            F.concat([x, x], axis=1)
        with pytest.raises(RuntimeError, match="axis 1 is out of range"):
            F.cumsum(x, 1)
    assert F.cumsum(scalar(), -1).numpy().tolist() == [2]
    assert F.dot(scalar(), scalar(3)).numpy() == 6
    assert F.diag(scalar(), 1).numpy().tolist() == [[0, 2], [0, 0]]
    assert F.norm(scalar(-2), axis=0).numpy() == 2
    assert F.normalize(scalar(-2), axis=0).numpy().tolist() == [-1]
    a, b = scalar(1), scalar(2)
    with GradManager().attach([a, b]) as gm:
        gm.backward(F.concat([a, b]), Tensor([3.0, 4.0]))
    assert (a.grad.numpy(), b.grad.numpy()) == (3, 4)


def test_positions():
    x = Tensor(np.array([[0, 1, 2], [3, 0, 1]], np.float32))
    for find in (F.argmin, F.argmax):
        with pytest.raises(AssertionError, match="rank 0"):
            find(scalar(), axis=0)
        assert find(scalar(), axis=()).numpy() == 2
        np.testing.assert_array_equal(find(x, axis=()).numpy(), x.numpy())
        with pytest.raises(AssertionError, match="differ"):
            find(x, axis=(0, 0))
    # Along axis 1 the largest are at 2 and 0; of these positions the first is the largest.
    assert F.argmax(x, axis=(0, 1)).numpy() == 0
    assert F.argmax(x, axis=(1, 0), keepdims=True).numpy().tolist() == [[0]]
    assert F.argmin(x, axis=(0, -1)).numpy() == 0


def test_flatten_between_axes_adds_one():
    x = Tensor(np.zeros((2, 3, 4), np.float32))
    assert F.flatten(x, 2, 1).numpy().shape == (2, 3, 1, 4)
    assert F.flatten(x, 3, -1).numpy().shape == (2, 3, 4, 1)
    assert F.flatten(x, 1, 0).numpy().shape == (2, 1, 3, 4)
    for start, end in ((2, 0), (4, 3), (1, -4)):
        with pytest.raises(ValueError):
            F.flatten(x, start, end)


def test_in_a_trace():
    @trace(symbolic=True, capture_as_const=True)
    def together(x, y):
        return F.concat([x.sum(), F.max(y, axis=0), F.softmax(y)])

    for k in (1.0, 2.0):
        x, y = Tensor([1.0, k]), scalar(k)
        assert together(x, y).numpy().tolist() == [1 + k, k, 1]


def test_softmax_of_rows_without_elements():
    """They are more than can be walked along."""
    rows = Tensor(np.zeros((1 << 40, 0), np.float32))
    for function in (F.softmax, F.logsoftmax):
        assert function(rows, axis=1).numpy().shape == (1 << 40, 0)
