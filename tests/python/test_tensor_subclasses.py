# SPDX-License-Identifier: Apache-2.0
"""Classes that derive from Tensor and Parameter: where data, name and attributes come from."""

import copy
import pickle

import numpy as np
import pytest

import megengine as mge

X = np.arange(6, dtype="float32").reshape(2, 3)


class Silent(mge.Tensor):
    """Does not call Tensor's __init__."""

    def __init__(self, b):
        pass


class WithExtra(mge.Parameter):
    def __init__(self, data, extra=3, **keywords):
        super().__init__(data, **keywords)
        self.extra = extra


class WithNew(mge.Tensor):
    def __new__(cls, a, b):
        return super().__new__(cls, a)

    def __init__(self, a, b):
        self.b = b


class OnlyNew(mge.Tensor):
    def __new__(cls, a, b=2):
        return super().__new__(cls, [a, b])


class OfItsOwn(mge.Tensor):
    def __init__(self):
        super().__init__([1.0, 2.0])


@pytest.mark.parametrize("data", [X, X.tolist(), 5, mge.Tensor(X), [True]])
def test_data_is_set_before_init(data):
    made = Silent(data)
    np.testing.assert_array_equal(made.numpy(), np.array(data))
    assert type(made) is Silent and type(made == made) is mge.Tensor
    assert made.dtype == mge.Tensor(data).dtype and made.name == ""


def test_arguments_of_init_and_of_new():
    made = WithExtra(X, extra=5, name="weight")
    assert (made.extra, made.name, made.shape) == (5, "weight", (2, 3))
    made = WithNew(X, 4)
    assert made.b == 4 and made.shape == (2, 3)
    assert OnlyNew(3).numpy().tolist() == [3, 2] and OnlyNew(3, 4).numpy().tolist() == [3, 4]
    assert OfItsOwn().numpy().tolist() == [1, 2]
    with pytest.raises(TypeError, match="'data'"):
        Silent(b=[1])
    with pytest.raises(TypeError, match="foo"):
        mge.Tensor([1], foo=3)


def test_new_alone_makes_a_tensor_and_init_changes_the_name_only():
    made = mge.Tensor.__new__(Silent, [1, 2], "float32")
    assert type(made) is Silent and made.dtype == np.float32 and made.shape == (2,)
    made.__init__([3])
    assert made.shape == (2,)
    plain = mge.Tensor([1.0, 2.0], name="a")
    plain.__init__([3.0], name="b")
    assert plain.numpy().tolist() == [1, 2] and plain.name == "b"


@pytest.mark.parametrize("make", [lambda: Silent(X), lambda: WithExtra(X), lambda: WithNew(X, 4)])
def test_copies_keep_class_and_value(make):
    made = make()
    for copied in (copy.copy(made), copy.deepcopy(made)):
        assert type(copied) is type(made)
        np.testing.assert_array_equal(copied.numpy(), X)


@pytest.mark.parametrize("protocol", [2, pickle.HIGHEST_PROTOCOL])
def test_pickles_do_not_call_init(protocol):
    for made in (Silent(X), WithExtra(X)):
        loaded = pickle.loads(pickle.dumps(made, protocol))
        assert type(loaded) is type(made)
        np.testing.assert_array_equal(loaded.numpy(), X)


class WithProperty(mge.Tensor):
    area = property(lambda self: self.extent * 2)


def test_errors_of_properties_name_what_is_missing():
    with pytest.raises(AttributeError, match="no attribute 'extent'"):
        WithProperty([1.0]).area  # noqa: B018
    with pytest.raises(AttributeError, match="GradManager"):
        WithProperty([1.0]).requires_grad  # noqa: B018
